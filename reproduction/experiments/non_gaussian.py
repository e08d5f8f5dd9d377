"""Covariates that are not normal: Bernoulli draws added to every entry."""

from functools import partial

from reproduction.experiment import Experiment
from reproduction.fits import MEASURES, run_simulation
from reproduction.methods import LABELS, RUNS
from reproduction.simulations import SETTINGS, draw_table, judge_table

CONDITIONS = {
    "non-Gaussian": {
        "n_sites": 10,
        "total": 2000,
        "n_features": 100,
        "concentration": 5.0,
        "non_gaussian": True,
    }
}

EXPERIMENT = Experiment(
    name="non-gaussian",
    title="Non-Gaussian covariates: N = 2,000, m = 10, Dirichlet(5), d = 100",
    conditions=tuple(CONDITIONS),
    settings=SETTINGS,
    methods=RUNS,
    measures=MEASURES,
    run=partial(run_simulation, conditions=CONDITIONS),
    judge=partial(judge_table, name="non-gaussian"),
    draw=partial(draw_table, name="non-gaussian"),
    labels=LABELS,
    paper_runs=200,
)
