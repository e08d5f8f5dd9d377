"""Functions of y behind the smooth kernel: polynomials of its rank, and y itself."""

from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector

Ranks = NDArray[np.integer]

#: Smooth kernel: highest degree, rows needed per degree, decay of the weights.
MAX_DEGREE = 12
ROWS_A_DEGREE = 4
DECAY = 3.0

#: Responses this many robust standard deviations from the median are moved there.
FARTHEST = 3.0
#: Squares of responses, summed over a site, that can be added under masks.
SMALLEST_SQUARE, LARGEST_SQUARE = 1e-10, 1e13

# Rows up to which sites without ties share the values of their polynomials.
SHARED_ROWS = 4096
# Number of rows that are evaluated at a time.
CHUNK = 16384
# Ties of at least this many rows are evaluated once and kept, shorter ones when needed.
LONG_TIE = 16


class RankPolynomials:
    r"""Orthonormal polynomials of the rank, with weights that decay with the degree.

    Parameters
    ----------
    sizes : ndarray of shape (n_ranks,), int
        Number of rows with each dense rank 0, 1, ...; all 1 without ties.
    chunk : int, default=16384
        Number of rows that are evaluated at a time. For more rows than this the values
        of short ties are not kept, since they would take more memory than a few columns
        of x.

    Notes
    -----
    The columns are :math:`\sqrt{w_b} f_b` with :math:`\sum_l f_b(l) = 0`,
    :math:`f_b' f_c = \delta_{bc}` without ties, and :math:`w_b = e^{-(b-1)/3}`,
    b = 1, ..., at most 12.

    The polynomials are orthonormal on the equally spaced ranks (discrete Legendre or
    Gram polynomials) :math:`u_l = (2l + 1)/n - 1`, and follow the recurrence

    .. math:: \beta_{b+1} f_{b+1}(u) = u f_b(u) - \beta_b f_{b-1}(u) , \qquad
              \beta_b^2 = \frac{b^2 (1 - b^2/n^2)}{4 b^2 - 1} ,

    which is stable for degrees below :math:`2\sqrt n`, as all are here. Tied rows get
    the average over all their orders. Averaging is a projection, so the columns stay a
    contraction, and the kernel is at most the covariance in the Loewner order.
    """

    def __init__(self, sizes: Ranks, *, chunk: int = CHUNK) -> None:
        self._sizes = sizes
        self._n_rows = int(sizes.sum())
        self.degree = int(np.clip(self._n_rows // ROWS_A_DEGREE, 1, MAX_DEGREE))
        self._decay = np.exp(-np.arange(self.degree) / 2 / DECAY)
        degrees = np.arange(1.0, self.degree + 1)
        shrunk = 1.0 - (degrees / self._n_rows) ** 2
        steps = degrees * np.sqrt(shrunk / (4.0 * degrees**2 - 1.0))
        # Of the recurrence, with the weights and the constant polynomial in it.
        first = 1.0 / np.sqrt(self._n_rows)
        self._forward = self._decay / steps / np.r_[1.0 / first, self._decay[:-1]]
        lengths = np.r_[1.0 / first, self._decay][: self.degree - 1]
        self._backward = self._decay[1:] * steps[:-1] / steps[1:] / lengths
        self._tied = len(sizes) < self._n_rows
        if self._tied:
            self._starts = np.cumsum(sizes) - sizes
            complete = self._n_rows <= chunk
            kept = np.ones(len(sizes), bool) if complete else sizes >= LONG_TIE
            self._kept = np.flatnonzero(kept)
            self._table, self._overlap = self._scan(chunk)
        else:
            self._overlap = np.diag(self._decay**2)

    @property
    def overlap(self) -> Matrix:
        """Products of the polynomials, summed over all rows; diagonal without ties."""
        return self._overlap

    @cached_property
    def freedom(self) -> tuple[float, float]:
        """Trace of the weights of the rows in the kernel, and that of their square."""
        return float(np.trace(self._overlap)), float((self._overlap**2).sum())

    def at(self, ranks: Ranks, out: Matrix | None = None) -> Matrix:
        """Evaluate the polynomials in some rows.

        Parameters
        ----------
        ranks : ndarray of shape (n_rows,), int
            Dense ranks of these rows.
        out : ndarray of shape (degree, n_rows), optional
            Where to write the values.

        Returns
        -------
        ndarray of shape (n_rows, degree)
            Values, one column per polynomial; columns are contiguous.
        """
        out = np.empty((self.degree, len(ranks))) if out is None else out
        if not self._tied:
            if self._n_rows > SHARED_ROWS:
                return self._evaluate(ranks, out).T
            return np.take(self._every, ranks, axis=1, out=out, mode="clip").T
        if len(self._kept) == len(self._sizes):
            # Ranks are below the number of values; only "raise" would make a copy.
            return np.take(self._table, ranks, axis=1, out=out, mode="clip").T
        distinct, inverse = np.unique(ranks, return_inverse=True)
        values = np.empty((self.degree, len(distinct)))
        long = self._sizes[distinct] >= LONG_TIE
        values[:, long] = self._table[:, np.searchsorted(self._kept, distinct[long])]
        if not long.all():
            values[:, ~long] = self._averages(distinct[~long])
        return np.take(values, inverse, axis=1, out=out, mode="clip").T

    @cached_property
    def _every(self) -> Matrix:
        """Values at all places, where there are few and no ties."""
        return self._evaluate(np.arange(self._n_rows))

    def _averages(self, ranks: Ranks) -> Matrix:
        """Average over the places of some ties."""
        sizes = self._sizes[ranks]
        offsets = np.cumsum(sizes) - sizes
        places = np.arange(sizes.sum())
        places += np.repeat(self._starts[ranks] - offsets, sizes)
        return np.add.reduceat(self._evaluate(places), offsets, axis=1) / sizes

    def _average(self, rank: int, chunk: int) -> Matrix:
        """Average over the places of one long tie, piece by piece."""
        start, size = int(self._starts[rank]), int(self._sizes[rank])
        total = np.zeros((self.degree, 1))
        for offset in range(0, size, chunk):
            stop = min(offset + chunk, size)
            places = np.arange(start + offset, start + stop)
            total += self._evaluate(places).sum(axis=1, keepdims=True)
        return total / size

    def _scan(self, chunk: int) -> tuple[Matrix, Matrix]:
        """Average over every tie once: keep some averages, and add their products."""
        table = np.empty((self.degree, len(self._kept)))
        overlap = np.zeros((self.degree, self.degree))
        first = 0
        while first < len(self._sizes):
            # At least one tie, of any length.
            reach = self._starts[first] + chunk
            last = max(first + 1, int(np.searchsorted(self._starts, reach)) - 1)
            own = np.arange(first, min(last, len(self._sizes)))
            long = own.size == 1 and self._sizes[first] > chunk
            averages = self._average(first, chunk) if long else self._averages(own)
            overlap += (averages * self._sizes[own]) @ averages.T
            low, high = np.searchsorted(self._kept, [own[0], own[-1] + 1])
            table[:, low:high] = averages[:, self._kept[low:high] - first]
            first = int(own[-1]) + 1
        return table, overlap

    def _evaluate(self, places: Ranks, out: Matrix | None = None) -> Matrix:
        """Evaluate at places 0, ..., n - 1 in the order of the response."""
        spaced = (2.0 / self._n_rows) * places
        spaced += 1.0 / self._n_rows - 1.0
        values = np.empty((self.degree, len(places))) if out is None else out
        np.multiply(spaced, self._forward[0], out=values[0])
        scratch = np.empty(len(places))
        for b in range(1, self.degree):
            np.multiply(spaced, values[b - 1], out=values[b])
            values[b] *= self._forward[b]
            if b == 1:
                values[b] -= self._backward[0]
            else:
                np.multiply(values[b - 2], self._backward[b - 1], out=scratch)
                values[b] -= scratch
        return values


def rank_polynomials(sizes: Ranks, *, chunk: int = CHUNK) -> RankPolynomials:
    """Return the polynomials for some ranks; the same ones for sites without ties.

    Parameters
    ----------
    sizes : ndarray of shape (n_ranks,), int
        Number of rows with each dense rank.
    chunk : int, default=16384
        Number of rows that are evaluated at a time.

    Returns
    -------
    RankPolynomials
        Without ties, and for few rows, they depend on the number of rows alone.
    """
    if len(sizes) <= SHARED_ROWS and len(sizes) == sizes.sum():
        return _untied(len(sizes))
    return RankPolynomials(sizes, chunk=chunk)


def sizes_of_ties(ranks: Ranks) -> Ranks:
    """Count the rows with each rank.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows,), int
        Dense rank of each row's response.

    Returns
    -------
    ndarray of shape (n_ranks,), int
        Number of rows with each rank; without ties ones that take no memory.
    """
    if int(ranks.max()) == len(ranks) - 1:
        return np.broadcast_to(np.int64(1), len(ranks))
    return np.bincount(ranks)


@lru_cache(maxsize=16)
def _untied(n_rows: int) -> RankPolynomials:
    return RankPolynomials(np.ones(n_rows, dtype=np.int64))


class ResponseFunctions:
    """Smooth functions of y, and y itself, whose products with rows are summed.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows,), int
        Dense rank of each row's response.
    response : ndarray of shape (n_rows,)
        The response itself, see `plain_response`.
    chunk : int, optional
        Number of rows that are evaluated at a time; all of them if not given.
    """

    def __init__(
        self, ranks: Ranks, response: Vector, chunk: int | None = None
    ) -> None:
        self._ranks, self.response = ranks, response
        chunk = len(ranks) if chunk is None else chunk
        self.polynomials = rank_polynomials(sizes_of_ties(ranks), chunk=chunk)

    #: Whether most values are zero, see `RowFunctions`.
    sparse = False

    @property
    def n_functions(self) -> int:
        """The polynomials, and the response as the last one."""
        return self.polynomials.degree + 1

    def at(self, place: slice, out: Matrix | None = None) -> tuple[slice, Matrix]:
        """Evaluate the functions in a block of rows, see `RowFunctions`.

        Parameters
        ----------
        place : slice
            Numbers of the rows.
        out : ndarray of shape (n_functions, n_block), optional
            Memory that the values are written to.

        Returns
        -------
        which : slice
            All functions.
        values : ndarray of shape (n_functions, n_block)
            Their values.
        """
        ranks = self._ranks[place]
        values = np.empty((self.n_functions, len(ranks))) if out is None else out
        self.polynomials.at(ranks, out=values[:-1])
        values[-1] = self.response[place]
        return slice(None), values


def plain_response(y: Any) -> Vector:
    """Return the response itself, about its mean, in its own units.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Numbers.

    Returns
    -------
    ndarray of shape (n_rows,)
        Values farther than three robust standard deviations (from the median absolute
        deviation) from the median are moved there, so that no single row decides.
        Zeros if half of the rows or more are tied, or if the numbers are too large or
        too small to be added to those of other sites.
    """
    values = np.asarray(y, dtype=np.float64)
    middle, far = _reach(values)
    near = np.clip(values, middle - far, middle + far)
    near -= near.mean()
    square = float(near @ near)
    if not SMALLEST_SQUARE < square < LARGEST_SQUARE:
        return np.zeros(len(values))
    return near


def pulled_in(values: Vector) -> Vector:
    """Move values that are far from all others nearer.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Numbers.

    Returns
    -------
    ndarray of shape (n_rows,)
        Those farther than three robust standard deviations from the median are moved
        there; where half of the rows are tied, three standard deviations.
    """
    middle, far = _reach(values)
    if far == 0.0:
        far = FARTHEST * float(values.std())
    return np.clip(values, middle - far, middle + far)


def _reach(values: Vector) -> tuple[float, float]:
    """Return the median, and how far from it a value may be."""
    distances = values.copy()
    middle = _median(distances)
    np.subtract(values, middle, out=distances)
    return middle, FARTHEST * 1.4826 * _median(np.abs(distances, out=distances))


def _median(values: Vector) -> float:
    """Compute the median of finite numbers, several times faster than numpy's own.

    The numbers change their places.
    """
    half = len(values) // 2
    values.partition(half)
    upper = float(values[half])
    return upper if len(values) % 2 else (float(values[:half].max()) + upper) / 2
