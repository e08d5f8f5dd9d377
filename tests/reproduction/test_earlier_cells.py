"""Tests of the comparison with an earlier version's cells."""

import pandas as pd
import pytest
from tools.earlier_cells import BOUND, compare_cells


def _runs(distances: list[float]) -> pd.DataFrame:
    runs = range(len(distances))
    frame = pd.DataFrame({"run": runs, "seed": runs, "Dist": distances})
    return frame.assign(condition="n=100", setting="1", TPR=1.0, FPR=0.0)


def test_paired() -> None:
    """Only runs that both versions have are compared, with an error of their ratio."""
    cells = compare_cells(_runs([0.1, 0.2, 0.3]), _runs([0.2, 0.4, 0.6, 9.0]))
    assert cells.runs.tolist() == [3]
    assert cells.ratio.item() == pytest.approx(2.0)
    assert cells.error.item() == pytest.approx(0.0, abs=1e-12)
    assert cells.ratio.item() > BOUND


def test_other_rows() -> None:
    """Runs of another seed are not compared."""
    other = _runs([0.1, 0.2]).assign(seed=7)
    assert compare_cells(_runs([0.1, 0.2]), other).empty
