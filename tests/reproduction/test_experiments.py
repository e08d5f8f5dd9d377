from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedsdr.exceptions import InputError
from reproduction import Experiment, paper_table
from reproduction.experiment import FIRST_SEED
from reproduction.experiments.error_rate import ACTIVE, CONDITIONS, fit_lines
from reproduction.experiments.error_rate import EXPERIMENT as ERROR_RATE
from reproduction.experiments.mixture_rows import ratios
from reproduction.methods import LABELS
from reproduction.registry import experiment_names, find_experiment

SIMULATIONS = (
    "table1",
    "error-rate",
    "clients",
    "mixture",
    "non-gaussian",
    "dimension",
)


def invented(experiment: Experiment, runs: int) -> pd.DataFrame:
    """Make artificial results."""
    rng = np.random.default_rng(0)
    builds_on = [find_experiment(name) for name in experiment.builds_on]
    rows = [
        {
            "condition": task.condition, "setting": task.setting,
            "method": task.method, "run": task.run, "seed": task.seed, "seconds": 1.0,
            "commit": "abc", "failed": "", "experiment": task.experiment,
            **{name: rng.uniform(0.1, 0.9) for name in one.measures},
        }
        for one in (*builds_on, experiment)
        for task in one.tasks(runs)
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize("name", SIMULATIONS)
def test_verdict_and_picture_of_few_and_of_many_runs(name, tmp_path: Path) -> None:
    experiment = find_experiment(name)
    many = invented(experiment, 50)
    verdict = experiment.judge(many)
    assert all(check.met is not None for check in verdict.checks)
    assert verdict.body.startswith("## ")

    few = many[many.run < 2]
    assert all(check.met is None for check in experiment.judge(few).checks)
    alone = few[(few.method == few.method.iloc[-1]) & (few.setting == "1")]
    assert experiment.judge(alone).checks
    # A run that was stopped has methods in some panels of the picture only.
    part = pd.concat([few[few.condition == few.condition.iloc[0]], alone])
    experiment.draw(part, tmp_path / "part.png")
    assert (tmp_path / "part.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", experiment_names())
def test_seeds_belong_to_a_data_set_and_none_was_used_to_choose_defaults(name) -> None:
    experiment = find_experiment(name)
    assert experiment.name == name
    tasks = experiment.tasks(3)
    seeds = {(t.condition, t.setting, t.run): t.seed for t in tasks}
    assert len(set(seeds.values())) == len(seeds)
    assert all(t.seed == seeds[t.condition, t.setting, t.run] for t in tasks)
    assert min(seeds.values()) >= FIRST_SEED
    assert max(seeds.values()) < 2**32


def test_dimensions_are_chosen_on_the_data_of_the_other_experiments() -> None:
    theirs = {t.key[:2]: t.seed for t in find_experiment("table1").tasks(1)}
    ours = find_experiment("dimension").tasks(1)
    same = [t for t in ours if t.condition in ("n=100", "n=200")]
    assert same
    assert all(theirs[t.key[:2]] == t.seed for t in same)


def test_unknown_experiments_are_refused() -> None:
    with pytest.raises(InputError, match="no experiment 'table9': choose from table1"):
        find_experiment("table9")


@pytest.mark.parametrize(
    ("name", "cells"), [("table1", 108), ("mixture", 54), ("non-gaussian", 54)]
)
def test_the_paper_has_a_number_for_every_cell(name, cells) -> None:
    table = paper_table(name)
    assert len(table) == cells
    assert not table.isna().any(axis=None)
    assert not table.duplicated(["condition", "setting", "method", "metric"]).any()
    assert set(table.condition) == set(find_experiment(name).conditions)


def test_a_straight_line_is_found() -> None:
    rows = []
    for condition, options in CONDITIONS.items():
        rate = np.sqrt(np.log(options["n_features"]) / options["total"])
        dist = 0.1 + 2 * ACTIVE["3"] * rate
        place = {"condition": condition, "setting": "3", "method": "paper-rate"}
        rows += [{**place, "run": run, "Dist": dist} for run in range(2)]
    line = fit_lines(pd.DataFrame(rows)).iloc[0]
    assert line.slope == pytest.approx(2.0)
    assert line.intercept == pytest.approx(0.1)
    assert line.r2 == pytest.approx(1.0)
    assert (line.rising, line.points) == (1.0, len(ERROR_RATE.conditions))


def test_more_rows_are_held_against_the_cells_of_one_alpha(tmp_path: Path) -> None:
    experiment = find_experiment("mixture-rows")
    results = invented(experiment, 3)
    paper = paper_table("mixture")
    dist = paper[(paper.condition == "alpha=5") & (paper.metric == "Dist")]
    same = dist.set_index("setting")["mean"]
    best = results.method == "best-rho"
    results.loc[best, "Dist"] = results.setting.map(same)[best] * 2
    results.loc[best & (results.condition == "N=5000"), "Dist"] /= 2

    lines = ratios(results).set_index(["method", "condition"])
    label = LABELS["best-rho"]
    assert lines.ratio[label, "N=5000"] == pytest.approx(1)
    assert lines.ratio[label, "N=2000"] == pytest.approx(2)
    assert lines.worse[label, "N=2000"] >= 6

    verdict = experiment.judge(results)
    assert "| the paper's table | N=2000, it says | 0.028 |" in verdict.body
    assert not verdict.checks
    experiment.draw(results[results.method == "default"], tmp_path / "rows.png")
    assert (tmp_path / "rows.png").stat().st_size > 10_000
