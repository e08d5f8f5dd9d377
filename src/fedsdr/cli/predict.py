"""``fedsdr predict``: predictions for new rows."""

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


def predict(
    *,
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="Model of 'fedsdr fit --model'.", show_default=False
        ),
    ],
    files: Rows,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write.")] = Path(
        "predictions.csv"
    ),
    force: Force = False,
    site_column: told.SiteColumn = None,
    na: told.Na = None,
    sep: told.Sep = None,
    decimal: told.Decimal = None,
    encoding: told.Encoding = None,
    sheet: told.Sheet = None,
) -> None:
    """Predict the response of new rows, prepared as those of the fit.

    Rows of sites that were in the fit are predicted with what these sites have of their
    own, all others with what the sites have in common.
    """
    screen = Screen()
    written = {
        "na": na, "sep": sep, "decimal": decimal, "encoding": encoding, "sheet": sheet,
    }  # fmt: skip
    with screen.polite():
        refuse_existing(out, force=force)
        import numpy as np

        from fedsdr.prediction import read_model

        known = read_model(model)
        rows = read_rows(screen, known.result, files, site_column, written)
        mean = known.predict(rows.X, rows.sites)
        table = rows.table
        own = 0 if rows.sites is None else int(known.knows(rows.sites).sum())
        if known.sites and own < len(table):
            screen.note(
                f"{len(table) - own} of {len(table)} row(s) are of no site of the fit, "
                "and were predicted with what its sites have in common (their site: "
                "--site-column)"
            )
        if known.classes:
            chosen = np.array(known.classes, dtype=object)[(mean > 0.5).astype(int)]
            table = table.assign(predicted=chosen, probability=mean)
            screen.note(f"'probability' is that of the class {known.classes[1]!r}")
        else:
            table = table.assign(predicted=mean)
        write_rows(table, out)
    screen.say(f"Wrote {len(table)} predictions: {out}")
