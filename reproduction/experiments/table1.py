"""Table 1: TPR, FPR and Dist of all methods, ten sites of 100 or 200 rows."""

from functools import partial

from reproduction.experiment import Experiment
from reproduction.fits import MEASURES, run_simulation
from reproduction.methods import LABELS, RUNS, WAYS_RUNS
from reproduction.simulations import SETTINGS, draw_table, judge_table

CONDITIONS = {
    f"n={rows}": {"n_sites": 10, "n_per_site": rows, "n_features": 150}
    for rows in (100, 200)
}

EXPERIMENT = Experiment(
    name="table1",
    title="Table 1: TPR, FPR and Dist with m = 10, n = 100 and 200, d = 150",
    conditions=tuple(CONDITIONS),
    settings=SETTINGS,
    methods={**RUNS, **WAYS_RUNS},
    measures=MEASURES,
    run=partial(run_simulation, conditions=CONDITIONS),
    judge=partial(judge_table, name="table1"),
    draw=partial(draw_table, name="table1"),
    labels=LABELS,
    paper_runs=200,
)
