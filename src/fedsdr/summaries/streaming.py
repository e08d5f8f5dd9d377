"""Summaries of rows that are never held in memory all at once.

The sums are those of `summarize` up to rounding, but computed from batches. Several
parts of the rows, such as folds, are summed in the same pass.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.summaries.blocked import (
    CentredSums,
    first_mean,
    near_means,
    sum_rows,
)
from fedsdr.summaries.groups import GroupJob, between_groups, within_groups
from fedsdr.summaries.kernels import gram, pair_squares
from fedsdr.summaries.rank_functions import (
    CHUNK,
    ResponseFunctions,
    plain_response,
)
from fedsdr.summaries.row_functions import RowFunctions
from fedsdr.summaries.slicing import Weights
from fedsdr.summaries.stream import Stream, require_finite
from fedsdr.summaries.summary import Summary

#: Bytes of memory that group means may take.
MEMORY = 1 << 28


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of the rows.

    Parameters
    ----------
    weights : Weights
        Weights of the rows of the part in the kernel.
    kept : ndarray of bool, shape (n_rows,), optional
        Mask of the rows of the part; all rows if not given.
    """

    weights: Weights
    kept: Mask | None = None


@dataclass(slots=True, eq=False)
class RowMoments:
    r"""Number, mean and scatter of rows, which can be merged with those of others.

    Parameters
    ----------
    n_features : int
        Number of columns.

    Notes
    -----
    .. math:: S_{A \cup B} = S_A + S_B + \frac{n_A n_B}{n_A + n_B}
              (\bar x_A - \bar x_B)(\bar x_A - \bar x_B)^\top

    (Chan, Golub and LeVeque 1983). Only positive semidefinite matrices are added, so
    that no digits cancel.
    """

    n_features: int
    n_rows: int = field(default=0, init=False)
    mean: Matrix = field(init=False)
    scatter: Matrix = field(init=False)

    def __post_init__(self) -> None:
        self.mean = np.zeros(self.n_features)
        self.scatter = np.zeros((self.n_features, self.n_features))

    def add(
        self, rows: Matrix, origin: Vector, functions: Sequence[RowFunctions] = ()
    ) -> tuple[Vector, CentredSums]:
        """Add rows.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            Rows to add, at least one.
        origin : ndarray of shape (n_features,)
            Row that the mean is measured from, the same in every call.
        functions : sequence of RowFunctions, default=()
            Functions whose products with the rows are summed, too.

        Returns
        -------
        mean : ndarray of shape (n_features,)
            Row that these rows were centred on, minus the origin.
        sums : CentredSums
            Sums of the rows about that row, and with the functions.
        """
        centre = near_means(rows)
        sums = reduce(add, sum_rows(rows, centre, functions))
        # The difference of two numbers of one size has no rounding error to speak of.
        step = centre - origin
        self._merge(len(rows), step + sums.rest, sums.scatter)
        return step, sums

    def merge(self, other: "RowMoments") -> None:
        """Add the rows of other moments.

        Parameters
        ----------
        other : RowMoments
            Moments of other rows.
        """
        if other.n_rows:
            self._merge(other.n_rows, other.mean, other.scatter)

    def _merge(self, n_rows: int, mean: Matrix, scatter: Matrix) -> None:
        total = self.n_rows + n_rows
        step = mean - self.mean
        self.scatter += scatter
        if self.n_rows:
            scaled = np.sqrt(self.n_rows * (n_rows / total)) * step
            self.scatter += np.outer(scaled, scaled)
        self.mean = self.mean + step * (n_rows / total)
        self.n_rows = total


class _Smooth:
    """Products of smooth functions, and of y itself, with the rows of a part."""

    #: Whether most values are zero, see `RowFunctions`.
    sparse = False

    def __init__(
        self, ranks: NDArray[np.integer], y: NDArray[Any], n_features: int
    ) -> None:
        self._functions = ResponseFunctions(ranks, plain_response(y), CHUNK)
        self._seen = 0
        self._kept: Mask | None = None
        self._product = np.zeros((self.n_functions, n_features))
        self._totals = np.zeros(self.n_functions)

    @property
    def n_functions(self) -> int:
        """The polynomials, and the response as the last one."""
        return self._functions.n_functions

    def begin(self, kept: Mask | None) -> None:
        """Begin a batch, of which some rows belong to the part."""
        self._kept = kept

    def at(self, place: slice, out: Matrix | None = None) -> tuple[slice, Matrix]:
        """Evaluate in a block of the batch; in rows of other parts they are zero."""
        if self._kept is None:
            own = slice(self._seen + place.start, self._seen + place.stop)
            return self._functions.at(own, out)
        kept = self._kept[place]
        start = self._seen + int(self._kept[: place.start].sum())
        values = np.zeros((self.n_functions, len(kept)))
        own = slice(start, start + int(kept.sum()))
        values[:, kept] = self._functions.at(own)[1]
        return slice(None), values

    def values(self, place: slice, kept: Mask | None) -> Matrix:
        """Evaluate in some of all rows; in rows of other parts they are zero."""
        if kept is None:
            return self._functions.at(place)[1]
        start = int(kept[: place.start].sum())
        own = kept[place]
        values = np.zeros((self.n_functions, len(own)))
        values[:, own] = self._functions.at(slice(start, start + int(own.sum())))[1]
        return values

    def finish(self, n_rows: int, mean: Vector, sums: Matrix, levels: Vector) -> None:
        """Finish a batch: add its sums, of rows about a mean, and of the values."""
        self._product += sums + np.outer(levels, mean)
        self._totals += levels
        self._seen += n_rows if self._kept is None else int(self._kept.sum())

    def summary(self, moments: RowMoments, scatter: Matrix) -> Summary:
        """Return the summary, with rows centred on the mean of their part."""
        every = self._product - np.outer(self._totals, moments.mean)
        response = self._functions.response
        product, freedom = every[:-1], self._functions.polynomials.freedom
        return Summary(
            moments.n_rows,
            scatter,
            gram(product),
            freedom=freedom[0],
            freedom_squared=freedom[1],
            linear=np.sqrt(moments.n_rows) * product.T,
            products=every[-1],
            response_square=float(response @ response),
        )


#: Kernels of polynomials, each with the mask of the rows of its part.
Kernels = Sequence[tuple[Mask | None, _Smooth]]


def add_batches(
    stream: Stream,
    cell: NDArray[np.int32],
    moments: Sequence[RowMoments],
    kernels: Kernels,
) -> None:
    """Read the rows once, and add them to the moments of their cells.

    Parameters
    ----------
    stream : Stream
        Rows of the site.
    cell : ndarray of int, shape (n_rows,)
        Cell of each row.
    moments : sequence of RowMoments
        Moments of each cell.
    kernels : sequence of tuple
        Kernels of polynomials, which are added to as well, with the masks of their
        rows.
    """
    origin: Vector | None = None
    functions = [kernel for _, kernel in kernels]
    for place, rows in stream.unchecked():
        origin = first_mean(rows) if origin is None else origin
        for kept, kernel in kernels:
            kernel.begin(None if kept is None else kept[place])
        with np.errstate(invalid="ignore"):
            mean, sums = add_to_cells(moments, cell[place], rows, origin, functions)
        for one in moments:
            require_finite(one.mean)
        for kernel, *own in zip(functions, sums.products, sums.levels, strict=True):
            kernel.finish(len(rows), mean, *own)


def summarize_parts(
    stream: Stream,
    parts: Sequence[Part],
    *,
    memory: int = MEMORY,
    add_rows: Callable[..., None] = add_batches,
) -> list[Summary]:
    """Summarise parts of the rows, all in the same pass.

    Parameters
    ----------
    stream : Stream
        Rows of the site.
    parts : sequence of Part
        Parts of the rows; they may overlap.
    memory : int, default=2**28
        Bytes of memory that means of groups may take. Kernels "slices" and "pairs" need
        one mean per slice or tie; if these need more memory, the rows are read again.
    add_rows : callable, default=add_batches
        Function that adds all rows to moments and kernels, where they are.

    Returns
    -------
    list of Summary
        Result of `summarize` for each part, up to rounding.

    Notes
    -----
    Rows that belong to the same parts form a cell. The scatter is computed for each
    cell, and merged for each part: five folds, each left out and each alone, need only
    as many products as all rows once.
    """
    masks = [part.kept for part in parts if part.kept is not None]
    cell = _cells(masks, stream.n_rows)
    n_features = stream.n_features
    moments = [RowMoments(n_features) for _ in range(int(cell.max()) + 1)]
    smooth = {
        number: _Smooth(part.weights.ranks, _responses(stream, part), n_features)
        for number, part in enumerate(parts)
        if part.weights.form == "functions"
    }
    add_rows(stream, cell, moments, [(parts[k].kept, one) for k, one in smooth.items()])
    merged = [_union(moments, part, cell) for part in parts]
    # Symmetric to the last bit, like the result of `gram`.
    scatters = [(one.scatter + one.scatter.T) / 2 for one in merged]
    jobs = {
        number: GroupJob(part.weights, part.kept, merged[number].mean)
        for number, part in enumerate(parts)
        if part.weights.form in ("groups", "pairs")
    }
    sums = _group_sums(stream, jobs, memory)
    found = []
    for number, (own, scatter) in enumerate(zip(merged, scatters, strict=True)):
        form, n_rows = parts[number].weights.form, own.n_rows
        if form == "functions":
            found.append(smooth[number].summary(own, scatter))
        elif form == "groups":
            freedom = float(parts[number].weights.ranks.max())
            found.append(Summary(n_rows, scatter, sums[number], 1, freedom, freedom))
        elif form == "pairs":
            between = scatter - sums[number]
            weights = parts[number].weights
            sizes = np.bincount(weights.ranks)
            squares = pair_squares(sizes, ordered=weights.ordered)
            found.append(Summary(n_rows, scatter, between, freedom_squared=squares))
        else:
            found.append(Summary(n_rows, scatter, np.zeros_like(scatter)))
    means = [stream.origin + own.mean for own in merged]
    return [one.without_rounding(mean) for one, mean in zip(found, means, strict=True)]


def add_to_cells(
    moments: Sequence[RowMoments],
    cell: NDArray[np.int32],
    rows: Matrix,
    origin: Vector,
    functions: Sequence[RowFunctions],
) -> tuple[Vector, CentredSums]:
    """Add a batch to the moments of its cells.

    Parameters
    ----------
    moments : sequence of RowMoments
        Moments of each cell.
    cell : ndarray of int, shape (n_rows,)
        Cell of each row.
    rows : ndarray of shape (n_rows, n_features)
        Rows of the batch.
    origin : ndarray of shape (n_features,)
        Row that means are measured from.
    functions : sequence of RowFunctions
        Functions whose products with the rows are summed, too.

    Returns
    -------
    mean : ndarray of shape (n_features,)
        Row that the rows were centred on, minus the origin.
    sums : CentredSums
        Sums of the rows about that row with the functions.
    """
    if len(moments) == 1:
        return moments[0].add(rows, origin, functions)
    for number, own in enumerate(moments):
        inside = cell == number
        if inside.any():
            own.add(rows[inside], origin)
    centre = near_means(rows)
    parts = sum_rows(rows, centre, functions, squares=False)
    return centre - origin, reduce(add, parts)


def _responses(stream: Stream, part: Part) -> NDArray[Any]:
    return stream.y if part.kept is None else stream.y[part.kept]


def _group_sums(
    stream: Stream, jobs: dict[int, GroupJob], memory: int
) -> dict[int, Matrix]:
    capacity = max(1, memory // (8 * stream.n_features))
    groups = {n: job for n, job in jobs.items() if job.weights.form == "groups"}
    pairs = {n: job for n, job in jobs.items() if job.weights.form == "pairs"}
    return {
        **between_groups(stream, groups, capacity),
        **within_groups(stream, pairs, capacity),
    }


def _cells(masks: Sequence[Mask], n_rows: int) -> NDArray[np.int32]:
    """Return the cell of each row: rows of a cell belong to the same parts."""
    if not masks:
        # Without memory of its own.
        return np.broadcast_to(np.int32(0), n_rows)
    cell = np.zeros(n_rows, dtype=np.int32)
    for mask in masks:
        code = 2 * cell + mask
        used = np.bincount(code) > 0
        cell = (np.cumsum(used, dtype=np.int32) - 1)[code]
    return cell


def _union(
    moments: Sequence[RowMoments], part: Part, cell: NDArray[np.int32]
) -> RowMoments:
    chosen = np.ones(len(moments), dtype=bool)
    if part.kept is not None:
        # All rows of a cell belong to the part.
        chosen[:] = False
        chosen[np.unique(cell[part.kept])] = True
    own = [one for one, inside in zip(moments, chosen, strict=True) if inside]
    if len(own) == 1:
        return own[0]
    union = RowMoments(moments[0].n_features)
    for one in own:
        union.merge(one)
    return union


def reduce_rows(stream: Stream, bases: Sequence[Matrix]) -> list[Matrix]:
    """Compute the reduced variables of all rows, for several bases in one pass.

    Parameters
    ----------
    stream : Stream
        Rows of the site.
    bases : sequence of ndarray of shape (n_features, K)
        At least one basis.

    Returns
    -------
    list of ndarray of shape (n_rows, K)
        Reduced variables of the centred rows, for each basis.
    """
    together = np.hstack(bases)
    reduced = np.empty((stream.n_rows, together.shape[1]))
    for place, rows in stream.centred():
        reduced[place] = rows @ together
    reduced -= reduced.mean(axis=0)
    ends = np.cumsum([basis.shape[1] for basis in bases])
    return np.split(reduced, ends[:-1], axis=1)
