"""Opening a source: from a path, or from the table ``[data]`` of a site's file."""

from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from fedsdr.data.databases import POSTGRESQL, read_address, read_query
from fedsdr.data.endings import FORMATS, SEPARATORS
from fedsdr.data.source import Source
from fedsdr.data.sqlite import SqliteSource
from fedsdr.data.text_files import TextSource
from fedsdr.data.text_format import TextFormat
from fedsdr.exceptions import InputError
from fedsdr.extras import require

#: Keys that say how a text file is written, see `TextFormat`.
_WRITTEN = tuple(one.name for one in fields(TextFormat))

#: Keys that each kind of source needs, and keys that it may have.
KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "csv": (("path",), ("text", *_WRITTEN)),
    "parquet": (("path",), ()),
    "arrow": (("path",), ("text",)),
    "sql": (("url",), ("table", "query", "password_env", "password_file")),
}


def open_source(table: Mapping[str, Any], *, folder: Path) -> Source:
    """Find a site's rows, and look at their columns.

    Parameters
    ----------
    table : mapping of str
        With "kind", which is one of

        - "csv": "path" of a file that ends in .csv or .tsv, either with .gz, and
          possibly "text", a list of columns that are text though they look like
          numbers, and the keys of `TextFormat`, which say how the file is written;
        - "parquet": "path" of a file;
        - "arrow": "path" of a folder of Parquet, Arrow or CSV files, with or without
          folders called "column=value", or a pattern such as "rows/*.parquet";
        - "sql": "url" (``postgresql://user@host:5432/database`` or
          ``sqlite:///rows.db``), either "table" or "query", and "password_env" or
          "password_file" where a password is needed.
    folder : Path
        That relative paths start from: the folder of the site's file.

    Returns
    -------
    Source
        An `InputError` says what is missing, and never shows a value or a password.
    """
    kind = table.get("kind")
    if kind not in KEYS:
        raise InputError(f"kind of the data must be one of {', '.join(KEYS)}")
    _check_keys(table, kind)
    if kind == "sql":
        return _open_database(table, folder)
    path = folder / Path(table["path"]).expanduser()
    text = frozenset(table.get("text", ()))
    if kind == "arrow":
        return _open_files(path, text)
    if path.is_dir():
        raise InputError(f"{path} is a folder: use kind = 'arrow', or name one file")
    if kind == "csv":
        return TextSource((path,), text, TextFormat.from_table(table))
    if FORMATS.get(path.suffix.lower()) != "parquet":
        raise InputError(f"{path} is no Parquet file: its name should end in .parquet")
    return _open_arrow((path,))


def open_file(path: Path, text: frozenset[str] = frozenset()) -> Source:
    """Open one file.

    Parameters
    ----------
    path : Path
        File whose name ends in .csv, .tsv (either with .gz), .parquet, .pq, .feather,
        .arrow or .ipc.
    text : frozenset of str, default=frozenset()
        Columns that are text though they look like numbers, so that the labels "01"
        and "1" stay apart.

    Returns
    -------
    Source
        An `InputError` if the file is missing, empty, damaged or of another kind.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.is_dir():
        raise InputError(f"{path} is a folder: name one file in it")
    name = path.name.lower()
    if name.endswith(tuple(SEPARATORS)):
        return TextSource((path,), text)
    if name.endswith(tuple(FORMATS)):
        return _open_arrow((path,))
    known = ", ".join([*SEPARATORS, *FORMATS])
    raise InputError(f"{path} is of an unknown kind: its name should end in {known}")


def _check_keys(table: Mapping[str, Any], kind: str) -> None:
    needed, optional = KEYS[kind]
    known = ["kind", *needed, *optional]
    for key, value in table.items():
        if key not in known:
            close = get_close_matches(str(key), known, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"it has {known}"
            raise InputError(f"data of kind '{kind}' has no '{key}'; {hint}")
        if key == "text":
            listed = isinstance(value, list | tuple)
            if not listed or not all(isinstance(name, str) for name in value):
                raise InputError("text must be a list of columns")
        elif key in _WRITTEN:
            continue
        elif not isinstance(value, str) or not value:
            raise InputError(f"{key} of the data must be a text")
    for key in needed:
        if key not in table:
            raise InputError(f"data of kind '{kind}' needs '{key}'")


def _open_database(table: Mapping[str, Any], folder: Path) -> Source:
    address, query = read_address(table, folder), read_query(table)
    if address.url.scheme in POSTGRESQL:
        require("sql", "reading from PostgreSQL")
        from fedsdr.data.postgresql import PostgresSource

        return PostgresSource(address, query)
    if address.password_env or address.password_file or address.url.netloc:
        raise InputError(
            "an SQLite database is a file, without host, user or password: write "
            "sqlite:///rows.db, or sqlite:////folder/rows.db for an absolute path"
        )
    # As elsewhere: three slashes start a relative path, four an absolute one.
    path = Path(address.url.path[1:]).expanduser()
    return SqliteSource(folder / path, query)


def _open_files(path: Path, text: frozenset[str]) -> Source:
    if path.is_dir():
        found = [one for one in path.rglob("*") if not _hidden(one.relative_to(path))]
        base: Path | None = path
    else:
        root = Path(path.absolute().anchor)
        found = list(root.glob(str(path.absolute().relative_to(root))))
        base = None
    files = sorted(one for one in found if one.is_file() and _is_known(one))
    if not files:
        known = ", ".join([*FORMATS, *SEPARATORS])
        raise InputError(f"{path} has no files whose names end in {known}")
    texts = [one for one in files if one.name.lower().endswith(tuple(SEPARATORS))]
    if texts and len(texts) < len(files):
        raise InputError(f"{path} has CSV files beside others: use files of one kind")
    if texts:
        return TextSource(tuple(files), text)
    if text:
        raise InputError("text is for CSV files only: the others know their types")
    return _open_arrow(tuple(files), base)


def _open_arrow(paths: tuple[Path, ...], base: Path | None = None) -> Source:
    require("arrow", "reading Parquet, Feather and Arrow files")
    from fedsdr.data.arrow_files import ArrowSource

    return ArrowSource(paths, base)


def _is_known(path: Path) -> bool:
    return path.name.lower().endswith((*FORMATS, *SEPARATORS))


def _hidden(path: Path) -> bool:
    # What other programs leave behind, such as _SUCCESS and .part.crc.
    return any(part.startswith((".", "_")) for part in path.parts)
