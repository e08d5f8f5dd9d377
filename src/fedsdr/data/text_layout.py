"""How a CSV file is laid out: its first line, and whether all rows fit it."""

import csv
import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np

from fedsdr.data.endings import SEPARATORS
from fedsdr.data.text_format import USUAL, TextFormat
from fedsdr.exceptions import InputError

# Bytes that are looked at together.
BLOCK = 1 << 16

_QUOTE, _LINE_FEED = b'"'[0], b"\n"[0]


@dataclass(frozen=True, slots=True)
class TextLayout:
    """What the first line of a file says.

    Parameters
    ----------
    path : Path
        The file.
    names : tuple of str
        Names in the first line that is not blank; "" for a column without a name.
    separator : str
        Between two fields.
    n_lines : int
        Lines up to the names, them included.
    form : TextFormat, default=TextFormat()
        How the file is written.
    """

    path: Path
    names: tuple[str, ...]
    separator: str
    n_lines: int
    form: TextFormat = USUAL

    @contextmanager
    def rows(self) -> Iterator[IO[bytes]]:
        """Open the file behind the names.

        Yields
        ------
        file
            Bytes, from the first row on. An `InputError` for whatever goes wrong with
            the file or its text.
        """
        with explained_text(self.path), open_bytes(self.path, self.form) as file:
            for _ in range(self.n_lines):
                file.readline()
            yield file

    def check(self) -> None:
        """Go through the file, and refuse rows with other fields than the names.

        Raises
        ------
        InputError
            Also for a quote that is never closed: it would swallow the rows behind it.
        """
        with self.rows() as file:
            fits = _fits(file, self.separator, len(self.names), self.path)
        if not fits:
            # Blank lines, or quotes within a text: worth a closer look.
            with self.rows() as file:
                _check_each(file, self)


def read_layout(path: Path, form: TextFormat | None = None) -> TextLayout:
    """Read the names of a file's columns.

    Parameters
    ----------
    path : Path
        File whose name ends in .csv or .tsv, either with .gz, or in anything else if
        its separator is given. UTF-8, with or without a byte order mark, unless
        another encoding is given.
    form : TextFormat or None, default=None
        How the file is written; by the ending of its name if None.

    Returns
    -------
    TextLayout
        An `InputError` if there is no such file, or no names in it.
    """
    form = form or TextFormat()
    separator = form.separator or _separator_by_ending(path)
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if form.names:
        return TextLayout(path, form.names, separator, form.skip, form)
    with explained_text(path), open_bytes(path, form) as file:
        for _ in range(form.skip):
            file.readline()
        lines = (line.decode("utf-8-sig") for line in iter(file.readline, b""))
        reader = csv.reader(lines, delimiter=separator)
        try:
            header = next((row for row in reader if row), None)
        except csv.Error:
            raise InputError(f"{path} has a first line that cannot be read") from None
    if header is None:
        raise InputError(f"{path} is empty")
    names = tuple(field.strip() for field in header)
    return TextLayout(path, names, separator, form.skip + reader.line_num, form)


def _separator_by_ending(path: Path) -> str:
    name = path.name.lower()
    suffix = next((known for known in SEPARATORS if name.endswith(known)), None)
    if suffix is None:
        known = ", ".join(SEPARATORS)
        raise InputError(f"{path} is no CSV file: its name should end in {known}")
    return SEPARATORS[suffix]


def open_bytes(path: Path, form: TextFormat | None = None) -> IO[bytes]:
    """Open a file that may be compressed, as UTF-8.

    Parameters
    ----------
    path : Path
        File; compressed if its name ends in .gz.
    form : TextFormat or None, default=None
        How the file is written; UTF-8 if None.

    Returns
    -------
    file
        Its bytes. A file in another encoding is read at once.
    """
    if form is not None and not form.is_utf8:
        with open_bytes(path) as file:
            text = file.read().decode(form.encoding)
        return io.BytesIO(text.removeprefix("\ufeff").encode("utf-8"))
    if path.suffix.lower() == ".gz":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    return path.open("rb")


@contextmanager
def explained_text(path: Path) -> Iterator[None]:
    """Turn what goes wrong with a file or its bytes into an `InputError`.

    Parameters
    ----------
    path : Path
        The file.

    Yields
    ------
    None
        While it is read.
    """
    try:
        yield
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is not UTF-8 text: save it as UTF-8, or name its encoding"
        ) from None
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(f"{path} cannot be read: {reason}") from None


def misfit(path: Path) -> InputError:
    """Say that rows and names do not fit together.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    InputError
        To be raised.
    """
    return InputError(
        f"{path} has rows with more or fewer fields than column names, or a quote that "
        "is never closed: check the separator and the quotes"
    )


def _fits(file: IO[bytes], separator: str, width: int, path: Path) -> bool:
    """Tell whether every line has as many fields as there are names.

    False for anything unusual that takes a closer look. Numpy does the counting: a
    quote opens and the next one closes, so what stands between them has an odd number
    of quotes before it.
    """
    mark = ord(separator)
    regular, inside, place, ended = True, False, 0, True
    while block := file.read(BLOCK) + file.readline():
        # Also what is in columns that nobody asks for.
        block.decode("utf-8")
        array = np.frombuffer(block, dtype=np.uint8)
        ends = (array == mark) | (array == _LINE_FEED)
        if inside or b'"' in block:
            quotes = np.cumsum(array == _QUOTE, dtype=np.uint8)
            ends &= (quotes & 1) == inside
            inside ^= bool(quotes[-1] & 1)
        # Counting takes as long as all else here, and few files have any.
        if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
            regular = False
        ended = block.endswith(b"\n")
        if not regular:
            continue
        lines = array[np.flatnonzero(ends)] == _LINE_FEED
        last = lines[width - 1 - place :: width]
        place = (place + len(lines)) % width
        regular = bool(last.all()) and int(last.sum()) == int(lines.sum())
    if inside:
        raise InputError(
            f"{path} has a quote that is never closed: check the quotes, and write one "
            "inside a text twice"
        )
    # The last line may come without a line feed.
    return regular and place == (0 if ended else width - 1)


def _check_each(file: IO[bytes], layout: TextLayout) -> None:
    lines = (line.decode("utf-8") for line in iter(file.readline, b""))
    reader = csv.reader(lines, delimiter=layout.separator)
    width = len(layout.names)
    try:
        fits = all(len(row) == width for row in reader if not _is_blank(row))
    except csv.Error:
        fits = False
    if not fits:
        raise misfit(layout.path)


def _is_blank(row: list[str]) -> bool:
    """Tell a line that pandas leaves out as well."""
    return not row or (len(row) == 1 and not row[0].strip())
