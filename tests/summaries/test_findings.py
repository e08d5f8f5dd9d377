"""What a site computes for warnings."""

import numpy as np
import pytest
from tests.summaries.polynomials import rank_polynomials

from fedsdr.summaries.column_checks import BesideDirections, shapes_of_columns
from fedsdr.summaries.site_agreement import direction_use, other_units


def use_of(rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute the use of two directions that are the columns."""
    n_rows = len(y)
    functions = rank_polynomials(np.argsort(np.argsort(y)))
    rows = rows - rows.mean(axis=0)
    lower = np.linalg.cholesky(rows.T @ rows / n_rows)
    moved = rows.T @ functions
    inside = np.linalg.solve(lower, moved) / np.sqrt(n_rows)
    before = (moved[0] ** 2).sum() / (rows[:, 0] ** 2).sum()
    return direction_use(inside, before, functions.T @ functions, n_rows)


@pytest.mark.parametrize("own", [0, 1])
def test_a_site_with_one_direction_shows_noise_beside_it(own: int) -> None:
    """Whichever it uses, its own last share has the mean and variance of noise."""
    found = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(60, 2))
        found.append(use_of(x, x[:, own] + 0.4 * rng.normal(size=60)))
    judged, gain, last, variance = np.mean(found, axis=0)
    assert judged == 1.0
    assert abs(last) < 0.15 * np.sqrt(variance)
    assert np.var(found, axis=0)[2] == pytest.approx(variance, rel=0.35)
    # What the second direction adds is all if it is the one that is used.
    assert gain == pytest.approx(45.0 * own, abs=5.0)


def test_a_site_with_both_directions_shows_both(rng) -> None:
    x = rng.normal(size=(500, 2))
    y = x[:, 0] / (0.5 + (x[:, 1] + 1.5) ** 2) + 0.1 * rng.normal(size=500)
    _, gain, last, variance = use_of(x, y)
    assert last > 0.8 * gain > 10 * np.sqrt(variance)


def test_one_direction_and_few_functions_are_not_judged() -> None:
    assert not direction_use(np.ones((1, 4)), 0.0, np.eye(4), 50).any()
    assert not direction_use(np.ones((3, 2)), 0.0, np.eye(2), 50).any()


def squares_at(
    x: np.ndarray, y: np.ndarray, direction: np.ndarray, cut: int = 50
) -> np.ndarray:
    """Compute the sums from two batches, each over its standard error."""
    centred = x - x.mean(axis=0)
    functions = rank_polynomials(np.argsort(np.argsort(y)))[:, :2] * np.sqrt(len(y))
    beside = BesideDirections(centred @ direction[:, None], functions)
    sums = beside.squares(lambda: [centred[:cut], centred[cut:]], x.shape[1])
    whole = beside.squares(lambda: [centred], x.shape[1])
    np.testing.assert_allclose(sums, whole, rtol=1e-9, atol=1e-9)
    return sums[:2] / np.sqrt(np.where(sums[2:] > 0, sums[2:], np.inf))


@pytest.mark.parametrize("skewed", [False, True])
def test_squares_show_nothing_beyond_the_directions(skewed: bool) -> None:
    """Also if y is a curve of the direction, and x is skewed and correlated."""
    direction = np.array([1.0, 1.0, 0.0, 0.0])
    found = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(200, 4))
        x[:, 3] += x[:, 0]
        x = np.exp(x) if skewed else x
        u = x @ direction
        found.append(squares_at(x, u**2 + rng.normal(size=200), direction))
    np.testing.assert_allclose(np.mean(found, axis=0), 0.0, atol=0.45)
    assert np.mean(np.abs(found) > 3.0) < 0.02


def test_squares_show_a_symmetric_link(rng) -> None:
    x = rng.normal(size=(400, 4))
    direction = np.array([1.0, 0.0, 0.0, 0.0])
    found = squares_at(x, x[:, 0] + x[:, 2] ** 2 + rng.normal(size=400), direction)
    assert abs(found[0, 2]) > 8
    assert np.abs(found[:, [1, 3]]).max() < 4
    # The direction itself leaves nothing of its column.
    np.testing.assert_array_equal(found[:, 0], 0.0)


def test_a_missed_line_is_not_a_square() -> None:
    """A skewed variable that enters y as a line is not a symmetric link."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = np.exp(0.7 * rng.normal(size=(300, 2)))
        y = x[:, 0] + 0.5 * x[:, 1] + rng.normal(size=300)
        found.append(squares_at(x, y, np.array([1.0, 0.0]))[0, 1])
    assert abs(np.mean(found)) < 1.0


def test_few_rows_cannot_be_compared(rng) -> None:
    assert not squares_at(
        rng.normal(size=(20, 2)), rng.normal(size=20), np.eye(2)[0]
    ).any()


def test_a_large_value_makes_no_column_skewed(rng) -> None:
    x = rng.normal(size=(1000, 3))
    x[:, 1] = np.exp(x[:, 1])
    x[0, 2] = 60.0
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    skewness, errors = shapes_of_columns([z[:300], z[300:]], 3)
    assert skewness[1] > 1.5
    assert np.abs(skewness[[0, 2]]).max() < 0.3
    # For normal rows the error is sqrt(2 / n); of one large value it is near 1.
    assert errors[0] == pytest.approx(np.sqrt(2 / 1000), rel=0.2)
    assert errors[2] > 0.5


@pytest.mark.parametrize(
    ("factor", "error", "count"),
    [
        (100.0, 0.2, 1),
        (0.01, 0.2, 1),
        (7.0, 0.2, 0),
        (20.0, 1.0, 0),
        (0.0, 0.2, 0),
    ],
)
def test_units_are_a_large_factor_that_is_well_known(factor, error, count) -> None:
    variances = np.array([1.0, factor**2])
    assert other_units(variances, np.full(2, error), np.ones(2)) == count
