"""Table 1: TPR, FPR and Dist of all methods, ten sites of 100 or 200 rows."""

from functools import partial

from fedsdr.reproduction.experiment import Experiment, Task
from fedsdr.reproduction.fits import MEASURES, RUNS, measure
from fedsdr.reproduction.simulations import SETTINGS, draw_table, judge_table
from fedsdr.simulate import make_setting

N_SITES, N_FEATURES = 10, 150
ROWS = {"n=100": 100, "n=200": 200}


def run(task: Task) -> dict[str, float]:
    """Fit one method to one data set.

    Parameters
    ----------
    task : Task
        Condition: rows of a site.

    Returns
    -------
    dict of str to float
        Measurements.
    """
    data = make_setting(
        int(task.setting),
        n_sites=N_SITES,
        n_per_site=ROWS[task.condition],
        n_features=N_FEATURES,
        random_state=task.seed,
    )
    return measure(task.method, data, task.seed)


EXPERIMENT = Experiment(
    name="table1",
    title="Table 1: TPR, FPR and Dist with m = 10, n = 100 and 200, d = 150",
    conditions=tuple(ROWS),
    settings=SETTINGS,
    methods=RUNS,
    measures=MEASURES,
    run=run,
    judge=partial(judge_table, name="table1"),
    draw=partial(draw_table, name="table1"),
)
