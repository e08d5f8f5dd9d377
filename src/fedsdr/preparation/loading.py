"""Read the files that people have into one table, and say what was guessed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedsdr.data.columns import kind_of, odd_entries
from fedsdr.data.endings import DATABASES, EXCEL, FORMATS
from fedsdr.data.number_text import read_written
from fedsdr.data.opening import open_file, open_source
from fedsdr.data.source import ALL_ROWS, Source, join_frames
from fedsdr.data.text_files import TextSource
from fedsdr.data.text_format import USUAL, TextFormat
from fedsdr.data.text_layout import read_layout
from fedsdr.exceptions import InputError
from fedsdr.extras import require
from fedsdr.preparation.layout_guess import guess_format, header_rows
from fedsdr.preparation.levels import level_text
from fedsdr.preparation.notation_guess import (
    find_marks,
    guess_notation,
    may_be_text,
)

#: Files of other programs, which can all write CSV.
_FOREIGN = (
    ".por",
    ".dta",
    ".sas7bdat",
    ".xpt",
    ".rds",
    ".rdata",
    ".mat",
    ".xls",
    ".ods",
)


@dataclass(frozen=True, slots=True)
class FileOptions:
    """What somebody says about files, instead of a guess.

    Parameters
    ----------
    form : TextFormat, default=TextFormat()
        How text files are written.
    given : frozenset of str, default=frozenset()
        Keys of `form` that are not guessed.
    text : frozenset of str, default=frozenset()
        Columns that are text though they look like numbers.
    sheet : str or None, default=None
        Sheet of an Excel workbook.
    table, query : str or None, default=None
        Rows of a database.
    """

    form: TextFormat = USUAL
    given: frozenset[str] = frozenset()
    text: frozenset[str] = frozenset()
    sheet: str | None = None
    table: str | None = None
    query: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LoadedFiles:
    """Rows of one or several files.

    Parameters
    ----------
    frame : DataFrame
        All columns with a name: numbers, truth values, dates and text.
    files : Series
        For each row, what tells its file from the others.
    form : TextFormat
        How the first file is written.
    remarks : tuple of str
        Guesses about the files, one line each.
    unnamed : int, default=0
        Columns of the first file that were left out because they have no name.
    """

    frame: pd.DataFrame
    files: pd.Series
    form: TextFormat
    remarks: tuple[str, ...]
    unnamed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _OneFile:
    """Rows of one file, how it is written, and what was guessed about it."""

    frame: pd.DataFrame
    form: TextFormat = USUAL
    remarks: tuple[str, ...] = ()
    unnamed: int = 0


def load_files(addresses: Sequence[str], options: FileOptions) -> LoadedFiles:
    """Read files, all of them with the same columns.

    Parameters
    ----------
    addresses : sequence of str
        Paths, or addresses of databases.
    options : FileOptions
        What is known about them.

    Returns
    -------
    LoadedFiles
        Rows of all files. An `InputError` names the option that helps.
    """
    _refuse_repeats(addresses)
    parts = [_load(address, options) for address in addresses]
    first = parts[0]
    for address, part in zip(addresses, parts, strict=True):
        if sorted(part.frame.columns) != sorted(first.frame.columns):
            raise InputError(
                f"{address} has other columns than {addresses[0]}: files that are read "
                "together need the same ones, or names given with --names"
            )
    frames = [part.frame[first.frame.columns] for part in parts]
    labels = np.repeat(_labels(addresses), [len(frame) for frame in frames])
    remarks = dict.fromkeys(one for part in parts for one in part.remarks)
    return LoadedFiles(
        _join(frames), pd.Series(labels), first.form, tuple(remarks), first.unnamed
    )


def _refuse_repeats(addresses: Sequence[str]) -> None:
    """Refuse a file that is named twice: its rows would count twice."""
    known = set()
    for address in addresses:
        place = address if "://" in address else Path(address).expanduser().resolve()
        if place in known:
            raise InputError(
                f"{address} is given twice, and its rows would count twice: name every "
                "file once"
            )
        known.add(place)


def _load(address: str, options: FileOptions) -> _OneFile:
    found = _open(address, options)
    if not len(found.frame):
        raise InputError(f"{address} has no rows: there is nothing to compare")
    if "na" not in options.given:
        marks = find_marks(found.frame, found.form)
        said = f"{' '.join(marks)} taken for missing (otherwise: --na)"
        found = replace(
            found,
            form=replace(found.form, na=marks),
            remarks=(*found.remarks, *([said] if marks else [])),
        )
    return replace(found, frame=_settle(found.frame, found.form, options))


def _open(address: str, options: FileOptions) -> _OneFile:
    path = Path(address).expanduser()
    name = path.name.lower()
    if "://" in address:
        return _read_all(_open_database(address, options), options.form)
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.is_dir():
        raise InputError(f"{path} is a folder: name one file in it")
    if name.endswith(_FOREIGN):
        raise InputError(f"{path} is a file of another program: save it as CSV")
    if name.endswith(DATABASES):
        return _read_all(_open_database(address, options), options.form)
    if name.endswith(EXCEL):
        require("excel", "reading Excel workbooks")
        return _read_excel(path, options)
    if name.endswith(tuple(FORMATS)):
        return _read_all(open_file(path), options.form)
    form = guess_format(path, options.form, options.given)
    said = _describe(form, options.given)
    form, renamed = _separate_names(path, form)
    source = TextSource((path,), _there(path, form, options), form)
    return replace(_read_all(source, form), remarks=(*said, *renamed))


def _there(path: Path, form: TextFormat, options: FileOptions) -> frozenset[str]:
    return options.text & frozenset(read_layout(path, form).names)


def _read_all(source: Source, form: TextFormat) -> _OneFile:
    named = [name for name in source.columns if name]
    if not named:
        raise InputError("no column has a name: give names with --names a,b,c")
    frame = next(source.batches(named, ALL_ROWS), pd.DataFrame(columns=named))
    return _OneFile(frame, form, (), len(source.columns) - len(named))


def _open_database(address: str, options: FileOptions) -> Source:
    rows = {"table": options.table, "query": options.query}
    given = {key: value for key, value in rows.items() if value is not None}
    if len(given) != 1:
        raise InputError(f"{address} is a database: choose rows by --table or --query")
    url = address if "://" in address else f"sqlite:///{Path(address).absolute()}"
    return open_source({"kind": "sql", "url": url, **given}, folder=Path())


def _separate_names(path: Path, form: TextFormat) -> tuple[TextFormat, list[str]]:
    """Give columns of the same name different ones."""
    layout = read_layout(path, form)
    twice = [name for name, n in Counter(layout.names).items() if n > 1 and name]
    if not twice:
        return form, []
    names = _different(layout.names)
    said = [f"several columns are called '{n}': the second is '{n}.2'" for n in twice]
    return replace(form, names=names, skip=layout.n_lines), said


def _different(names: Sequence[str]) -> tuple[str, ...]:
    seen: Counter[str] = Counter()
    found = []
    for place, name in enumerate(names):
        seen[name] += 1
        plain = name or f"column {place + 1}"
        found.append(plain if seen[name] == 1 or not name else f"{name}.{seen[name]}")
    return tuple(found)


def _read_excel(path: Path, options: FileOptions) -> _OneFile:
    from fedsdr.data.excel_files import read_sheet

    rows = read_sheet(path, options.sheet)[options.form.skip :]
    names, remarks = options.form.names, []
    if not names:
        texts = [[level_text(cell) or "" for cell in row] for row in rows[:50]]
        n_header = header_rows(texts)
        if n_header == 0:
            raise InputError(
                f"the first row of {path} has numbers where names should be: name its "
                "columns with --names a,b,c"
            )
        if n_header > 1:
            remarks.append("names are in row 2; row 1 is left out (otherwise: --skip)")
        names, rows = _different(texts[n_header - 1]), rows[n_header:]
    if any(len(row) > len(names) for row in rows):
        raise InputError(f"{path} has rows with more cells than names: check --skip")
    columns = list(zip(*rows, strict=False)) if rows else [()] * len(names)
    kept = {
        name: _column(cells)
        for name, cells in zip(names, columns, strict=False)
        if not name.startswith("column ") or any(c is not None for c in cells)
    }
    return _OneFile(pd.DataFrame(kept), options.form, tuple(remarks))


def _column(cells: Sequence[Any]) -> pd.Series:
    """Give cells of a sheet one type: dates as text in ISO 8601."""
    plain = [str(cell) if isinstance(cell, date) else cell for cell in cells]
    if any(isinstance(cell, str) for cell in plain):
        plain = [level_text(cell) for cell in plain]
    column = pd.Series(plain, dtype=object)
    return column.infer_objects()


def _settle(
    frame: pd.DataFrame, form: TextFormat, options: FileOptions
) -> pd.DataFrame:
    """Remove marks, and read text that is numbers."""
    frame = frame.copy(deep=False)
    for name in may_be_text(frame):
        column = frame[name]
        if kind_of(column) == "text" and name not in options.text:
            texts = column.astype(object).where(column.notna(), None)
            texts = texts.where(~texts.astype(str).str.strip().isin(form.na), None)
            frame[name] = _numbers(texts, form, options.given)
    return frame


def _numbers(texts: pd.Series, form: TextFormat, given: frozenset[str]) -> pd.Series:
    if not odd_entries(texts).any():
        return pd.Series(pd.to_numeric(texts, errors="coerce").to_numpy(np.float64))
    # Cells of other sources are not written as one text file is.
    own = guess_notation(texts.dropna().astype(str), form, given)
    values = read_written(texts, own)
    return texts if values is None else pd.Series(values)


def _join(frames: list[pd.DataFrame]) -> pd.DataFrame:
    for name in frames[0].columns if len(frames) > 1 else ():
        kinds = {kind_of(f[name]) for f in frames if f[name].notna().any()}
        if len(kinds) > 1:
            for frame in frames:
                frame[name] = pd.Series(map(level_text, frame[name]), dtype=object)
    return join_frames(frames)


def _labels(addresses: Sequence[str]) -> list[str]:
    """Name files by the parts of their names in which they differ."""
    names = [Path(address).name for address in addresses]
    parts = [name.split(".") for name in names]
    if len(set(names)) < len(names) or len({len(one) for one in parts}) > 1:
        return names if len(set(names)) == len(names) else list(addresses)
    differ = [k for k, one in enumerate(zip(*parts, strict=True)) if len(set(one)) > 1]
    labels = [".".join(part[k] for k in differ) for part in parts]
    return labels if all(labels) else names


def _describe(form: TextFormat, given: frozenset[str]) -> list[str]:
    """Say what was guessed about a text file, where it is not the usual."""
    signs = {"\t": "tab", " ": "blank", ";": "semicolon", "|": "vertical bar"}
    lines = {
        "encoding": f"encoding {form.encoding}",
        "separator": f"separator {signs.get(form.separator, form.separator)}",
        "decimal": "decimal comma",
        "thousands": f"thousands written with '{form.thousands}'",
        "percent": "percent signs left out",
        "skip": f"{form.skip} line(s) above the names left out",
    }
    usual = TextFormat(separator=",")
    return [
        f"{words} (otherwise: --{'sep' if key == 'separator' else key})"
        for key, words in lines.items()
        if key not in given and getattr(form, key) != getattr(usual, key)
    ]
