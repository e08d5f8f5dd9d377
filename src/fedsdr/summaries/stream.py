"""Rows that are read anew for every pass, and never held all at once."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.exceptions import InputError

Reader = Callable[[], Iterable[tuple[Matrix, NDArray[Any]]]]


@dataclass(frozen=True, slots=True, eq=False)
class _Scan:
    """What the first pass finds out."""

    y: NDArray[Any]
    mean: Matrix
    largest: Matrix


@dataclass(slots=True, eq=False)
class Stream:
    """Rows of one site, batch by batch.

    Parameters
    ----------
    read : callable without parameters
        Gives the batches from the first on, as tuples of X, an ndarray of shape
        (n_batch, n_features), and y, an ndarray of shape (n_batch,); the same ones in
        every call.

    Notes
    -----
    The responses are kept, and two numbers for each batch. The second of these is a
    checksum: a database may be written to between two passes, and sums of rows from
    before and after would belong to no data set. It guards against chance, not against
    whoever writes to the site's own database.
    """

    read: Reader
    _gaps: tuple[Sequence[int], Matrix] | None = field(default=None, init=False)
    _prints: list[tuple[int, int]] | None = field(default=None, init=False)
    _scanned: _Scan | None = field(default=None, init=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._scan().y)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self._scan().mean)

    @property
    def y(self) -> NDArray[Any]:
        """Responses of all rows."""
        return self._scan().y

    @property
    def mean(self) -> Matrix:
        """Mean of every column, up to a rounding error of the size of the column."""
        return self._scan().mean

    @property
    def largest(self) -> Matrix:
        """Largest absolute value in each column; NaN where one is missing."""
        return self._scan().largest

    def fill(self, columns: Sequence[int], values: Matrix) -> None:
        """Fill gaps from now on, in place of what they were filled with before.

        Parameters
        ----------
        columns : sequence of int
            Places of the columns.
        values : ndarray of shape (n_columns,)
            What to fill in.
        """
        self._gaps = (columns, np.asarray(values, dtype=np.float64))
        self._scanned = None

    def totals(self, columns: Sequence[int]) -> Matrix:
        """Count and add the values that are there, whatever gaps are filled with.

        Parameters
        ----------
        columns : sequence of int
            Places of the columns.

        Returns
        -------
        ndarray of shape (2 * n_columns,)
            Numbers of values, then their sums.
        """
        found = np.zeros((2, len(columns)))
        for X, _ in self._batches():
            chosen = X[:, columns]
            there = ~np.isnan(chosen)
            found += [there.sum(axis=0), np.where(there, chosen, 0.0).sum(axis=0)]
        return found.ravel()

    def centred(self) -> Iterator[tuple[slice, Matrix]]:
        """Go through the rows once, less the mean of all.

        Yields
        ------
        place : slice
            Which rows a batch has.
        rows : ndarray of shape (n_batch, n_features)
            The batch, for the caller to write to.
        """
        mean, start = self.mean, 0
        if not np.isfinite(self.largest).all():
            raise InputError(
                "X has values that are missing or not finite: leave those rows out or "
                "fill them in"
            )
        for X, _ in self._filled():
            stop = start + len(X)
            yield slice(start, stop), X - mean
            start = stop

    def rows(self) -> Iterator[Matrix]:
        """Go through the rows once, as they are.

        Yields
        ------
        ndarray of shape (n_batch, n_features)
            With gaps filled.
        """
        for X, _ in self._filled():
            yield X

    def _scan(self) -> _Scan:
        if self._scanned is None:
            responses: list[NDArray[Any]] = []
            largest: Any = 0.0
            total: Any = 0.0
            for X, y in self._filled():
                responses.append(y)
                with np.errstate(invalid="ignore", over="ignore"):
                    total = total + X.sum(axis=0)
                extremes = np.maximum(X.max(axis=0), -X.min(axis=0))
                largest = np.maximum(largest, extremes)
            if not responses:
                raise InputError("there are no rows: there is nothing to sum")
            y = np.concatenate(responses)
            self._scanned = _Scan(y, total / len(y), largest)
        return self._scanned

    def _filled(self) -> Iterator[tuple[Matrix, NDArray[Any]]]:
        for X, y in self._batches():
            if self._gaps is not None:
                columns, values = self._gaps
                X = X.copy()
                X[:, columns] = np.where(np.isnan(X[:, columns]), values, X[:, columns])
            yield X, y

    def _batches(self) -> Iterator[tuple[Matrix, NDArray[Any]]]:
        """Read the rows, and stop if they are not those of the first time."""
        prints: list[tuple[int, int]] = []
        for X, y in self.read():
            if len(X) == 0:
                continue
            prints.append((len(X), _checksum(X, y)))
            if self._prints is not None and (
                len(prints) > len(self._prints)
                or prints[-1] != self._prints[len(prints) - 1]
            ):
                raise InputError(_CHANGED)
            yield X, y
        if self._prints is not None and len(prints) < len(self._prints):
            raise InputError(_CHANGED)
        self._prints = prints


_CHANGED = (
    "the rows changed, or came in another order, while they were read: read from a "
    "copy that nobody writes to, and in a query name the order with ORDER BY"
)


def _checksum(X: Matrix, y: NDArray[Any]) -> int:
    responses = y.astype(str) if y.dtype.kind == "O" else y
    # Whichever way round the matrix lies in memory, without a copy.
    flat = X if X.flags.c_contiguous else X.T
    start = zlib.crc32(_bytes_of(responses))
    return zlib.crc32(_bytes_of(flat), start)


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return memoryview(np.ascontiguousarray(array).view(np.uint8))  # type: ignore[arg-type]
