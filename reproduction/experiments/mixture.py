"""Mixture weights: sites of very unequal size."""

from functools import partial

from reproduction.experiment import Experiment
from reproduction.fits import MEASURES, run_simulation
from reproduction.methods import FEDERATED, LABELS, RUNS
from reproduction.simulations import SETTINGS, draw_table, judge_table

#: A site may have a handful of rows, or none, at the smallest of these.
CONDITIONS = {
    f"alpha={alpha}": {
        "n_sites": 10,
        "total": 2000,
        "n_features": 100,
        "concentration": float(alpha),
    }
    for alpha in (1, 2, 5)
}

EXPERIMENT = Experiment(
    name="mixture",
    title="Mixture weights: N = 2,000, m = 10, Dirichlet(alpha), d = 100",
    conditions=tuple(CONDITIONS),
    settings=SETTINGS,
    methods={method: RUNS[method] for method in FEDERATED},
    measures=MEASURES,
    run=partial(run_simulation, conditions=CONDITIONS),
    judge=partial(judge_table, name="mixture"),
    draw=partial(draw_table, name="mixture"),
    labels=LABELS,
    paper_runs=200,
)
