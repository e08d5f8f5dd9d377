"""CSV files as a source."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from fedsdr.data.columns import kind_of, odd_entries, to_floats
from fedsdr.data.number_text import read_written
from fedsdr.data.source import BATCH_ROWS, check_request, rebatch
from fedsdr.data.text_format import USUAL, TextFormat
from fedsdr.data.text_layout import TextLayout, misfit, read_layout
from fedsdr.exceptions import InputError

#: What stands for a missing value: what pandas takes for one, whatever its version.
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
    *("1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)

#: Every decimal number becomes the nearest float64; from 3.1 on, pandas always does.
_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
_PRECISION = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}


@dataclass(slots=True, eq=False)
class TextSource:
    """Rows in one CSV file, or in several with the same columns.

    Parameters
    ----------
    paths : tuple of Path
        Files whose names end in .csv or .tsv, either with .gz.
    text : frozenset of str, default=frozenset()
        Columns that are text even if they look like numbers.
    form : TextFormat, default=TextFormat()
        How the files are written.

    Notes
    -----
    A column is numbers if all of its entries are, whatever the first ones look like;
    so the columns that are used are read once before the first batch is given out,
    unless all rows fit into that batch.
    """

    paths: tuple[Path, ...]
    text: frozenset[str] = frozenset()
    form: TextFormat = USUAL
    _layouts: list[TextLayout] = field(default_factory=list, init=False)
    _kinds: dict[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        for path in self.paths:
            self._layouts.append(read_layout(path, self.form))
            if sorted(self._layouts[-1].names) != sorted(self.columns):
                raise InputError(
                    f"{path} has other columns than {self.paths[0]}: files that are "
                    "read together need the same ones"
                )
        for name in self.text:
            check_request(self.columns, [name], 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns; "" for one without a name."""
        return self._layouts[0].names

    @property
    def n_rows(self) -> int | None:
        """None: all rows would have to be read."""
        return None

    def batches(
        self, columns: Sequence[str], size: int = BATCH_ROWS
    ) -> Iterator[pd.DataFrame]:
        """Read some of the columns, see `Source`.

        Parameters
        ----------
        columns : sequence of str
            Names, each once.
        size : int, default=65536
            Rows in a batch.

        Yields
        ------
        DataFrame
            Numbers as float64, truth values as bool (as objects, if some of them are
            missing), anything else as text.
        """
        check_request(self.columns, columns, size)
        if not set(columns) <= set(self._kinds):
            whole = self._learn_kinds(columns, size)
            if whole is not None:
                yield from () if whole.empty else (self._convert(whole),)
                return
        text = [name for name in columns if self._kinds[name] == "text"]
        parts = (
            self._convert(frame)
            for layout in self._layouts
            for frame in _read_rows(layout, columns, text, size)
        )
        yield from rebatch(parts, size)

    def _learn_kinds(self, columns: Sequence[str], size: int) -> pd.DataFrame | None:
        """Look at all rows; give them back if they are one batch of one file."""
        found: dict[str, set[str]] = {name: set() for name in columns}
        n_batches, whole = 0, None
        text = [name for name in columns if name in self.text]
        for layout in self._layouts:
            layout.check()
            for frame in _read_rows(layout, columns, text, size):
                n_batches += 1
                whole = frame if n_batches == 1 else None
                for name in columns:
                    if frame[name].notna().any():
                        found[name].add(_kind_of_text(frame[name], self.form))
        for name, kinds in found.items():
            if name in self.text or len(kinds) > 1:
                self._kinds[name] = "text"
            else:
                self._kinds[name] = next(iter(kinds), "number")
        return whole if len(self.paths) == 1 else None

    def _convert(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Give every column the type of its kind, which some rows do not show."""
        columns = {}
        for name in frame.columns:
            column, kind = frame[name], self._kinds[name]
            if kind != "text" and not _is(kind, column, self.form):
                raise InputError(
                    f"{self.paths[0]} was changed while it was read: a column of "
                    "numbers has become text"
                )
            columns[name] = (
                column
                if kind != "number"
                else to_floats(_read_words(column, self.form))
            )
        return pd.DataFrame(columns, copy=False)


def _read_rows(
    layout: TextLayout, columns: Sequence[str], text: Sequence[str], size: int
) -> Iterator[pd.DataFrame]:
    """Parse columns; by position, since names may be blank or come twice."""
    places = {layout.names.index(name): name for name in columns}
    options: dict[str, Any] = {
        "sep": layout.separator,
        "header": None,
        "names": range(len(layout.names)),
        "usecols": list(places),
        "index_col": False,
        "dtype": {layout.names.index(name): str for name in text},
        "na_values": [*MISSING, *layout.form.na],
        "decimal": layout.form.decimal,
        "keep_default_na": False,
        "encoding": "utf-8",
        "low_memory": False,
        "chunksize": size,
        **_PRECISION,
    }
    with layout.rows() as file, warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            with pd.read_csv(file, **options) as reader:
                for frame in reader:
                    yield frame.rename(columns=places)[list(columns)]
        except pd.errors.EmptyDataError:
            return
        except (pd.errors.ParserError, pd.errors.ParserWarning):
            raise misfit(layout.path) from None


def _read_words(column: pd.Series, form: TextFormat) -> pd.Series:
    """Read numbers in the notation that was declared, which pandas leaves as text."""
    declared = form.thousands or form.percent or form.decimal != "."
    if not declared or kind_of(column) != "text":
        return column
    found = read_written(column, form)
    return column if found is None else pd.Series(found)


def _kind_of_text(column: pd.Series, form: TextFormat) -> str:
    """Tell what parsed text holds; pandas leaves very long whole numbers as text."""
    kind = kind_of(column)
    if kind == "text" and not odd_entries(column).any():
        return "number"
    return kind_of(_read_words(column, form))


def _is(kind: str, column: pd.Series, form: TextFormat) -> bool:
    return _kind_of_text(column, form) == kind or not column.notna().any()
