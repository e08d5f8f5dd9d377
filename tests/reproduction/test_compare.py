import numpy as np
import pandas as pd
import pytest

from reproduction import compare
from reproduction.checks import cells_check


def results(method: str, **measures: list[float]) -> pd.DataFrame:
    runs = len(next(iter(measures.values())))
    place = {"condition": "n=1", "setting": "1", "method": method}
    return pd.DataFrame({**place, "run": range(runs), **measures})


def paper(metric: str, mean: float, sd: float) -> pd.DataFrame:
    place = {"condition": "n=1", "setting": "1", "method": "them", "metric": metric}
    return pd.DataFrame([{**place, "mean": mean, "sd": sd, "runs": 200}])


@pytest.mark.parametrize(
    ("metric", "ours", "word"),
    [
        ("Dist", 0.50, "better"),
        ("Dist", 0.515, "within"),
        ("Dist", 0.53, "worse"),
        ("TPR", 0.50, "better"),
        ("TPR", 0.485, "within"),
        ("TPR", 0.47, "worse"),
        ("K", 0.6, "better"),
    ],
)
def test_the_bound_is_two_standard_errors_on_the_right_side(metric, ours, word) -> None:
    # Two standard errors of 0.1414 over 200 runs are 0.02.
    given = results("us", **{metric: [ours - 0.1, ours + 0.1]})
    cell = compare.beside_paper(
        given, paper(metric, 0.5, 0.1 * np.sqrt(2)), "us", "them"
    )
    cell = cell.iloc[0]
    side = -1 if metric in ("TPR", "K") else 1
    assert cell.bound == pytest.approx(0.5 + side * 0.02)
    assert cell.ours == pytest.approx(ours)
    assert cell.word == word


def test_numbers_that_print_alike_are_told_apart_from_worse_ones() -> None:
    assert compare.judge_cell(0.9997, 1.0, 1.0, -1.0) == "rounding"
    assert compare.judge_cell(0.9990, 1.0, 1.0, -1.0) == "worse"
    assert compare.judge_cell(0.0004, 0.0, 0.0001, 1.0) == "rounding"
    assert compare.judge_cell(np.nan, 0.0, 0.0, 1.0) == "not run"


def test_z_allows_for_both_spreads_and_never_for_less_than_the_papers() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(0.6, 0.3, size=100)
    given = results("us", Dist=list(values))
    cell = compare.beside_paper(given, paper("Dist", 0.5, 0.1), "us", "them").iloc[0]
    error = np.hypot(0.1 / np.sqrt(200), values.std(ddof=1) / 10)
    assert cell.z == pytest.approx((values.mean() - 0.5) / error)

    given = results("us", Dist=[0.6, 0.6])
    cell = compare.beside_paper(given, paper("Dist", 0.5, 0.1), "us", "them").iloc[0]
    assert cell.z == pytest.approx(0.1 / np.hypot(0.1 / np.sqrt(200), 0.1 / np.sqrt(2)))


def test_cells_that_were_not_run_are_there() -> None:
    given = results("another", Dist=[0.6, 0.6])
    cell = compare.beside_paper(given, paper("Dist", 0.5, 0.1), "us", "them").iloc[0]
    assert (cell.word, cell.n_runs) == ("not run", 0)


def test_ratios_are_over_runs_that_both_have() -> None:
    given = pd.concat(
        [results("us", Dist=[1.0, 3.0, 9.0]), results("o", Dist=[1.0, 1.0])]
    )
    ratio = compare.ratios_to(given, "us", "o").iloc[0]
    assert (ratio.ratio, ratio.n_runs) == (2.0, 2)
    assert compare.ratios_to(given, "us", "nobody").empty


def test_geometric_mean() -> None:
    assert compare.geometric_mean(pd.Series([0.5, 2.0])) == pytest.approx(1.0)


def test_cells_beyond_the_likelihood_are_counted() -> None:
    cells = compare.beside_paper(
        results("us", Dist=[0.6] * 50), paper("Dist", 0.5, 0.1), "us", "them"
    )
    assert cells_check(cells, "Dist").measured == "1 worse"
    cells["likelihood oracle"] = 0.55
    check = cells_check(cells, "Dist")
    assert check.measured == "1 worse; in 1 of these the likelihood oracle is too"
    assert check.met is False
    cells["likelihood oracle"] = 0.51
    assert cells_check(cells, "Dist").measured == "1 worse"
