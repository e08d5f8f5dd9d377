"""``fedsdr schema``: write down what the columns of files are taken for."""

from pathlib import Path
from typing import Annotated

import typer

from fedsdr.cli import column_table
from fedsdr.cli import table_options as told
from fedsdr.cli.fit import decide
from fedsdr.cli.options import split_names
from fedsdr.cli.screen import Screen, write_new


def schema(
    *,
    files: told.Files,
    target: Annotated[
        str,
        typer.Option(
            help="Column of the response, or an expression such as 'num > 0'.",
            show_default=False,
        ),
    ],
    site_column: told.SiteColumn = None,
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("schema.toml"),
    columns: told.Columns = None,
    drop: told.Drop = None,
    missing: told.Missing = None,
    categorical: told.Categorical = None,
    log: told.Log = None,
    na: told.Na = None,
    names: told.Names = None,
    sep: told.Sep = None,
    decimal: told.Decimal = None,
    thousands: told.Thousands = None,
    encoding: told.Encoding = None,
    skip: told.Skip = None,
    sheet: told.Sheet = None,
    database_table: told.DatabaseTable = None,
    query: told.Query = None,
) -> None:
    """Write a schema: how files are written, and what columns are taken for.

    It can be edited and used by 'fedsdr fit --schema'; its tables [target] and
    [columns] have the keys of a study file.
    """
    screen = Screen()
    guesses = told.read_guess_options(missing, categorical, log, na)
    written = {
        "names": names, "na": na, "sep": sep, "decimal": decimal,
        "thousands": thousands, "encoding": encoding, "skip": skip, "sheet": sheet,
        "table": database_table, "query": query,
    }  # fmt: skip
    roles = (target, site_column, split_names(columns), split_names(drop) or ())
    with screen.polite():
        from fedsdr.preparation.analysis import count_gaps
        from fedsdr.preparation.loading import load_files
        from fedsdr.preparation.schema_file import write_schema

        loaded = load_files(files, told.read_file_options(written, site_column, None))
        found, reasons = decide(loaded, roles, guesses, None)
        write_new(out, write_schema(found, reasons, files))
        for remark in loaded.remarks:
            screen.remark(remark)
        gaps = count_gaps(loaded.frame, found.columns)
        column_table.show_columns(screen, found, reasons, gaps)
    again = " ".join(files)
    screen.say(f"Wrote {out}. Edit it, and: fedsdr fit {again} --schema {out}")
