"""From a file to a data frame, whatever is in it."""

import warnings
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fedsdr.data.endings import PARQUET, SEPARATORS
from fedsdr.exceptions import InputError


def read_frame(path: Path, *, as_text: str | None = None) -> pd.DataFrame:
    """Read a CSV or Parquet file.

    Parameters
    ----------
    path : Path
        File whose name ends in .csv, .tsv (either with .gz), .parquet or .pq.
    as_text : str or None, default=None
        Column that is text even if it looks like numbers, so that the labels "01"
        and "1" stay apart.

    Returns
    -------
    DataFrame
        All columns, with the names that they have in the file; a name may come
        twice, and a column without a name is called "".

    Raises
    ------
    InputError
        When the file is missing, empty, damaged or of another kind. The message
        never shows a value.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.is_dir():
        raise InputError(f"{path} is a folder: name one file in it")
    name = path.name.lower()
    try:
        if name.endswith(PARQUET):
            return _read_parquet(path)
        for suffix, separator in SEPARATORS.items():
            if name.endswith(suffix):
                return _read_text(path, separator, as_text)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"{path} cannot be read: {reason}") from error
    known = ", ".join([*SEPARATORS, *PARQUET])
    raise InputError(f"{path} is of an unknown kind: its name should end in {known}")


def _read_text(path: Path, separator: str, as_text: str | None) -> pd.DataFrame:
    try:
        # pandas renames what comes twice or has no name, so look for ourselves.
        header = pd.read_csv(
            path, sep=separator, header=None, nrows=1, dtype=str, keep_default_na=False
        ).iloc[0]
        names = [str(name).strip() for name in header]
        text = {raw: str for raw in header if str(raw).strip() == as_text}
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # Without index_col=False, rows with a field too many would move the
            # first column into the index, and every name one column on.
            frame = pd.read_csv(
                path, sep=separator, index_col=False, dtype=text, low_memory=False
            )
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: save it as UTF-8") from error
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise InputError(
            f"{path} has rows with more fields than column names, or a quote that is "
            "never closed: check the separator and the quotes"
        ) from error
    frame.columns = pd.Index(names)
    return frame


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid as error:
        raise InputError(f"{path} is not a Parquet file, or is damaged") from error
    # An index that pandas stored without a name is row numbers, like the nameless
    # first column that it writes to CSV.
    stored = table.column_names
    names = ["" if name.startswith("__index_level_") else name for name in stored]
    # Without the metadata, a named index stays the column that the file shows.
    frame = table.to_pandas(ignore_metadata=True)
    frame.columns = pd.Index(names)
    return frame
