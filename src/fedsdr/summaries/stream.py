"""Rows that are read again for every pass, and never held in memory all at once."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.exceptions import InputError
from fedsdr.normal_scores import NormalScores, same_scores
from fedsdr.summaries.column_spread import (
    ColumnSpread,
    Powers,
    rescale,
    same_powers,
)

Reader = Callable[[], Iterable[tuple[Matrix, NDArray[Any]]]]


@dataclass(frozen=True, slots=True, eq=False)
class _Scan:
    """Values that the first pass computes."""

    y: NDArray[Any]
    mean: Matrix
    largest: Matrix


@dataclass(slots=True, eq=False)
class Stream:
    """Rows of one site, batch by batch.

    Parameters
    ----------
    read : callable without parameters
        Function that returns all batches, starting with the first one, as tuples of X,
        an ndarray of shape (n_batch, n_features), and y, an ndarray of shape
        (n_batch,). Every call must return the same batches.

    Notes
    -----
    The responses are kept in memory, and two numbers per batch. The second number is a
    checksum: if a database is written to between two passes, the sums would mix rows of
    two data sets. The checksum detects accidental changes, not those by an attacker who
    can write to the site's database.
    """

    read: Reader
    _powers: Powers | None = field(default=None, init=False)
    _spread: ColumnSpread | None = field(default=None, init=False)
    _gaps: tuple[Sequence[int], Matrix] | None = field(default=None, init=False)
    _scores: NormalScores | None = field(default=None, init=False)
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

    @property
    def measured(self) -> ColumnSpread:
        """Spread of the columns as they are read, whatever has been set since."""
        self._scan()
        assert self._spread is not None
        return self._spread

    def rescale(self, powers: Powers | None) -> None:
        """Set the powers of two that columns are divided by, before all else.

        Parameters
        ----------
        powers : ndarray of int, shape (n_features,), or None
            Powers; None for the columns as they are read.
        """
        if not same_powers(powers, self._powers):
            # The first pass measures the columns.
            self._scan()
            self._powers, self._scanned = powers, None

    def fill(self, columns: Sequence[int], values: Matrix) -> None:
        """Set the values that are filled into gaps; they replace earlier ones.

        Parameters
        ----------
        columns : sequence of int
            Indices of the columns.
        values : ndarray of shape (n_columns,)
            Value for the gaps of each column.
        """
        self._gaps = (columns, np.asarray(values, dtype=np.float64))
        self._scanned = None

    @property
    def fills(self) -> bool:
        """Whether gaps are filled."""
        return self._gaps is not None

    def score(self, scores: NormalScores | None) -> None:
        """Set the scores that columns are replaced by, once gaps have been filled.

        Parameters
        ----------
        scores : NormalScores or None
            Map of each column; None for the columns themselves.
        """
        if not same_scores(scores, self._scores):
            self._scores, self._scanned = scores, None

    def held(self) -> Iterator[Matrix]:
        """Read the rows once as they are.

        Yields
        ------
        ndarray of shape (n_batch, n_features)
            Rows of a batch, rescaled, before gaps are filled and columns are scored.
        """
        for X, _ in self._rescaled():
            yield X

    def totals(self, columns: Sequence[int]) -> Matrix:
        """Count and add the values that are not missing; filled gaps do not count.

        Parameters
        ----------
        columns : sequence of int
            Indices of the columns.

        Returns
        -------
        ndarray of shape (2 * n_columns,)
            Number of values of each column, then their sums.
        """
        found = np.zeros((2, len(columns)))
        for X, _ in self._rescaled():
            chosen = X[:, columns]
            there = ~np.isnan(chosen)
            found += [there.sum(axis=0), np.where(there, chosen, 0.0).sum(axis=0)]
        return found.ravel()

    def centred(self) -> Iterator[tuple[slice, Matrix]]:
        """Read the rows once, minus the mean of all rows.

        Yields
        ------
        place : slice
            Row numbers of the batch.
        rows : ndarray of shape (n_batch, n_features)
            Centred rows of the batch; the caller may overwrite them.
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
        """Read the rows once, without centring them.

        Yields
        ------
        ndarray of shape (n_batch, n_features)
            Rows of a batch, with gaps filled and columns scored.
        """
        for X, _ in self._filled():
            yield X

    def _scan(self) -> _Scan:
        if self._scanned is None:
            responses: list[NDArray[Any]] = []
            largest: Any = 0.0
            total: Any = 0.0
            for X, y in self._filled():
                # A view of one column would keep all columns of its batch in memory.
                responses.append(y.copy())
                with np.errstate(invalid="ignore", over="ignore"):
                    total = total + X.sum(axis=0)
                extremes = np.maximum(X.max(axis=0), -X.min(axis=0))
                largest = np.maximum(largest, extremes)
            if not responses:
                raise InputError("there are no rows to sum")
            y = np.concatenate(responses)
            self._scanned = _Scan(y, total / len(y), largest)
        return self._scanned

    def _rescaled(self) -> Iterator[tuple[Matrix, NDArray[Any]]]:
        known, found = self._spread, None
        for X, y in self._batches():
            if known is None:
                found = found or ColumnSpread(X.shape[1])
                found.add(X)
            if known is None or self._powers is None:
                yield X, y
            else:
                yield rescale(X, self._powers, known), y
        # Only if all rows have been read.
        self._spread = known or found

    def _filled(self) -> Iterator[tuple[Matrix, NDArray[Any]]]:
        for X, y in self._rescaled():
            if self._gaps is not None:
                columns, values = self._gaps
                X = X.copy()
                X[:, columns] = np.where(np.isnan(X[:, columns]), values, X[:, columns])
            if self._scores is not None:
                X = self._scores.apply(X)
            yield X, y

    def _batches(self) -> Iterator[tuple[Matrix, NDArray[Any]]]:
        """Read the rows, and raise an error if they changed since the first pass."""
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
    # No copy, for matrices in row order and in column order.
    flat = X if X.flags.c_contiguous else X.T
    start = zlib.crc32(_bytes_of(responses))
    return zlib.crc32(_bytes_of(flat), start)


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return memoryview(np.ascontiguousarray(array).view(np.uint8))  # type: ignore[arg-type]
