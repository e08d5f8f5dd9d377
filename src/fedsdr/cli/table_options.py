"""Options of ``fit`` and ``schema`` that say how files are written."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedsdr.cli.options import split_names

if TYPE_CHECKING:
    from fedsdr.preparation.column_guess import GuessOptions
    from fedsdr.preparation.loading import FileOptions
    from fedsdr.preparation.schema_file import TableSchema

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="CSV, TSV or other text, Parquet, Feather, Excel, SQLite file, or the "
        "address of a database. Several files are several sites.",
        show_default=False,
    ),
]
SiteColumn = Annotated[
    str | None,
    typer.Option(
        help="Column that names the site of each row. Without it, each file is a site."
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(help="Covariates, separated by commas. Default: every other column."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Columns to leave out, separated by commas."),
]
Weights = Annotated[
    str | None,
    typer.Option(
        help="Column that says how many rows each row stands for: whole numbers, 0 "
        "leaves the row out.",
        show_default=False,
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        help="Column that names the subject of each row, where subjects have several "
        "rows: tests and folds keep these together.",
        show_default=False,
    ),
]
Names = Annotated[
    str | None,
    typer.Option(
        help="Names of the columns, of files without a line of names: separated by "
        "commas, or a file with one name per line."
    ),
]
Na = Annotated[
    list[str] | None,
    typer.Option(
        help="Entries that mean missing, separated by commas; COLUMN=ENTRY for one "
        "column only: --na '?,chol=0'."
    ),
]
Sep = Annotated[str | None, typer.Option(help="Separator of fields, or the word tab.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal sign: . or ,")]
Thousands = Annotated[
    str | None, typer.Option(help="Sign between groups of three digits.")
]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding of the text, such as latin-1.")
]
Skip = Annotated[
    int | None, typer.Option(min=0, help="Lines to leave out above the names.")
]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel workbook.")]
DatabaseTable = Annotated[
    str | None, typer.Option("--table", help="Table of a database.")
]
Query = Annotated[str | None, typer.Option(help="Query to a database.")]
Missing = Annotated[
    str | None,
    typer.Option(
        help="What is done about missing values: mean (fill numbers with the mean, "
        "categories get a level of their own), drop these rows, or refuse.",
        show_default="mean",
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Columns to be taken for categories, separated by commas."),
]
Log = Annotated[
    list[str] | None,
    typer.Option(help="Columns of which the logarithm is taken."),
]


def read_file_options(
    given: dict[str, Any], site_column: str | None, schema: "TableSchema | None"
) -> "FileOptions":
    """Collect what is known about files; options go before a schema."""
    from fedsdr.data.text_format import TextFormat
    from fedsdr.preparation.loading import FileOptions

    form = TextFormat() if schema is None else schema.form
    known = set() if schema is None else {*schema.form.table(), "na"}
    words = {"tab": "\t", "\\t": "\t", "space": " "}
    changes = {
        "separator": words.get(given["sep"], given["sep"]),
        "decimal": given["decimal"],
        "thousands": given["thousands"],
        "encoding": given["encoding"],
        "skip": given["skip"],
        "names": _read_names(given["names"]),
        "na": split_marks(given["na"])[0] or None,
    }
    told = {key: value for key, value in changes.items() if value is not None}
    site = site_column or (schema.site_column if schema else None)
    return FileOptions(
        replace(form, **told),
        frozenset(known | set(told)),
        frozenset() if site is None else frozenset([site]),
        given["sheet"],
        given["table"],
        given["query"],
    )


def read_marks(
    weights: str | None, groups: str | None, evaluate: int | None
) -> dict[str, str]:
    """Collect the columns that say something of rows, by the argument of `fit`."""
    given = {"sample_weight": weights, "groups": groups}
    marks = {name: column for name, column in given.items() if column is not None}
    if marks and evaluate is not None:
        text = (
            "divides rows, not subjects, and knows no weights: leave it out, or "
            "--weights and --groups."
        )
        raise typer.BadParameter(text, param_hint="--evaluate")
    return marks


def read_guess_options(
    missing: str | None,
    categorical: list[str] | None,
    log: list[str] | None,
    na: list[str] | None,
) -> "GuessOptions":
    """Collect what is known about columns."""
    from fedsdr.preparation.column_guess import GuessOptions
    from fedsdr.preparation.column_plan import GAPS

    if missing not in (None, *GAPS):
        text = f"must be one of {', '.join(GAPS)}."
        raise typer.BadParameter(text, param_hint="--missing")
    return GuessOptions(
        missing or "mean",
        frozenset(split_names(categorical) or ()),
        frozenset(split_names(log) or ()),
        split_marks(na)[1],
    )


def split_marks(
    given: list[str] | None,
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Split entries that mean missing into those of all columns and of one."""
    marks: list[str] = []
    codes: dict[str, tuple[str, ...]] = {}
    for one in split_names(given) or ():
        column, equals, entry = one.partition("=")
        if equals:
            codes[column.strip()] = (*codes.get(column.strip(), ()), entry.strip())
        else:
            marks.append(one)
    return tuple(marks), codes


def _read_names(given: str | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    path = Path(given)
    if "," not in given and path.is_file():
        given = ",".join(path.read_text(encoding="utf-8-sig").splitlines())
    return tuple(split_names([given]) or ())
