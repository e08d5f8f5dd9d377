r"""Whether the rows of one site agree with a span that all sites have found.

If y depends on x through :math:`B'x` alone, then whatever function of y is regressed on
x has its coefficients in the span of B. So what the function leaves beside
:math:`B'x` must not go with what x leaves beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.profile import SINGULAR, Batches

#: Functions of y at most, rows that each tested number needs, and rows at most, evenly
#: spaced, that are looked at one by one.
MOST_FUNCTIONS, ROWS_A_NUMBER, MOST_ROWS = 3, 8, 20_000

#: Levels at which directions are counted, see `directions_needed`.
LEVELS = (2.5e-3, 1e-4, 1e-6, 1e-9, 1e-12)

# Relative size below which an eigenvalue is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class SpanTest:
    """What a site's rows say about a span.

    Parameters
    ----------
    p_value : float
        Of the test that y depends on x through the span alone.
    inside : float
        Of the test that y does not go with the span at all.
    variables : ndarray of shape (s,)
        Of the tests that a variable has nothing to do with y beside the span.
    freedom : int
        How many numbers are tested to be zero at once.
    leading : float
        Correlation, at the site, between the first direction and the combination of the
        directions that goes best with y there.
    """

    p_value: float
    inside: float
    variables: Vector
    freedom: int
    leading: float


def span_tests(batches: Batches, basis: Matrix) -> list[SpanTest | None]:
    r"""Test the spans of the first directions on the rows of one site, in two passes.

    Parameters
    ----------
    batches : callable
        Returns batches of rows of the s variables, centred and on the common scale,
        each with the values of the functions of y.
    basis : ndarray of shape (s, K)
        Directions B.

    Returns
    -------
    list of (SpanTest or None)
        For the first k = 1, ..., K directions; None if there is nothing beside their
        span, or if the site has too few rows.

    Notes
    -----
    With :math:`z = B'x`, e what the first functions of y leave beside z and w what x
    leaves, in white coordinates, the rows :math:`w \otimes e` have the mean zero. That
    is tested as Hotelling does, from their own covariance, so that rows may have any
    variances (White 1980); for a variable in the same way with its own weight
    :math:`\Theta w`, :math:`\Theta = (\sum ww')^{+}`. The span was estimated from
    these rows too, among others: for one of m sites the statistic is too small by
    about 1/m along directions into which the span could have turned.
    """
    n_rows, scatter, moved = _moments(batches)
    going = [
        _Going.start(n_rows, scatter, moved, basis[:, : k + 1])
        for k in range(basis.shape[1])
    ]
    step, start = -(-n_rows // MOST_ROWS), 0
    if any(one is not None for one in going):
        for rows, functions in batches():
            chosen = slice(-start % step, None, step)
            start += len(rows)
            for one in going:
                if one is not None:
                    one.add(rows[chosen], functions[chosen])
    return [None if one is None else one.test() for one in going]


def directions_needed(tests: Sequence[SpanTest | None]) -> Matrix:
    """Count how many of the first directions a site needs.

    Parameters
    ----------
    tests : sequence of (SpanTest or None)
        Tests of the first 1, ..., K directions.

    Returns
    -------
    ndarray of shape (n_levels, K + 1)
        For each of `LEVELS` a one in the place of the fewest directions that the rows
        do not contradict at this level, less one; in the last place if they contradict
        all of them. Zeros if no span could be tested.
    """
    found = np.zeros((len(LEVELS), len(tests) + 1))
    if all(test is None for test in tests):
        return found
    p_values = [1.0 if test is None else test.p_value for test in tests]
    for row, level in zip(found, LEVELS, strict=True):
        passed = [k for k, p_value in enumerate(p_values) if p_value > level]
        row[passed[0] if passed else -1] = 1.0
    return found


@dataclass(slots=True, eq=False)
class _Going:
    """A test of one span, while rows are added up."""

    basis: Matrix
    back: Matrix
    slopes: Matrix
    white: Matrix
    n_rows: int
    n_functions: int
    leading: float
    outside: "_Hotelling"
    inside: "_Hotelling"
    own: list["_Hotelling"]

    @classmethod
    def start(
        cls, n_rows: int, scatter: Matrix, moved: Matrix, basis: Matrix
    ) -> "_Going | None":
        """Find what is beside a span; None if it cannot be tested."""
        spread = basis.T @ scatter @ basis
        if not (np.isfinite(scatter).all() and np.isfinite(spread).all()):
            return None
        values = np.linalg.eigvalsh(spread)
        if values[0] <= SINGULAR * max(float(values[-1]), 0.0):
            return None
        back = np.linalg.solve(spread, basis.T @ scatter)
        sizes, axes = np.linalg.eigh(scatter - scatter @ basis @ back)
        kept = sizes > 1e-8 * max(float(np.linalg.eigvalsh(scatter)[-1]), 0.0)
        width = max(int(kept.sum()), basis.shape[1])
        room = n_rows // (ROWS_A_NUMBER * width)
        n_functions = min(moved.shape[1], MOST_FUNCTIONS, room)
        if not kept.any() or not n_functions:
            return None
        return cls(
            basis,
            np.asarray(back, dtype=np.float64),
            np.asarray(np.linalg.solve(spread, basis.T @ moved))[:, :n_functions],
            axes[:, kept] / np.sqrt(sizes[kept] / n_rows),
            n_rows,
            n_functions,
            _leading(spread, basis.T @ moved),
            _Hotelling(),
            _Hotelling(),
            [_Hotelling() for _ in range(basis.shape[0])],
        )

    def add(self, rows: Matrix, functions: Matrix) -> None:
        """Add up what rows and functions of y leave beside the span."""
        root = np.sqrt(self.n_rows)
        y, z = functions[:, : self.n_functions] * root, rows @ self.basis
        left, beside = y - z @ self.slopes * root, rows - z @ self.back
        white = beside @ self.white
        self.outside.add(_products(white, left))
        self.inside.add(_products(z, y))
        for j, weight in enumerate((white @ self.white.T).T):
            self.own[j].add(weight[:, None] * left)

    def test(self) -> SpanTest:
        """Test whether the means are zero."""
        variables = np.array([one.p_value()[0] for one in self.own])
        p_value, freedom = self.outside.p_value()
        inside, _ = self.inside.p_value()
        return SpanTest(p_value, inside, variables, freedom, self.leading)


class _Hotelling:
    """Adds up rows, and tests whether their mean is zero."""

    def __init__(self) -> None:
        self._n_rows = 0
        self._total: Matrix | float = 0.0
        self._squares: Matrix | float = 0.0

    def add(self, rows: Matrix) -> None:
        """Add rows."""
        self._n_rows += len(rows)
        self._total = self._total + rows.sum(axis=0)
        self._squares = self._squares + rows.T @ rows

    def p_value(self) -> tuple[float, int]:
        """Return the p-value, and the degrees of freedom."""
        total, squares = np.asarray(self._total), np.asarray(self._squares)
        if not self._n_rows or not np.isfinite(squares).all():
            return 1.0, 0
        scale = np.sqrt(np.diag(squares))
        scale = np.where(scale > 0.0, scale, 1.0)
        sizes, axes = np.linalg.eigh(squares / np.outer(scale, scale))
        kept = sizes > _ROUNDING * max(float(sizes[-1]), 1e-300)
        freedom, n = int(kept.sum()), self._n_rows
        if not freedom or freedom >= n:
            return 1.0, 0
        turned = axes[:, kept].T @ (total / scale)
        about_zero = float((turned**2 / sizes[kept]).sum())
        # From squares about zero to squares about the mean.
        share = min(about_zero / n, 1.0 - 1e-15)
        ratio = share / (1.0 - share) * (n - freedom) / freedom
        return float(fdtrc(freedom, n - freedom, ratio)), freedom


def _moments(batches: Batches) -> tuple[int, Matrix, Matrix]:
    """Add up products of rows with each other and with functions of y."""
    n_rows = 0
    scatter: Matrix | float = 0.0
    moved: Matrix | float = 0.0
    for rows, functions in batches():
        n_rows += len(rows)
        scatter = scatter + rows.T @ rows
        moved = moved + rows.T @ functions
    return n_rows, np.asarray(scatter), np.asarray(moved)


def _leading(spread: Matrix, moved: Matrix) -> float:
    """Correlate the first direction with the site's own best combination."""
    root = np.linalg.cholesky(spread)
    best = np.linalg.svd(np.linalg.solve(root, moved))[0][:, 0]
    return float(abs(best @ root[0]) / np.linalg.norm(root[0]))


def _products(first: Matrix, second: Matrix) -> Matrix:
    """Multiply all columns of two matrices, row by row."""
    return np.asarray((first[:, :, None] * second[:, None, :]).reshape(len(first), -1))
