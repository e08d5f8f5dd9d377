"""From batches of a source to numbers, with everything that is wrong counted."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.data.names import enumerate_names
from fedsdr.data.source import BATCH_ROWS, Source
from fedsdr.exceptions import InputError

#: A number as it is written in a data file.
NUMBER = r"^\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity|nan)\s*$"


def read_rows(
    source: Source, columns: Sequence[str], target: str, size: int = BATCH_ROWS
) -> Iterator[tuple[Matrix, NDArray[Any]]]:
    """Read covariates and response, batch by batch.

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

    Yields
    ------
    X : ndarray of shape (n_rows, n_features), float64
        Covariates of one batch; missing values as NaN.
    y : ndarray of shape (n_rows,)
        Its responses, see `to_response`.

    Raises
    ------
    InputError
        Naming every column that is not numbers, with the number of entries that are
        not where these are few.
    """
    for batch in source.batches([*columns, target], size):
        try:
            yield to_matrix(batch.select(list(columns))), to_response(batch[target])
        except _NotNumbersError as found:
            raise InputError(_complaint(source, found.names)) from None
        except InputError as error:
            raise InputError(f"the target '{target}' {error}") from None


def to_matrix(batch: pa.RecordBatch) -> Matrix:
    """Turn a batch of numbers into a matrix.

    Parameters
    ----------
    batch : RecordBatch
        Numbers of any kind, decimals and truth values.

    Returns
    -------
    ndarray of shape (n_rows, n_columns), float64
        Missing values as NaN.
    """
    others = [
        name
        for name, kind in zip(batch.schema.names, batch.schema.types, strict=True)
        if not is_number(kind)
    ]
    if others:
        raise _NotNumbersError(others)
    # By column, as they come; products of such a matrix are as fast.
    matrix = np.empty((batch.num_rows, batch.num_columns), order="F")
    for place, array in enumerate(batch.columns):
        matrix[:, place] = _as_floats(array)
    return matrix


def to_response(array: pa.Array) -> NDArray[Any]:
    """Turn a column into a response.

    Parameters
    ----------
    array : Array
        Numbers, truth values, text or categories.

    Returns
    -------
    ndarray of shape (n_rows,)
        Numbers as float64, missing ones as NaN; truth values and text as they are;
        categories as text. Missing classes are an error.
    """
    if pa.types.is_dictionary(array.type):
        array = pc.cast(array.dictionary_decode(), pa.string())
    kind = array.type
    if is_number(kind) and not pa.types.is_boolean(kind):
        return _as_floats(array)
    if not (pa.types.is_boolean(kind) or is_text(kind)):
        raise InputError(
            "holds neither numbers nor classes: turn it into numbers or text"
        )
    if array.null_count:
        raise InputError("has missing values: drop these rows, or name a class")
    if pa.types.is_boolean(kind):
        return np.asarray(array.to_numpy(zero_copy_only=False), dtype=bool)
    return np.array(array.to_pylist(), dtype=str)


def is_number(kind: pa.DataType) -> bool:
    """Say whether a type holds numbers, truth values among them.

    Parameters
    ----------
    kind : DataType
        Of a column.

    Returns
    -------
    bool
        True also for a column that has only missing values.
    """
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
    )


def is_text(kind: pa.DataType) -> bool:
    """Say whether a type holds text.

    Parameters
    ----------
    kind : DataType
        Of a column.

    Returns
    -------
    bool
        Whatever the length of its offsets.
    """
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
    )


def _as_floats(array: pa.Array) -> Matrix:
    if array.type != pa.float64():
        # Whole numbers beyond 2**53 are rounded, as everywhere.
        array = pc.cast(array, pa.float64(), safe=False)
    if array.null_count:
        array = array.fill_null(np.nan)
    # Not by to_numpy, which imports pandas: a site's process does without.
    return np.asarray(np.from_dlpack(array), dtype=np.float64)


class _NotNumbersError(InputError):
    """Some columns of a batch are not numbers."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(
            f"not numbers: {enumerate_names(names)}. Encode them as numbers, or leave "
            "them out"
        )
        self.names = names


def _complaint(source: Source, names: list[str]) -> str:
    """Name columns; where most entries are numbers, count those that are not."""
    listed = [f"{name}{_nearly_numeric(source, name)}" for name in names]
    return (
        f"not numbers: {enumerate_names(listed)}. Encode them as numbers (for example "
        "one 0/1 column a category), or leave them out"
    )


def _nearly_numeric(source: Source, name: str) -> str:
    odd = present = 0
    for batch in source.batches([name]):
        array = batch.column(0)
        if not is_text(array.type):
            return ""
        present += len(array) - array.null_count
        fits = pc.match_substring_regex(array, NUMBER, ignore_case=True)
        odd += pc.sum(pc.invert(fits)).as_py() or 0
    return f" (in {odd} of {present} rows)" if 0 < odd < present / 2 else ""
