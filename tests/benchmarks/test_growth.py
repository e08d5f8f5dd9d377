"""Cases of the growth benchmark, and the exponents on its page."""

import pytest

from benchmarks.growth import cases, fit, is_cut_short, is_out_of_reach
from benchmarks.growth_page import (
    draw_times,
    exponent,
    not_measured,
    of_sweep,
    sweep_table,
)
from benchmarks.growth_systems import Case, draw, solve_from_columns, solve_here
from fedsdr.metrics import subspace_distance


def row(n_features: int, seconds: float, stopped: int = 0) -> dict[str, str]:
    size = {"n_rows": "2000", "n_sites": "10", "n_directions": "1"}
    return {
        **size,
        "system": "FedSSIR",
        "n_features": str(n_features),
        "seconds": str(seconds),
        "stopped": str(stopped),
    }


def test_the_exponent_is_the_slope_of_logarithms() -> None:
    rows = [row(d, 1e-6 * d**1.5) for d in (150, 1_000, 2_000, 5_000)]
    assert exponent(rows, "n_features", 1_000) == "1.50"
    assert exponent(rows, "n_features", 2_000) == "-"
    slow = [*rows, row(20_000, 120.0, stopped=1)]
    assert exponent(slow, "n_features", 1_000) == "1.50"


def test_a_fit_that_was_stopped_is_marked_and_ends_its_sweep() -> None:
    rows = [row(1_000, 3.0), row(2_000, 120.0, stopped=1)]
    assert "| FedSSIR | 3 | > 120 | - |" in sweep_table("variables", rows)
    larger = [case for case in cases("variables", "FedSSIR", 0) if case.n_rows == 2_000]
    left_out = [case.n_features for case in larger if is_out_of_reach(case, rows)]
    assert left_out == [5_000, 10_000, 20_000]
    fewer_rows = Case("FedSSIR", 500, 20_000, 10, 1, 0)
    assert not is_out_of_reach(fewer_rows, rows)
    assert not is_out_of_reach(Case("LassoCV", 2_000, 5_000, 10, 1, 0), rows)


def test_a_fit_that_was_stopped_is_tried_again_with_more_time() -> None:
    assert is_cut_short(row(2_000, 20.0, stopped=1), 60.0)
    assert not is_cut_short(row(2_000, 60.0, stopped=1), 60.0)
    assert not is_cut_short(row(2_000, 3.0), 60.0)


def test_a_fit_without_memory_is_marked_and_ends_its_sweep() -> None:
    large = {**row(5_000, 0.0), "seconds": "", "stopped": "memory"}
    rows = [row(1_000, 3.0), large]
    assert "| FedSSIR | 3 | > 8 GB | - |" in sweep_table("variables", rows)
    assert is_out_of_reach(Case("FedSSIR", 2_000, 10_000, 10, 1, 0), rows)


def test_the_page_says_what_was_not_measured() -> None:
    sentence = not_measured([row(1_000, 2.0)])[0]
    assert "*eq2.10 once: SCS*" in sentence
    assert "more sites m" in sentence
    assert "FedSSIR" not in sentence
    assert "more variables d;" not in sentence


def test_ratios_are_over_the_default_fit_at_the_same_size() -> None:
    slow = {**row(2_000, 60.0, stopped=1), "system": "LassoCV"}
    rows = [row(1_000, 2.0), row(2_000, 4.0), {**row(1_000, 5.0), "system": "LassoCV"}]
    assert "| LassoCV | 2.5 | > 15 |" in sweep_table("variables", [*rows, slow])


def test_columns_and_matrices_give_one_solution() -> None:
    data = draw(Case("FedSSIR", 300, 40, 5, 2, 0))
    assert subspace_distance(solve_here(data), solve_from_columns(data)) < 1e-3


def test_a_fit_is_stopped_after_its_cpu_seconds() -> None:
    found = fit(Case("eq2.10 once: ADMM", 300, 150, 5, 1, 0), 0.01)
    assert found == {"seconds": 0.01, "stopped": 1}


def test_a_sweep_has_the_rows_in_which_nothing_else_changes() -> None:
    rows = [row(d, 1.0) for d in (200, 500)]
    assert len(of_sweep("variables", rows)) == 2
    assert len(of_sweep("rows", rows)) == 1


def test_sweeps_that_were_not_measured_are_not_drawn(tmp_path) -> None:
    draw_times([row(500, 1.0), row(1_000, 2.0)], tmp_path / "times.png")
    assert (tmp_path / "times.png").stat().st_size > 1_000


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_columns_are_centred_within_sites_and_few_matter(k: int) -> None:
    data = draw(Case("FedSSIR", 60, 20, 3, k, 0))
    for site in range(3):
        assert abs(data.X[data.sites == site].mean(axis=0)).max() < 1e-12
    assert data.B.any(axis=1).sum() == 3 * k


def test_a_fit_in_another_process_reports_time_memory_and_truth() -> None:
    found = fit(Case("FedSSIR", 200, 10, 2, 1, 0))
    assert found["stopped"] == 0
    assert float(str(found["seconds"])) > 0.0
    assert float(str(found["peak_gb"])) >= float(str(found["data_gb"])) > 0.0
    assert float(str(found["dist"])) < 0.5
