import numpy as np
import pytest
from tests.solver.writing_out import written_out

from fedsdr.solver.box_check import check_box, check_singles
from fedsdr.solver.clock import Clock
from fedsdr.solver.implicit_dual import ImplicitDual


class ExplicitDual(ImplicitDual):
    """A matrix that is there, with the bounds of Cauchy and Schwarz."""

    def __init__(self, matrix: np.ndarray, tight: list[int]) -> None:
        index = np.array(tight, dtype=np.intp)
        values, axes = np.linalg.eigh(matrix)
        size = (axes**2) @ np.abs(values)
        super().__init__(index, np.diag(matrix), matrix[:, index], size)
        self.matrix = matrix

    def block(self, rows, others) -> np.ndarray:
        """Cut a block out."""
        return self.matrix[np.ix_(rows, others)]

    def value(self, share: float) -> float:
        """Bound nothing."""
        return -share


def random_dual(seed: int, size: float, tight: list[int]) -> ExplicitDual:
    matrix = np.random.default_rng(seed).normal(size=(12, 12))
    return ExplicitDual(size * (matrix + matrix.T) / 2, tight)


@pytest.mark.parametrize("max_rows", [0, 3, 12])
@pytest.mark.parametrize("tight", [[], [2, 7]])
@pytest.mark.parametrize("size", [0.1, 0.5, 1.0])
def test_the_point_found_is_in_the_box(size, tight, max_rows) -> None:
    for seed in range(20):
        dual = random_dual(seed, size, tight)
        check = check_box(dual, 1.0, max_rows, Clock())
        point = written_out(dual, check, 1.0)
        assert np.abs(point).max() <= 1.0 + 1e-12
        raised = np.linalg.eigvalsh(point / check.share - dual.matrix)
        assert raised[0] >= -1e-12


def test_room_on_the_diagonal_absorbs_what_is_outside() -> None:
    dual = ExplicitDual(np.array([[0.0, 1.5], [1.5, 0.0]]), [])
    check = check_box(dual, 1.0, 2, Clock())
    assert check.violation == 0.0
    assert check.absorbed == 1.0
    assert check.worst.max() == pytest.approx(0.5)
    np.testing.assert_allclose(written_out(dual, check, 1.0), 1.0)


def test_what_the_diagonal_cannot_absorb_is_a_violation() -> None:
    # Room 0.2 absorbs 0.2 of the excess 0.5.
    dual = ExplicitDual(np.array([[0.8, 1.5], [1.5, 0.8]]), [])
    assert check_box(dual, 1.0, 2, Clock()).violation == pytest.approx(0.3)


def test_tight_rows_absorb_nothing() -> None:
    dual = ExplicitDual(np.array([[0.0, 1.5], [1.5, 0.0]]), [0])
    check = check_singles(dual, 1.0)
    assert check.violation == pytest.approx(0.5)
    np.testing.assert_allclose(check.blame, [-1.0, 0.5])


def test_rows_that_are_not_multiplied_out_are_bounded() -> None:
    dual = ExplicitDual(np.array([[0.0, 1.5], [1.5, 0.0]]), [])
    assert check_box(dual, 1.0, 0, Clock()).violation == pytest.approx(0.5)


def test_a_negative_diagonal_is_no_violation() -> None:
    dual = ExplicitDual(np.diag([-5.0, 0.5]), [])
    check = check_box(dual, 1.0, 2, Clock())
    assert check.violation == 0.0
    assert np.abs(written_out(dual, check, 1.0)).max() <= 1.0
