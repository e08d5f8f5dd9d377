"""The rows of a site with a Dask cluster: sums are formed where the rows are."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from dask.base import compute, is_dask_collection
from dask.delayed import delayed
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.data.columns import to_matrix, to_response
from fedsdr.exceptions import InputError
from fedsdr.overriding import override
from fedsdr.rows.own_sites import group_by_site
from fedsdr.rows.site_rows import Functions, no_functions, without_rounding
from fedsdr.rows.streamed_rows import StreamedRows
from fedsdr.summaries import Summary
from fedsdr.summaries.blocked import column_means
from fedsdr.summaries.column_spread import ColumnSpread
from fedsdr.summaries.dense_blocks import largest_values
from fedsdr.summaries.stream import Scan, Stream
from fedsdr.summaries.streaming import (
    Kernels,
    Part,
    RowMoments,
    add_to_cells,
    summarize_parts,
)

Block = tuple[Matrix, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class DaskReader:
    """Function that computes the partitions of a collection, one after the other.

    Parameters
    ----------
    blocks : sequence of dask.delayed.Delayed
        Partitions as tuples of X and y, none of them empty.
    sizes : sequence of int
        Number of rows of each.
    known : ndarray of shape (n_rows,)
        Responses of all rows.
    """

    blocks: Sequence[Any]
    sizes: Sequence[int]
    known: NDArray[Any]

    def __call__(self) -> Iterator[Block]:
        """Bring the rows here, a partition at a time.

        Yields
        ------
        tuple (X, y)
            Rows and responses of a partition.
        """
        for block in self.blocks:
            yield block.compute()

    def responses(self) -> Iterator[NDArray[Any]]:
        """Return the responses, which were brought here at the beginning.

        Yields
        ------
        ndarray of shape (n_rows,)
            All responses.
        """
        yield self.known

    @property
    def places(self) -> list[slice]:
        """Row numbers of each partition."""
        ends = np.cumsum(self.sizes).tolist()
        return [slice(end - n, end) for end, n in zip(ends, self.sizes, strict=True)]

    def map(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]] = ()
    ) -> tuple[Any, ...]:
        """Apply a function to the rows of every partition, where they are.

        Parameters
        ----------
        function : callable
            From X and further arguments to sums, which are brought here.
        arguments : sequence of tuple, default=()
            Further arguments for each partition.

        Returns
        -------
        tuple
            What it returned for each partition.
        """
        given = arguments or [()] * len(self.blocks)
        call = delayed(_on_rows, pure=False)
        tasks = [
            call(block, function, own)
            for block, own in zip(self.blocks, given, strict=True)
        ]
        return tuple(compute(*tasks))


@dataclass(slots=True, eq=False)
class DaskStream(Stream):
    """Rows of one site in partitions, measured where they are.

    Parameters
    ----------
    read : DaskReader
        Partitions of the site's rows.
    responses : callable without parameters, optional
        Function that returns the responses alone.
    ahead : bool, default=False
        Whether to read the next batch while sums of this one are formed.
    version : callable without parameters, optional
        Function whose value changes whenever the rows do.
    width : int, optional
        Number of columns, if it is known before a row is read.
    """

    def _scan(self) -> Scan:
        if self._scanned is None and self.is_plain:
            assert isinstance(self.read, DaskReader)
            found = self.read.map(_measure)
            spread = ColumnSpread(len(found[0][0]))
            for _, _, own in found:
                spread.merge(own)
            # A value that is missing makes the largest one so.
            self._reached = np.max([largest for _, largest, _ in found], axis=0)
            self._spread = spread
            self._scanned = Scan(self.read.known, found[0][0], self._reached)
        return Stream._scan(self)


@dataclass(slots=True, eq=False)
class DaskRows(StreamedRows):
    """Rows of one site in the partitions of a Dask collection.

    Parameters
    ----------
    read : DaskReader
        Partitions of the site's rows.
    generator : numpy.random.Generator
        Generator that splits the rows into folds.
    label : object, default=None
        Name of the site in local messages; None if there is only one site.
    columns : tuple of str, default=()
        Names of the columns; empty if they are not known.
    memory : int, default=2**28
        Bytes of memory that may be used in addition to a partition, the responses, and
        the sums.
    origin : ColumnOrigin or None, default=None
        Where the columns come from in the site's data; None if they are the data.

    Notes
    -----
    Means, variances and the sums of the smooth kernel over all pairs of columns are
    formed by the workers, and only sums come here; of rows of some columns, only these
    columns. Other sums (of many columns, of slices and pairs, with filled gaps or
    scores) bring the rows of one partition after the other here, never all of them.
    Responses, their ranks and folds are held here. Every pass computes the collection
    anew: persist it if that is expensive.
    """

    def _make_stream(self) -> Stream:
        return DaskStream(self.read, self.read.responses)  # type: ignore[attr-defined]

    def _sum(self, parts: Sequence[Part]) -> list[Summary]:
        if not self._stream.is_plain:
            return StreamedRows._sum(self, parts)
        return summarize_parts(
            self._stream, parts, memory=self.memory, add_rows=add_partitions
        )

    @override
    def batches(
        self,
        columns: NDArray[np.intp],
        scale: Vector,
        functions: Functions = no_functions,
    ) -> Iterator[tuple[Matrix, Matrix]]:
        if not self._stream.is_plain:
            yield from StreamedRows.batches(self, columns, scale, functions)
            return
        read, origin = self._reader, self._stream.origin[columns]
        rest = self._rest_of_mean()[columns]
        choose = delayed(_on_rows, pure=False)
        for block, place in zip(read.blocks, read.places, strict=True):
            rows = choose(block, _choose, (columns,)).compute()
            yield ((rows - origin) - rest) / scale, functions(place)

    @override
    def variances(self) -> Vector:
        if not self._stream.is_plain:
            return StreamedRows.variances(self)
        about = (self._stream.origin, self._rest_of_mean())
        read = self._reader
        total = sum(read.map(_squares, [about] * len(read.blocks)))
        return without_rounding(np.asarray(total) / self.n_rows, self._stream.largest)

    def check_values(self) -> None:
        """Refuse values that are missing or not finite."""
        self._stream.require_finite()

    def _sum_about_origin(self) -> Matrix:
        if not self._stream.is_plain:
            return StreamedRows._sum_about_origin(self)
        read, origin = self._reader, self._stream.origin
        return np.asarray(sum(read.map(_total, [(origin,)] * len(read.blocks))))

    @property
    def _reader(self) -> DaskReader:
        assert isinstance(self.read, DaskReader)
        return self.read


def add_partitions(
    stream: Stream,
    cell: NDArray[np.int32],
    moments: Sequence[RowMoments],
    kernels: Kernels,
) -> None:
    """Add all rows to moments and kernels, see `fedsdr.summaries.streaming`.

    Parameters
    ----------
    stream : Stream
        Rows in partitions.
    cell : ndarray of int, shape (n_rows,)
        Cell of each row.
    moments : sequence of RowMoments
        Moments of each cell.
    kernels : sequence of tuple
        Kernels of polynomials, with the masks of their rows.
    """
    read = stream.read
    assert isinstance(read, DaskReader)
    stream.require_finite()
    arguments = [
        (
            cell[place],
            len(moments),
            stream.origin,
            [kernel.values(place, kept) for kept, kernel in kernels],
        )
        for place in read.places
    ]
    found = read.map(_moments, arguments)
    for place, (own, mean, sums) in zip(read.places, found, strict=True):
        for total, part in zip(moments, own, strict=True):
            total.merge(part)
        for (kept, kernel), *pair in zip(kernels, *sums, strict=True):
            kernel.begin(None if kept is None else kept[place])
            kernel.finish(place.stop - place.start, mean, *pair)


def split_partitions(
    X: Any, y: Any, sites: Any, generator: np.random.Generator
) -> tuple[dict[str, DaskRows], NDArray[Any]]:
    """Group the rows of a Dask collection by site.

    Parameters
    ----------
    X : dask.dataframe.DataFrame or dask.array.Array of shape (n_rows, n_features)
        Rows of all sites.
    y : dask.dataframe.Series or dask.array.Array of shape (n_rows,)
        Responses, in the same partitions.
    sites : dask.dataframe.Series, dask.array.Array or None
        Labels of the sites, in the same partitions; None for one site.
    generator : numpy.random.Generator
        Generator from which every site gets its own generator.

    Returns
    -------
    dict of str to DaskRows
        Rows of each site by its name, in the order of the labels.
    ndarray of shape (n_rows,)
        All responses.
    """
    given = [X, y] if sites is None else [X, y, sites]
    parts = [_partitions(one) for one in given]
    if len({len(own) for own in parts}) > 1:
        raise InputError(
            "X, y and sites must be Dask collections with the same partitions: take "
            "them from one data frame"
        )
    blocks = [delayed(_block, pure=False)(*own) for own in zip(*parts, strict=True)]
    heads = compute(*[delayed(_head, pure=False)(one) for one in blocks])
    responses = np.concatenate([y for y, _ in heads])
    labels = None if sites is None else np.concatenate([s for _, s in heads])
    groups = group_by_site(labels, len(responses))
    seeds = generator.spawn(len(groups)) if len(groups) > 1 else [generator]
    found = {}
    for (label, rows), seed in zip(groups, seeds, strict=True):
        own = _reader_of(blocks, heads, None if len(groups) == 1 else label, rows)
        name = "only" if len(groups) == 1 else str(label)
        found[name] = DaskRows(own, seed, label)
        # Before any sum is asked for.
        found[name].check_values()
    return found, responses


def _reader_of(
    blocks: Sequence[Any],
    heads: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    label: Any,
    rows: NDArray[np.intp],
) -> DaskReader:
    """Return a reader of the rows of one site."""
    every = np.concatenate([y for y, _ in heads])
    kept = [
        np.ones(len(y), dtype=bool) if label is None else s == label for y, s in heads
    ]
    sizes = [int(own.sum()) for own in kept]
    choose = delayed(_of_site, pure=False)
    chosen = [
        choose(block, own)
        for block, own, n in zip(blocks, kept, sizes, strict=True)
        if n
    ]
    return DaskReader(chosen, [n for n in sizes if n], every[rows])


def _partitions(values: Any) -> list[Any]:
    """Return the partitions of a collection; those of an array have all columns."""
    if not is_dask_collection(values):
        raise InputError("y and sites must be Dask collections where X is one")
    if hasattr(values, "rechunk"):
        whole = values.rechunk({1: -1}) if values.ndim == 2 else values
        return list(np.ravel(whole.to_delayed()))
    return list(values.to_delayed())


def _block(X: Any, y: Any, sites: Any = None) -> tuple[Matrix, NDArray[Any], Any]:
    """Turn a partition into plain arrays, where it is."""
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    labels = None if sites is None else np.asarray(sites)
    response = to_response(y if isinstance(y, pd.Series) else pd.Series(np.asarray(y)))
    if len(frame) != len(response) or (
        labels is not None and len(labels) != len(frame)
    ):
        raise InputError("partitions of X, y and sites have different numbers of rows")
    return to_matrix(frame), response, labels


def _head(block: tuple[Matrix, NDArray[Any], Any]) -> tuple[NDArray[Any], Any]:
    return block[1], block[2]


def _of_site(block: tuple[Matrix, NDArray[Any], Any], kept: NDArray[np.bool_]) -> Block:
    return block[0][kept], block[1][kept]


def _on_rows(block: Block, function: Callable[..., Any], own: tuple[Any, ...]) -> Any:
    return function(block[0], *own)


def _measure(X: Matrix) -> tuple[Vector, Vector, ColumnSpread]:
    spread = ColumnSpread(X.shape[1])
    spread.add(X)
    return column_means(X), np.abs(largest_values(X)), spread


def _choose(X: Matrix, columns: NDArray[np.intp]) -> Matrix:
    return X[:, columns]


def _total(X: Matrix, origin: Vector) -> Vector:
    return np.asarray((X - origin).sum(axis=0))


def _squares(X: Matrix, origin: Vector, rest: Vector) -> Vector:
    return np.asarray((((X - origin) - rest) ** 2).sum(axis=0))


class _Values:
    """Functions of y whose values in the rows of a partition are known."""

    sparse = False

    def __init__(self, values: Matrix) -> None:
        self.values, self.n_functions = values, len(values)

    def at(self, place: slice, out: Matrix | None = None) -> tuple[slice, Matrix]:
        del out
        return slice(None), self.values[:, place]


def _moments(
    X: Matrix,
    cell: NDArray[np.int32],
    n_cells: int,
    origin: Vector,
    values: Sequence[Matrix],
) -> tuple[list[RowMoments], Vector, tuple[list[Matrix], list[Vector]]]:
    """Sum the rows of a partition, by cell, and with functions of y."""
    moments = [RowMoments(X.shape[1]) for _ in range(n_cells)]
    mean, sums = add_to_cells(
        moments, cell, X, origin, [_Values(own) for own in values]
    )
    return moments, mean, (sums.products, sums.levels)
