"""The paper's experiments on real data: one run each, and how they are judged."""

import numpy as np
import pandas as pd
import pytest

from reproduction import paper_table
from reproduction.experiment import Task
from reproduction.experiments.credit import FLOOR, standardize_sites
from reproduction.real_data import compare_pairs
from reproduction.registry import find_experiment

METRICS = {"credit": "accuracy", "communities": "error"}


def results_like_the_paper(name, runs, m1_shift=0.0, m3_shift=0.0):
    """Make results with the paper's means, but for M1 and M3."""
    rng = np.random.default_rng(0)
    shifts = {"M1": m1_shift, "M3": m3_shift}
    metric = METRICS[name]
    rows = []
    for cell in paper_table(name).to_dict("records"):
        noise = rng.normal(scale=cell["sd"], size=runs)
        values = cell["mean"] + shifts.get(cell["method"], 0.0) + noise - noise.mean()
        place = {key: cell[key] for key in ("condition", "setting", "method")}
        rows += [
            {**place, "run": run, "experiment": name, metric: value, "seconds": 1.0}
            for run, value in enumerate(values)
        ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("name", METRICS)
def test_the_paper_agrees_with_itself(name, tmp_path):
    experiment = find_experiment(name)
    same = results_like_the_paper(name, 50)
    verdict = experiment.judge(same)
    assert [check.met for check in verdict.checks] == [True] * 4
    assert verdict.differs == ()
    experiment.draw(same, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    few = experiment.judge(same[same.run < 2])
    assert all(check.met is None for check in few.checks)
    alone = experiment.judge(same[same.method == "M5"])
    assert [check.measured for check in alone.checks[2:]] == ["not run"] * 2


def test_differences_are_found():
    experiment = find_experiment("credit")
    moved = results_like_the_paper("credit", 50, m1_shift=0.4, m3_shift=-5.5)
    verdict = experiment.judge(moved)
    assert [check.met for check in verdict.checks] == [False] * 4
    assert sum("M1" in line for line in verdict.differs) == 12
    assert sum("M3" in line for line in verdict.differs) == 12
    gains = compare_pairs(moved, "accuracy", "M4")
    assert gains.gain[0] == pytest.approx(79.47 - 5.5 - 74.77)
    errors = results_like_the_paper("communities", 50)
    assert compare_pairs(errors, "error", "M4").gain[0] == pytest.approx(0.4 - 0.312)


@pytest.mark.parametrize("name", METRICS)
def test_the_paper_has_a_number_for_every_model(name):
    table, experiment = paper_table(name), find_experiment(name)
    assert set(table.condition) == set(experiment.conditions)
    assert set(table.setting) == set(experiment.settings)
    assert len(table) == 5 * len(experiment.conditions) * len(experiment.settings)


def test_sites_are_put_on_the_scale_of_their_training_rows(rng):
    rows = rng.normal(size=(60, 3)) * [1.0, 10.0, 0.0] + 5.0
    sites, train = np.repeat([0, 1, 2], 20), np.arange(0, 60, 2)
    scaled = standardize_sites(rows, sites, train)
    for site in range(3):
        known = scaled[train][sites[train] == site]
        np.testing.assert_allclose(known.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(known.std(axis=0), [1.0, 1.0, 0.0], atol=1e-12)


@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.SiteWarning")
@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.DisagreementWarning")
@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.CurvatureWarning")
@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.CovarianceWarning")
@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.SkewnessWarning")
@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.SymmetryWarning")
@pytest.mark.usefixtures("data_folder")
def test_a_run_of_each_experiment():
    credit, communities = find_experiment("credit"), find_experiment("communities")
    found = {
        method: credit.run(Task("credit", "m=5", "alpha=5", method, 0))
        for method in ("M1", "M3", "M4", "M1-printed")
    }
    assert found["M1"]["accuracy"] == found["M1"]["pooled"]
    assert found["M3"]["accuracy"] == found["M3"]["by_site"]
    assert found["M3"]["accuracy"] > found["M4"]["accuracy"] + 2.0
    # The same halves would give the same pooled accuracy, were the columns the same.
    assert found["M1-printed"]["pooled"] > found["M1"]["pooled"]
    assert 0.0 < FLOOR < 0.12
    task = Task("communities", "7 states", "all", "M3", 0)
    one = communities.run(task)
    assert one["k"] == 1
    assert one["error"] < 0.36
    assert communities.run(task) == one
