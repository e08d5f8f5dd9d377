"""What ``apply`` and ``predict`` share: reading new rows, writing a table of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedsdr.cli import table_options as told
from fedsdr.cli.screen import Screen, check_writable
from fedsdr.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fedsdr.result import Result

Rows = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="New rows, with the columns of the fit by name: CSV or other text, "
        "Parquet, Feather, Excel.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]


@dataclass(frozen=True)
class ReadRows:
    """New rows, prepared; and the table to which columns are added."""

    X: "pd.DataFrame"
    table: "pd.DataFrame"
    sites: "pd.Series | None"


def refuse_existing(path: Path, *, force: bool) -> None:
    """Refuse to replace a file, unless the caller wants that."""
    check_writable(path)
    if path.exists() and not force:
        raise InputError(f"{path} exists: name another file, or give --force")


def read_rows(
    screen: Screen,
    result: "Result",
    files: list[str],
    site_column: str | None,
    written: dict[str, Any],
) -> ReadRows:
    """Read files, and prepare them as the rows of the fit were prepared."""
    import numpy as np
    import pandas as pd

    from fedsdr.data.names import require_column
    from fedsdr.prediction.new_rows import prepare_new_rows, schema_of
    from fedsdr.preparation.loading import load_files

    unsaid = ("names", "thousands", "skip", "table", "query")
    given = {**dict.fromkeys(unsaid), **written}
    schema = schema_of(result)
    label = Path(files[0]).name if len(files) == 1 else f"{len(files)} files"
    with screen.stage(f"Reading {label}") as stage:
        options = told.read_file_options(given, site_column, schema)
        loaded = load_files(files, options)
        frame = loaded.frame
        rows = prepare_new_rows(result, frame)
        stage.done = f"Read {len(frame)} rows from {label}"
    for remark in loaded.remarks:
        screen.remark(remark)
    n_left = int((~rows.kept).sum())
    if n_left:
        screen.note(f"{n_left} of {len(frame)} row(s) have gaps, and were left out")
    table = pd.DataFrame({"row": np.flatnonzero(rows.kept) + 1})
    if site_column is not None:
        require_column(site_column, "site column", list(map(str, frame.columns)))
    elif schema is not None and schema.site_column in frame.columns:
        site_column = schema.site_column
    sites = None
    if site_column is not None:
        sites = frame[site_column][rows.kept].astype(str).reset_index(drop=True)
        table[site_column] = sites
    return ReadRows(rows.X.reset_index(drop=True), table, sites)


def write_rows(table: "pd.DataFrame", path: Path) -> None:
    """Write a table as CSV, all of it or nothing."""
    from fedsdr.files import explained, write_atomically

    with explained(f"cannot write {path}"):
        write_atomically(path, table.to_csv(index=False))
