"""Covariates and response of a source, as often as they are needed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.data.columns import check_response, kind_of, to_response
from fedsdr.data.source import BATCH_ROWS, Source
from fedsdr.data.table import read_rows
from fedsdr.exceptions import InputError


@dataclass(frozen=True, slots=True, eq=False)
class RowReader:
    """Function that reads the rows of a source anew in every call.

    Parameters
    ----------
    source : Source
        Where the rows are.
    columns : sequence of str
        Covariates: numbers or truth values.
    target : str
        Response: numbers, text, truth values or categories.
    size : int, default=65536
        Rows in a batch.

    Notes
    -----
    The rows are those of `read_rows`. Numbers in Parquet and Arrow files go straight to
    a matrix, without a data frame, and the response can be read alone, so that the sums
    of `fedsdr.rows.StreamedRows` need one pass instead of two.
    """

    source: Source
    columns: Sequence[str]
    target: str
    size: int = BATCH_ROWS

    @property
    def responses(self) -> Callable[[], Iterator[NDArray[Any]]] | None:
        """Function that reads the responses alone; None if that needs all columns."""
        return self._responses if hasattr(self.source, "number_batches") else None

    @property
    def version(self) -> Callable[[], object] | None:
        """Function that says whether files were written; None if that is not known."""
        return getattr(self.source, "version", None)

    @property
    def n_features(self) -> int:
        """Number of covariates."""
        return len(self.columns)

    def __call__(self) -> Iterator[tuple[Matrix, NDArray[Any]]]:
        """Read all rows, starting with the first one.

        Yields
        ------
        X : ndarray of shape (n_rows, n_features), float64
            Covariates of one batch; missing values as NaN.
        y : ndarray of shape (n_rows,)
            Its responses, see `to_response`.
        """
        columns = list(self.columns)
        batches = self._numbers(columns)
        if batches is None:
            yield from read_rows(self.source, columns, self.target, self.size)
            return
        for number, (X, response) in enumerate(batches):
            if number == 0 and kind_of(response) == "text":
                pieces = self.source.batches([self.target], self.size)
                check_response(self.target, (part[self.target] for part in pieces))
            yield X, self._response_of(response)

    def _responses(self) -> Iterator[NDArray[Any]]:
        # Without a data frame of one column, which takes longer to make than to read.
        batches = self._numbers([])
        assert batches is not None
        for _, response in batches:
            yield self._response_of(response)

    def _numbers(self, columns: Sequence[str]) -> Iterator[tuple[Matrix, Any]] | None:
        """Read columns as a matrix, where the source can do so."""
        read = getattr(self.source, "number_batches", None)
        return None if read is None else read(columns, self.target, self.size)

    def _response_of(self, column: Any) -> NDArray[Any]:
        try:
            return to_response(column)
        except InputError as error:
            raise InputError(f"the target '{self.target}' {error}") from None
