"""CSV files as a source."""

import csv
import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

from fedsdr.data.endings import SEPARATORS
from fedsdr.data.source import BATCH_ROWS, check_request, rebatch
from fedsdr.exceptions import InputError

Kind = Literal["number", "truth", "text"]

#: What stands for a missing value, as in `pandas.read_csv`.
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
    *("1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
# A pattern, since making an Arrow array imports pandas, which a site does without.
TRUTH = r"\A(true|false|True|False|TRUE|FALSE)\z"

# Bytes that are parsed at a time: a row has to fit, and there is no need for more.
BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class _Layout:
    """Of one file: names in the first line that is not blank, and what follows."""

    names: tuple[str, ...]
    separator: str
    skipped: int
    empty: bool


@dataclass(slots=True, eq=False)
class TextSource:
    """Rows in one CSV file, or in several with the same columns.

    Parameters
    ----------
    paths : tuple of Path
        Files whose names end in .csv or .tsv, either with .gz.
    text : frozenset of str, default=frozenset()
        Columns that are text even if they look like numbers.

    Notes
    -----
    A column is numbers if all of its entries are, whatever the first ones look like;
    so the columns that are used are read once before the first batch is given out.
    """

    paths: tuple[Path, ...]
    text: frozenset[str] = frozenset()
    _layouts: dict[Path, _Layout] = field(default_factory=dict, init=False)
    _kinds: dict[str, Kind] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        for path in self.paths:
            self._layouts[path] = _read_layout(path)
            if sorted(self._layouts[path].names) != sorted(self.columns):
                raise InputError(
                    f"{path} has other columns than {self.paths[0]}: files that are "
                    "read together need the same ones"
                )
        for name in self.text:
            check_request(self.columns, [name], 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns; "" for one without a name."""
        return self._layouts[self.paths[0]].names

    @property
    def n_rows(self) -> int | None:
        """None: nobody knows before all rows are read."""
        return None

    def batches(
        self, columns: Sequence[str], size: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Read some of the columns, see `Source`.

        Parameters
        ----------
        columns : sequence of str
            Names, each once.
        size : int, default=65536
            Rows in a batch.

        Yields
        ------
        RecordBatch
            Numbers as float64, truth values as bool, anything else as text.
        """
        check_request(self.columns, columns, size)
        unknown = [name for name in columns if name not in self._kinds]
        if unknown:
            self._learn_kinds(unknown)
        kinds = [self._kinds[name] for name in columns]
        for batch in rebatch(self._read(columns), size):
            try:
                arrays = [
                    _convert(array, kind)
                    for array, kind in zip(batch.columns, kinds, strict=True)
                ]
            except pa.ArrowInvalid:
                raise InputError(
                    f"{self.paths[0]} was changed while it was read: a column of "
                    "numbers has become text"
                ) from None
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _learn_kinds(self, columns: Sequence[str]) -> None:
        for path in self.paths:
            _check_quotes(path)
        possible: dict[str, set[Kind]] = {
            name: set() if name in self.text else {"number", "truth"}
            for name in columns
        }
        seen = dict.fromkeys(columns, False)
        for batch in self._read(columns):
            for name, array in zip(columns, batch.columns, strict=True):
                seen[name] = seen[name] or array.null_count < len(array)
                possible[name] -= {
                    kind for kind in possible[name] if not _all_are(array, kind)
                }
        for name in columns:
            if not seen[name]:
                self._kinds[name] = "text" if name in self.text else "number"
            else:
                self._kinds[name] = min(possible[name], default="text")

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for path in self.paths:
            yield from _read_text(path, self._layouts[path], columns)


def _read_text(
    path: Path, layout: _Layout, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Read columns as text; by position, since names may be blank or come twice."""
    if layout.empty:
        return
    places = [str(place) for place in range(len(layout.names))]
    wanted = [str(layout.names.index(name)) for name in columns]
    try:
        reader = pv.open_csv(
            str(path),
            read_options=pv.ReadOptions(
                column_names=places,
                skip_rows=layout.skipped,
                block_size=BLOCK,
                use_threads=False,
            ),
            parse_options=pv.ParseOptions(
                delimiter=layout.separator, newlines_in_values=True
            ),
            convert_options=pv.ConvertOptions(
                include_columns=wanted,
                column_types=dict.fromkeys(wanted, pa.string()),
                null_values=list(MISSING),
                strings_can_be_null=True,
            ),
        )
        for batch in reader:
            yield batch.rename_columns(list(columns))
    except pa.ArrowInvalid as error:
        raise InputError(_explain(path, str(error))) from None
    except OSError as error:
        raise _unreadable(path, error) from None


def _explain(path: Path, message: str) -> str:
    # Arrow quotes the row, so its own words stay here.
    if "UTF8" in message:
        return f"{path} is not UTF-8 text: save it as UTF-8"
    return (
        f"{path} has rows with more or fewer fields than column names, or a quote that "
        "is never closed: check the separator and the quotes"
    )


def _read_layout(path: Path) -> _Layout:
    name = path.name.lower()
    suffix = next((known for known in SEPARATORS if name.endswith(known)), None)
    if suffix is None:
        known = ", ".join(SEPARATORS)
        raise InputError(f"{path} is no CSV file: its name should end in {known}")
    if not path.exists():
        raise InputError(f"{path} does not exist")
    try:
        with _open(path) as file:
            lines = (line.decode("utf-8-sig") for line in file)
            reader = csv.reader(lines, delimiter=SEPARATORS[suffix])
            header = next((row for row in reader if row), None)
            empty = not any(line.strip() for line in lines)
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text: save it as UTF-8") from None
    except csv.Error:
        raise InputError(f"{path} has a first line that cannot be read") from None
    except (OSError, EOFError) as error:
        raise _unreadable(path, error) from None
    if header is None:
        raise InputError(f"{path} is empty")
    names = tuple(field.strip() for field in header)
    return _Layout(names, SEPARATORS[suffix], reader.line_num, empty)


def _open(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".gz":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    return path.open("rb")


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or type(error).__name__
    return InputError(f"{path} cannot be read: {reason}")


def _check_quotes(path: Path) -> None:
    """Refuse a quote that is never closed: it would swallow the rows behind it."""
    try:
        with _open(path) as file:
            count = sum(
                block.count(b'"') for block in iter(lambda: file.read(BLOCK), b"")
            )
    except (OSError, EOFError) as error:
        raise _unreadable(path, error) from None
    if count % 2:
        raise InputError(
            f"{path} has a quote that is never closed: check the quotes, and write one "
            "inside a text twice"
        )


def _all_are(array: pa.StringArray, kind: Kind) -> bool:
    """Say whether all entries that are not missing are of a kind."""
    if kind == "truth":
        known = pc.match_substring_regex(array.drop_null(), TRUTH)
        return bool(pc.all(known).as_py() is not False)
    try:
        _to_numbers(array)
    except pa.ArrowInvalid:
        return False
    return True


def _convert(array: pa.StringArray, kind: Kind) -> pa.Array:
    if kind == "number":
        return _to_numbers(array)
    if kind == "truth":
        return pc.equal(pc.utf8_lower(array), "true")
    return array


def _to_numbers(array: pa.StringArray) -> pa.DoubleArray:
    return pc.cast(pc.utf8_trim_whitespace(array), pa.float64())
