"""Communities and Crime: relative errors of M1 to M5, each state a site."""

from functools import cache, partial
from typing import Any

import numpy as np

from fedsdr.datasets import Dataset, load_communities
from fedsdr.downstream import (
    downstream_models,
    reduced_model,
    relative_error,
    site_splits,
)
from reproduction.estimators import reducer_by_bic, reducer_paper_way
from reproduction.experiment import Experiment, Task
from reproduction.real_data import LABELS, draw_models, judge_models

#: Principal components of M4 and M5: the paper's BIC does not apply to them, and its
#: errors are those of three.
N_COMPONENTS = 3

TOLERANCE = 0.02


def run(task: Task) -> dict[str, float]:
    """Fit one model on half of every state, test it on the rest.

    Parameters
    ----------
    task : Task
        Method "M1" to "M5", where M3 has K by BIC, as in the paper, and our choice
        of the penalty; "M3-paper", all of it the paper's way; "M3-auto", all of it
        by our default.

    Returns
    -------
    dict of str to float
        The relative error over all test rows, and K, the number of directions of M3.
    """
    data = _communities()
    sites = np.asarray(data.sites)
    generator = np.random.default_rng(task.seed)
    train, test = next(site_splits(sites, random_state=generator))
    model = _model(task)
    labels = {} if task.method == "M1" else {"sites": sites[train]}
    model.fit(data.X.iloc[train], data.y.iloc[train], **labels)
    labels = {"sites": sites[test]} if labels else {}
    predicted = model.predict(data.X.iloc[test], **labels)
    reduced = task.method.startswith("M3")
    return {
        "error": relative_error(data.y.iloc[test], predicted),
        "k": float(model["reducer"].n_directions_) if reduced else float("nan"),
    }


@cache
def _communities() -> Dataset:
    return load_communities()


def _model(task: Task) -> Any:
    models = downstream_models("regression", "auto", n_components=N_COMPONENTS)
    if task.method == "M3-auto":
        return models["M3"]
    if task.method == "M3":
        return reduced_model(reducer_by_bic(), models["M1"])
    if task.method == "M3-paper":
        return reduced_model(reducer_paper_way("votes", task.seed), models["M1"])
    return models[task.method]


EXPERIMENT = Experiment(
    name="communities",
    title="Communities and Crime: relative test error of M1 to M5",
    conditions=("7 states",),
    settings=("all",),
    # M3-auto takes twenty times as long as M3.
    methods={
        "M1": 100, "M2": 100, "M3": 100, "M4": 100, "M5": 100, "M3-paper": 20,
        "M3-auto": 10,
    },
    measures=("error", "k"),
    run=run,
    judge=partial(
        judge_models, name="communities", metric="error", tolerance=TOLERANCE
    ),
    draw=partial(draw_models, name="communities", metric="error"),
    labels={**LABELS, "M3": "M3: FedSSIR, K by BIC"},
    paper_runs=100,
)  # fmt: skip
