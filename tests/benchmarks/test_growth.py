"""Cases of the growth benchmark, and the exponents on its page."""

import pytest

from benchmarks.growth import cases, fit, is_out_of_reach
from benchmarks.growth_page import draw_times, exponent, of_sweep, sweep_table
from benchmarks.growth_systems import Case, draw


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
