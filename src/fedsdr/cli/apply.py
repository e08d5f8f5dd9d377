"""``fedsdr apply``: the reduced variables of new rows."""

from pathlib import Path
from typing import Annotated

import typer

from fedsdr.cli import table_options as told
from fedsdr.cli.new_rows_files import (
    Force,
    Rows,
    read_rows,
    refuse_existing,
    write_rows,
)
from fedsdr.cli.screen import Screen


def apply(
    *,
    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT", help="Result of 'fedsdr fit'.", show_default=False
        ),
    ],
    files: Rows,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write.")] = Path(
        "reduced.csv"
    ),
    force: Force = False,
    site_column: told.SiteColumn = None,
    na: told.Na = None,
    sep: told.Sep = None,
    decimal: told.Decimal = None,
    encoding: told.Encoding = None,
    sheet: told.Sheet = None,
) -> None:
    """Write the reduced variables of new rows, prepared as those of the fit."""
    screen = Screen()
    written = {
        "na": na, "sep": sep, "decimal": decimal, "encoding": encoding, "sheet": sheet,
    }  # fmt: skip
    with screen.polite():
        refuse_existing(out, force=force)
        from fedsdr.exceptions import InputError
        from fedsdr.result import Result

        found = Result.from_json(result)
        if found.found_nothing:
            raise InputError(f"{result} has no direction that is more than noise")
        rows = read_rows(screen, found, files, site_column, written)
        reduced = found.transform(rows.X)
        write_rows(rows.table.join(reduced), out)
    screen.say(f"Wrote {len(rows.table)} rows of {found.n_directions} column(s): {out}")
