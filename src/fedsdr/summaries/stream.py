"""Rows that are read again for every pass, and never held in memory all at once."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.exceptions import InputError
from fedsdr.normal_scores import NormalScores, same_scores
from fedsdr.summaries.blocked import first_mean, in_lanes
from fedsdr.summaries.column_spread import (
    ColumnSpread,
    Powers,
    rescale,
    same_powers,
)
from fedsdr.summaries.dense_blocks import largest_values
from fedsdr.summaries.reading_ahead import read_ahead

Reader = Callable[[], Iterable[tuple[Matrix, NDArray[Any]]]]
Responses = Callable[[], Iterable[NDArray[Any]]]


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """Values that the first pass computes.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Responses.
    origin : ndarray of shape (n_features,)
        Row near the mean.
    largest : ndarray of shape (n_features,) or None
        Largest absolute value in each column; None if nobody has asked for it.
    """

    y: NDArray[Any]
    origin: Matrix
    largest: Matrix | None


@dataclass(slots=True, eq=False)
class Stream:
    """Rows of one site, batch by batch.

    Parameters
    ----------
    read : callable without parameters
        Function that returns all batches, starting with the first one, as tuples of X,
        an ndarray of shape (n_batch, n_features), and y, an ndarray of shape
        (n_batch,). Every call must return the same batches.
    responses : callable without parameters, optional
        Function that returns the responses of all batches alone. Where a source can
        read one column without the others, the first sums need one pass over the rows
        instead of two.
    ahead : bool, default=False
        Whether to read the next batch while sums of this one are formed, if there are
        two threads; one more batch is then held.
    version : callable without parameters, optional
        Function whose value changes whenever the rows do, such as the time at which a
        file was last written to.
    width : int, optional
        Number of columns, if it is known before a row is read.

    Notes
    -----
    The responses are kept in memory, and two numbers per batch. The second number is a
    checksum: if a database is written to between two passes, the sums would mix rows of
    two data sets. With `version`, that is compared instead, before and after every
    pass, since a checksum takes a tenth of the time of all sums. Both detect accidental
    changes, not those by an attacker who can write to the site's data.
    """

    read: Reader
    responses: Responses | None = None
    ahead: bool = False
    version: Callable[[], object] | None = None
    width: int | None = None
    _powers: Powers | None = field(default=None, init=False)
    _spread: ColumnSpread | None = field(default=None, init=False)
    _measuring: bool = field(default=False, init=False)
    _gaps: tuple[Sequence[int], Matrix] | None = field(default=None, init=False)
    _scores: NormalScores | None = field(default=None, init=False)
    _prints: list[tuple[int, int]] | None = field(default=None, init=False)
    _version: object = field(default=None, init=False)
    _scanned: Scan | None = field(default=None, init=False)
    _ahead: NDArray[Any] | None = field(default=None, init=False)
    _reached: Matrix = field(default_factory=lambda: np.zeros(1), init=False)

    def __post_init__(self) -> None:
        if self.version is not None:
            self._version = self.version()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        if self._scanned is not None:
            return len(self._scanned.origin)
        if self.width is not None:
            return self.width
        for X, _ in self.read():
            return X.shape[1]
        raise InputError(_NO_ROWS)

    @property
    def y(self) -> NDArray[Any]:
        """Responses of all rows."""
        if self._scanned is not None or self.responses is None:
            return self._scan().y
        if self._ahead is None:
            self._require_version()
            found = list(self.responses())
            if not found:
                raise InputError(_NO_ROWS)
            self._ahead = np.concatenate(found)
        return self._ahead

    @property
    def origin(self) -> Matrix:
        """Row near the mean, that of the first rows, that rows are read about."""
        return self._scan().origin

    @property
    def largest(self) -> Matrix:
        """Largest absolute value in each column; NaN where one is missing."""
        if self._scan().largest is None:
            self._scanned = None
        found = self._scan().largest
        assert found is not None
        return found

    @property
    def measured(self) -> ColumnSpread:
        """Spread of the columns as they are read, whatever has been set since."""
        if self._spread is None:
            # In the same pass as all else, which is repeated if it was made before.
            self._measuring, self._scanned = True, None
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
            assert self.measured is not None
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
        """Read the rows once, minus the origin.

        Yields
        ------
        place : slice
            Row numbers of the batch.
        rows : ndarray of shape (n_batch, n_features)
            Rows of the batch about the origin; the caller may overwrite them.
        """
        origin = self.origin
        for place, X in self.finite():
            yield place, X - origin

    def finite(self) -> Iterator[tuple[slice, Matrix]]:
        """Read the rows once, and refuse values that are not finite.

        Yields
        ------
        place : slice
            Row numbers of the batch.
        rows : ndarray of shape (n_batch, n_features)
            Rows, with gaps filled and columns scored; they must not be overwritten.
        """
        for place, X in self._placed(look=True):
            # In the first pass, of the rows that have been read.
            require_finite(self._reached)
            yield place, X

    def unchecked(self) -> Iterator[tuple[slice, Matrix]]:
        """Read the rows once for sums, in which values that are not finite show.

        Yields
        ------
        place : slice
            Row numbers of the batch.
        rows : ndarray of shape (n_batch, n_features)
            As from `finite`; the caller has to refuse its sums by `require_finite`
            before it asks for more rows.
        """
        yield from self._placed(look=False)

    def _placed(self, *, look: bool) -> Iterator[tuple[slice, Matrix]]:
        start, known = 0, self._scanned is not None
        for X in self.rows() if known else self._first_pass(look=look):
            stop = start + len(X)
            yield slice(start, stop), X
            start = stop

    @property
    def is_plain(self) -> bool:
        """Whether rows are summed as they are read: not rescaled, filled or scored."""
        return self._powers is None and self._gaps is None and self._scores is None

    def require_finite(self) -> None:
        """Refuse values that are missing or not finite."""
        self._scan()
        require_finite(self._reached)

    def rows(self) -> Iterator[Matrix]:
        """Read the rows once, without centring them.

        Yields
        ------
        ndarray of shape (n_batch, n_features)
            Rows of a batch, with gaps filled and columns scored.
        """
        for X, _ in self._filled():
            yield X

    def _scan(self) -> Scan:
        if self._scanned is None:
            for _ in self._first_pass(look=True):
                pass
        assert self._scanned is not None
        return self._scanned

    def _first_pass(self, *, look: bool) -> Iterator[Matrix]:
        """Read the rows once, and keep what later passes need to know of them."""
        known, n_rows = self._ahead, 0
        responses: list[NDArray[Any]] = []
        origin: Matrix | None = None
        self._reached = np.zeros(1)
        for X, y in self._filled():
            n_rows += len(y)
            if known is None:
                # A view of one column would keep all columns of its batch in memory.
                responses.append(y.copy())
            elif not np.array_equal(y, known[n_rows - len(y) : n_rows]):
                raise InputError(_CHANGED)
            origin = first_mean(X) if origin is None else origin
            if look:
                own = list(in_lanes(X, partial(_largest_of, X)))
                self._reached = np.maximum(self._reached, np.max(own, axis=0))
            yield X
        if origin is None:
            raise InputError(_NO_ROWS)
        if known is not None and n_rows < len(known):
            raise InputError(_CHANGED)
        found = np.concatenate(responses) if known is None else known
        largest = self._reached if look else None
        self._scanned, self._ahead = Scan(found, origin, largest), None

    def _rescaled(self) -> Iterator[tuple[Matrix, NDArray[Any]]]:
        known, found = self._spread, None
        for X, y in self._batches():
            if known is None and self._measuring:
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
        self._require_version()
        read = read_ahead(self._printed) if self.ahead else self._printed()
        for X, y, own in read:
            prints.append(own)
            if self._prints is not None and (
                len(prints) > len(self._prints)
                or prints[-1] != self._prints[len(prints) - 1]
            ):
                raise InputError(_CHANGED)
            yield X, y
        if self._prints is not None and len(prints) < len(self._prints):
            raise InputError(_CHANGED)
        self._require_version()
        self._prints = prints

    def _require_version(self) -> None:
        """Raise an error if the source was written to since this stream was made."""
        if self.version is not None and self.version() != self._version:
            raise InputError(_CHANGED)

    def _printed(self) -> Iterator[tuple[Matrix, NDArray[Any], tuple[int, int]]]:
        for X, y in self.read():
            if len(X):
                known = self.version is not None
                yield X, y, (len(X), 0 if known else _checksum(X, y))


_NO_ROWS = "there are no rows to sum"

_CHANGED = (
    "the rows changed, or came in another order, while they were read: read from a "
    "copy that nobody writes to, and in a query name the order with ORDER BY"
)


def require_finite(values: Matrix) -> None:
    """Refuse rows whose sums, or largest values, are not finite.

    Parameters
    ----------
    values : ndarray of shape (n_features,)
        One number of each column, which a value that is not finite makes so.
    """
    if not np.isfinite(values).all():
        raise InputError(
            "X has values that are missing or not finite: leave those rows out "
            "or fill them in"
        )


def _largest_of(X: Matrix, blocks: Sequence[slice]) -> Matrix:
    return np.asarray(np.max([largest_values(X[own]) for own in blocks], axis=0))


def _checksum(X: Matrix, y: NDArray[Any]) -> int:
    responses = y.astype(str) if y.dtype.kind == "O" else y
    # No copy, for matrices in row order and in column order.
    flat = X if X.flags.c_contiguous else X.T
    start = zlib.crc32(_bytes_of(responses))
    return zlib.crc32(_bytes_of(flat), start)


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return memoryview(np.ascontiguousarray(array).view(np.uint8))  # type: ignore[arg-type]
