r"""What columns have beside directions: skewness, symmetric links, other directions.

Of a span that all sites have found a site can say whether its own rows agree. If y
depends on x through :math:`B'x` alone, then whatever function of y is regressed on x
has its coefficients in the span of B. So what the function leaves beside
:math:`B'x` must not go with what x leaves beside it (`span_tests`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dger
from scipy.special import fdtrc

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.direction_curves import curves_of
from fedsdr.summaries.profile import SINGULAR, Batches
from fedsdr.summaries.slicing import Weights

#: Of tests of a span: functions of y at most, rows that each tested number needs, and
#: rows at most, evenly spaced, that are looked at one by one.
MOST_FUNCTIONS, ROWS_A_NUMBER, MOST_ROWS = 3, 8, 20_000

#: Levels at which directions are counted, see `directions_needed`.
LEVELS = (2.5e-3, 1e-4, 1e-6, 1e-9, 1e-12)

# Relative size below which an eigenvalue is rounding.
_ROUNDING = 1e-9

#: Functions of y that squares are compared with.
N_FUNCTIONS = 2
#: Standard deviations from the mean beyond which values count as if they were there:
#: a few large values do not make a column skewed.
FARTHEST = 5.0
# The same for what directions leave of a column, of which squares are taken.
FARTHEST_LEFT = 4.0
# Rows below which the dependence of y on the directions cannot be taken out.
FEWEST_ROWS = 24


def shapes_of_columns(
    batches: Iterable[Matrix], n_features: int
) -> tuple[Vector, Vector]:
    r"""Compute the skewness of every column, and how well its variance is known.

    Parameters
    ----------
    batches : iterable of ndarray of shape (n_batch, n_features)
        Rows about the site's means, divided by its standard deviations.
    n_features : int
        Number of columns.

    Returns
    -------
    skewness : ndarray of shape (n_features,)
        Mean of :math:`z^3`, with z moved to the interval from -5 to 5.
    error : ndarray of shape (n_features,)
        Standard error of the logarithm of the variance,
        :math:`\sqrt{(\overline{z^4} - 1) / n}`.
    """
    n_rows = 0
    third: Vector = np.zeros(n_features)
    fourth: Vector = np.zeros(n_features)
    for rows in batches:
        n_rows += len(rows)
        # Products: numpy's powers and sums take several times as long.
        ones = np.ones(len(rows))
        square = rows * rows
        if square.max(initial=0.0) <= FARTHEST**2:
            third += np.einsum("ij,ij->j", square, rows)
        else:
            near = np.clip(rows, -FARTHEST, FARTHEST)
            third += np.einsum("ij,ij->j", near * near, near)
        fourth += ones @ np.multiply(square, square, out=square)
    spread = np.clip(fourth / max(n_rows, 1) - 1.0, 0.0, None)
    return third / max(n_rows, 1), np.sqrt(spread / max(n_rows, 1))


def leading_functions(weights: Weights) -> Matrix | None:
    """Return the functions of y that squares of columns are compared with.

    Parameters
    ----------
    weights : Weights
        Weights of the rows in the kernel.

    Returns
    -------
    ndarray of shape (n_rows, 2), or None
        Polynomials of the rank of y with a mean square of 1 or a little less, zeros
        if y has fewer; None if no kernel can be computed.
    """
    if not weights.has_functions:
        return None
    n_rows = len(weights.ranks)
    values = weights.polynomials_at(slice(None))
    values = values[:, :N_FUNCTIONS] * np.sqrt(n_rows)
    functions = np.zeros((n_rows, N_FUNCTIONS))
    functions[:, : values.shape[1]] = values
    return functions


class BesideDirections:
    r"""Products of functions of y with squares of columns, beside directions.

    Parameters
    ----------
    reduced : ndarray of shape (n_rows, K)
        Values of the K directions in all rows.
    functions : ndarray of shape (n_rows, 2)
        Functions f of y in all rows, with a mean square of 1 or a little less.

    Notes
    -----
    :math:`\tilde f` is what smooth curves of the directions leave of f. With
    :math:`r_j` what the directions leave of column j (in standard deviations, and moved
    to the interval from -4 to 4), :math:`h_j` is what a line in :math:`r_j` leaves of
    :math:`r_j^2`. If y depends on x only through the directions, the mean of
    :math:`\tilde f h_j` is zero whatever the distribution of x, since
    :math:`\tilde f` has the mean zero given the directions. A line in a variable that
    was missed does not count, since :math:`h_j` is uncorrelated with it; where it
    decides on most of y, its curves in f do.
    """

    def __init__(self, reduced: Matrix, functions: Matrix) -> None:
        self._reduced, self._n_rows = reduced, len(functions)
        self._memory: dict[int, Matrix] = {}
        self._usable = self._n_rows >= FEWEST_ROWS and bool(np.isfinite(reduced).all())
        if self._usable:
            # As numpy's pinv, in a third of the time.
            values, vectors = np.linalg.eigh(reduced.T @ reduced)
            kept = np.abs(values) > 1e-15 * np.abs(values).max(initial=0.0)
            vectors, values = vectors[:, kept], values[kept]
            self._inverse = (vectors / values) @ vectors.T
            curves = curves_of(reduced)
            beyond = functions - curves @ (curves.T @ functions)
            ones = np.ones(self._n_rows)
            self._weights = np.column_stack([ones, beyond, beyond**2]).T

    def squares(
        self, batches: Callable[[], Iterable[Matrix]], n_features: int
    ) -> Matrix:
        r"""Sum the products over the rows.

        Parameters
        ----------
        batches : callable
            Returns batches of rows of some columns, about the site's means.
        n_features : int
            Number of these columns.

        Returns
        -------
        ndarray of shape (4, n_features)
            For each function the sum of :math:`\tilde f h_j` over the rows, then for
            each the sum of :math:`(\tilde f h_j)^2`. Zeros from a site of few rows, and
            for columns that are combinations of the directions.
        """
        nothing = np.zeros((2 * N_FUNCTIONS, n_features))
        if not self._usable:
            return nothing
        n_rows, reduced, weights = self._n_rows, self._reduced, self._weights
        total, across = np.zeros(n_features), np.zeros((reduced.shape[1], n_features))
        for place, rows in _placed(batches()):
            total += np.einsum("ij,ij->j", rows, rows)
            across += reduced[place].T @ rows
        slopes = self._inverse @ across
        left = total - (slopes * across).sum(axis=0)
        usable = left > SINGULAR * total
        deviation = np.sqrt(np.where(usable, left, 1.0) / n_rows)
        # Sums over the rows of 1, f and f^2 with powers of what is left of the columns.
        sums = np.zeros((4, len(weights), n_features))
        inverse = 1.0 / deviation
        slopes = slopes * inverse
        for place, rows in _placed(batches()):
            rest = np.multiply(rows, inverse, out=self._scratch(0, rows.shape))
            for values, slope in zip(reduced[place].T, slopes, strict=True):
                # In place: a product of numpy would be written and read once more.
                rest = dger(-1.0, slope, values, a=rest.T, overwrite_a=1).T
            np.clip(rest, -FARTHEST_LEFT, FARTHEST_LEFT, out=rest)
            square = np.multiply(rest, rest, out=self._scratch(1, rows.shape))
            own = weights[:, place]
            sums[0] += own @ rest
            sums[1] += own @ square
            # Of the higher powers only some are needed, and row by row they are faster.
            np.multiply(rest, square, out=rest)
            for row in (0, *range(1 + N_FUNCTIONS, len(own))):
                sums[2, row] += own[row] @ rest
            np.multiply(square, square, out=square)
            for row in range(1 + N_FUNCTIONS, len(own)):
                sums[3, row] += own[row] @ square
        found = np.where(usable, self._combined(sums), 0.0)
        return found if np.isfinite(found).all() else nothing

    def _scratch(self, which: int, shape: tuple[int, ...]) -> Matrix:
        """Return memory that is written over each time, so that it stays in a cache."""
        held = self._memory.get(which)
        if held is None or held.shape != shape:
            held = self._memory[which] = np.empty(shape)
        return held

    def _combined(self, sums: Matrix) -> Matrix:
        """Combine powers of r to h = r^2 - b r - a, and to its square."""
        first, second, third = sums[:3, 0] / self._n_rows
        variance = second - first**2
        slope = (third - first * second) / np.where(variance > 0.0, variance, 1.0)
        shift = second - slope * first
        ones = self._weights.sum(axis=1)[:, None]
        one, two, *_ = sums[:, 1 : 1 + N_FUNCTIONS]
        line = two - slope * one - shift * ones[1 : 1 + N_FUNCTIONS]
        one, two, three, four = sums[:, 1 + N_FUNCTIONS :]
        curve = four - 2 * slope * three + (slope**2 - 2 * shift) * two
        curve += 2 * slope * shift * one + shift**2 * ones[1 + N_FUNCTIONS :]
        return np.vstack([line, curve])


def _placed(batches: Iterable[Matrix]) -> Iterator[tuple[slice, Matrix]]:
    """Say which of all rows each batch has."""
    start = 0
    for rows in batches:
        yield slice(start, start + len(rows)), rows
        start += len(rows)


@dataclass(frozen=True, slots=True, eq=False)
class SpanTest:
    """What a site's rows say about a span.

    Parameters
    ----------
    p_value : float
        Of the test that y depends on x through the span alone.
    freedom : int
        How many numbers are tested to be zero at once.
    """

    p_value: float
    freedom: int


@dataclass(frozen=True, slots=True, eq=False)
class CloserTest(SpanTest):
    """What a site's steward can read from the rows about a span.

    Parameters
    ----------
    p_value, freedom : float, int
        See `SpanTest`.
    inside : float
        P-value of the test that y does not go with the span at all.
    variables : ndarray of shape (s,)
        Of the tests that a variable has nothing to do with y beside the span.
    leading : float
        Correlation, at the site, between the first direction and the combination of the
        directions that goes best with y there.
    """

    inside: float
    variables: Vector
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
    variances (White 1980). The span was estimated from these rows too, among others:
    for one of m sites the statistic is too small by about 1/m along directions into
    which the span could have turned.
    """
    going = list(_started(batches, basis))
    for one, rows, functions in _again(batches, going):
        for tested, own in one.products(rows, functions):
            tested.add(own)
    return [None if one is None else one.test() for one in going]


def closer_tests(batches: Batches, basis: Matrix) -> list[CloserTest | None]:
    r"""Test spans as `span_tests` does, the directions themselves, and each variable.

    Parameters
    ----------
    batches : callable
        Returns batches of rows, see `span_tests`.
    basis : ndarray of shape (s, K)
        Directions B.

    Returns
    -------
    list of (CloserTest or None)
        For the first k = 1, ..., K directions, see `span_tests`.

    Notes
    -----
    A variable is tested as a span is, with its own weight :math:`\Theta w`,
    :math:`\Theta = (\sum ww')^{+}`.
    """
    going = list(_started(batches, basis))
    for one, rows, functions in _again(batches, going):
        for tested, own in one.products(rows, functions, closer=True):
            tested.add(own)
    return [None if one is None else one.closer_test() for one in going]


def _started(batches: Batches, basis: Matrix) -> Iterator["_Going | None"]:
    """Find in a first pass what is beside the spans of the first directions."""
    n_rows = 0
    scatter: Matrix | float = 0.0
    moved: Matrix | float = 0.0
    for rows, functions in batches():
        n_rows += len(rows)
        scatter = scatter + rows.T @ rows
        moved = moved + rows.T @ functions
    sums = np.asarray(scatter), np.asarray(moved)
    for k in range(basis.shape[1]):
        yield _Going.start(n_rows, *sums, basis[:, : k + 1])


def _again(
    batches: Batches, going: Sequence["_Going | None"]
) -> Iterator[tuple["_Going", Matrix, Matrix]]:
    """Go through the rows, or some of very many, for every span that can be tested."""
    tested = [one for one in going if one is not None]
    if not tested:
        return
    step, start = -(-tested[0].n_rows // MOST_ROWS), 0
    for rows, functions in batches():
        chosen = slice(-start % step, None, step)
        start += len(rows)
        for one in tested:
            yield one, rows[chosen], functions[chosen]


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
    spread: Matrix
    seen: Matrix
    back: Matrix
    slopes: Matrix
    white: Matrix
    n_rows: int
    outside: "_Hotelling"
    inside: "_Hotelling"
    own: "_Hotelling"

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
        seen = basis.T @ moved
        return cls(
            basis,
            spread,
            seen,
            np.asarray(back, dtype=np.float64),
            np.asarray(np.linalg.solve(spread, seen))[:, :n_functions],
            axes[:, kept] / np.sqrt(sizes[kept] / n_rows),
            n_rows,
            _Hotelling(),
            _Hotelling(),
            _Hotelling(),
        )

    def products(
        self, rows: Matrix, functions: Matrix, *, closer: bool = False
    ) -> Iterator[tuple["_Hotelling", Matrix]]:
        """Multiply what rows and functions of y leave beside the span."""
        root = np.sqrt(self.n_rows)
        y, z = functions[:, : self.slopes.shape[1]] * root, rows @ self.basis
        left, beside = y - z @ self.slopes * root, rows - z @ self.back
        white = beside @ self.white
        pairs = [(self.outside, white, left)]
        pairs += [(self.inside, z, y)] if closer else []
        for tested, first, second in pairs:
            every = first[:, :, None] * second[:, None, :]
            yield tested, every.reshape(1, len(rows), -1)
        if closer:
            yield self.own, (white @ self.white.T).T[:, :, None] * left

    def test(self) -> SpanTest:
        """Judge the span."""
        (p_value,), (freedom,) = self.outside.p_values()
        return SpanTest(float(p_value), int(freedom))

    def closer_test(self) -> CloserTest:
        """Judge the span, its directions and each variable."""
        found, (inside,) = self.test(), self.inside.p_values()[0]
        root = np.linalg.cholesky(self.spread)
        best = np.linalg.svd(np.linalg.solve(root, self.seen))[0][:, 0]
        return CloserTest(
            found.p_value,
            found.freedom,
            float(inside),
            self.own.p_values()[0],
            float(abs(best @ root[0]) / np.linalg.norm(root[0])),
        )


class _Hotelling:
    """Adds up rows, and tests whether their mean is zero: for several tests at once."""

    def __init__(self) -> None:
        self._n_rows = 0
        self._total: Matrix | float = 0.0
        self._squares: Matrix | float = 0.0

    def add(self, rows: Matrix) -> None:
        """Add rows, shape (n_tests, n_rows, n_numbers)."""
        self._n_rows += rows.shape[1]
        self._total = self._total + rows.sum(axis=1)
        self._squares = self._squares + rows.swapaxes(1, 2) @ rows

    def p_values(self) -> tuple[Vector, NDArray[np.int64]]:
        """Return the p-value and the degrees of freedom of every test."""
        total, squares = np.asarray(self._total), np.asarray(self._squares)
        finite = np.isfinite(squares).all(axis=(1, 2))
        if not finite.all():
            squares = np.where(finite[:, None, None], squares, 0.0)
            total = np.where(finite[:, None], total, 0.0)
        scale = np.sqrt(squares.diagonal(axis1=1, axis2=2))
        scale = np.where(scale > 0.0, scale, 1.0)
        sizes, axes = np.linalg.eigh(squares / (scale[:, :, None] * scale[:, None]))
        kept = sizes > _ROUNDING * np.maximum(sizes[:, -1:], 1e-300)
        freedom, n = kept.sum(axis=1), self._n_rows
        turned = ((total / scale)[:, None] @ axes)[:, 0]
        about_zero = (turned**2 / np.where(kept, sizes, np.inf)).sum(axis=1)
        tested = (freedom > 0) & (freedom < n)
        free = np.where(tested, freedom, 1)
        # From squares about zero to squares about the mean.
        share = np.minimum(about_zero / n, 1.0 - 1e-15)
        ratio = share / (1.0 - share) * (n - free) / free
        found = np.where(tested, fdtrc(free, n - free, ratio), 1.0)
        return found, np.where(tested, freedom, 0)
