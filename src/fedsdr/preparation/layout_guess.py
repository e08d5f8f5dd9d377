"""Guess how a text file is laid out: encoding, separator, and where its names are."""

import codecs
import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from fedsdr.data.endings import SEPARATORS
from fedsdr.data.text_files import MISSING
from fedsdr.data.text_format import TextFormat
from fedsdr.data.text_layout import BLOCK, explained_text, open_bytes
from fedsdr.exceptions import InputError
from fedsdr.preparation.notation_guess import MARKS, guess_notation

#: Lines that are looked at.
LINES = 500

#: Entries that are looked at, unless 20 lines have more.
ENTRIES = 100_000

#: Separators that are tried, the more telling ones first.
_TRIED = (";", "\t", "|", ",")

#: Share of lines that must have the same number of fields.
_REGULAR = 0.8

_MARKS_OF_ORDER = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def guess_format(path: Path, form: TextFormat, given: frozenset[str]) -> TextFormat:
    """Guess how a text file is written.

    Parameters
    ----------
    path : Path
        The file.
    form : TextFormat
        What somebody gave.
    given : frozenset of str
        Keys of `form` that were given, and are not guessed.

    Returns
    -------
    TextFormat
        For the strict reader. An `InputError` for a file without names.
    """
    if "encoding" not in given:
        form = replace(form, encoding=_guess_encoding(path))
    with explained_text(path), open_bytes(path, form) as file:
        raw = [line.decode("utf-8-sig") for line in islice(file, LINES)]
    lines = raw[form.skip :]
    if not any(line.strip() for line in lines):
        raise InputError(f"{path} is empty")
    if "separator" not in given:
        form = replace(form, separator=_guess_separator(path, lines))
    rows = list(csv.reader(lines, delimiter=form.separator))
    if "skip" not in given:
        above = _lines_above(rows)
        form, rows = replace(form, skip=above), rows[above:]
    filled = [row for row in rows if any(field.strip() for field in row)]
    if not form.names:
        form, filled = _find_names(path, form, filled, given)
    # Wide files show in a few rows how they write numbers.
    most = max(20, ENTRIES // max(map(len, filled), default=1))
    entries = (field for row in filled[:most] for field in row)
    return guess_notation(entries, form, given)


def header_rows(rows: Sequence[Sequence[str]]) -> int:
    """Count the rows of names at the start of a table.

    Parameters
    ----------
    rows : sequence of sequence of str
        First rows; "" for an empty field.

    Returns
    -------
    int
        0 if the first row looks like those below it, 2 if two rows of words stand
        above columns of numbers, 1 otherwise.
    """
    below = rows[2:] or rows[1:]
    width = max(map(len, rows), default=0)
    columns = [
        [row[j] for row in below if j < len(row) and row[j]] for j in range(width)
    ]
    numeric = [
        j
        for j, column in enumerate(columns)
        if column and all(map(_like_number, column))
    ]
    if not numeric:
        return 1

    def words(row: Sequence[str]) -> bool:
        """Whether a row has words above all columns of numbers that it names."""
        found = [row[j] for j in numeric if j < len(row) and row[j]]
        return bool(found) and not any(map(_is_number, found))

    if not words(rows[0]):
        return 0
    full = len(rows) > 2 and all(rows[1][j] for j in numeric if j < len(rows[1]))
    return 2 if full and words(rows[1]) else 1


def _find_names(
    path: Path, form: TextFormat, rows: list[list[str]], given: frozenset[str]
) -> tuple[TextFormat, list[list[str]]]:
    stripped = [[field.strip() for field in row] for row in rows[:50]]
    n_header = header_rows(stripped)
    if n_header == 0:
        raise InputError(
            f"the first line of {path} has numbers where names should be: name its "
            f"{len(stripped[0])} columns with --names a,b,c, or --names FILE"
        )
    if n_header == 2 and "skip" not in given:
        return replace(form, skip=form.skip + 1), rows[2:]
    return form, rows[1:]


def _like_number(field: str) -> bool:
    return field in MISSING or field in MARKS or _is_number(field)


def _is_number(field: str) -> bool:
    text = field.rstrip("% ").replace(",", "").replace("'", "").replace(" ", "")
    try:
        float(text.replace(".", "", max(0, text.count(".") - 1)))
    except ValueError:
        return False
    return True


def _guess_encoding(path: Path) -> str:
    with explained_text(path), open_bytes(path) as file:
        start = file.read(BLOCK)
        for mark, encoding in _MARKS_OF_ORDER.items():
            if start.startswith(mark):
                return encoding
        if b"\x00" in start[:1000]:
            raise InputError(
                f"{path} is not a text file, or is UTF-16 without a mark: name its "
                "encoding with --encoding utf-16-le"
            )
        decoder = codecs.getincrementaldecoder("utf-8")()
        block, control = start, False
        try:
            while block:
                decoder.decode(block)
                block = file.read(BLOCK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            # Latin-1 has control characters where Windows has signs such as the euro.
            control = any(0x80 <= byte < 0xA0 for byte in block)
            return "cp1252" if control else "latin-1"
    return "utf-8"


def _guess_separator(path: Path, lines: list[str]) -> str:
    name = path.name.lower()
    usual = next((s for end, s in SEPARATORS.items() if name.endswith(end)), "")
    best, most = usual or ",", (0.0, 0)
    for separator in _TRIED:
        widths = [len(row) for row in csv.reader(lines, delimiter=separator) if row]
        width, count = Counter(widths).most_common(1)[0]
        share = count / len(widths)
        # Names and rows have to agree, which decimal commas do not do.
        if width < 2 or share < _REGULAR or widths.count(1) > share:
            share = 0.0 if width < 2 or share < _REGULAR else share - 0.5
        if (share, separator == usual) > most:
            best, most = separator, (share, separator == usual)
    if most[0] == 0.0:
        blanks = Counter(len(line.split()) for line in lines if line.strip())
        if len(blanks) == 1 and next(iter(blanks)) > 1 and not usual:
            return " "
    return best


def _lines_above(rows: list[list[str]]) -> int:
    """Count remarks above the table: lines with fewer fields than nearly all others."""
    widths = [len(row) for row in rows if row]
    width, count = Counter(widths).most_common(1)[0]
    if width < 2 or count < _REGULAR * len(widths):
        return 0
    for place, row in enumerate(rows):
        filled = sum(bool(field.strip()) for field in row)
        if len(row) == width and filled > width / 2:
            return place
    return 0
