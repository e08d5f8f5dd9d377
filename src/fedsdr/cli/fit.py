"""``fedsdr fit``: a sparse central subspace from a file with a site column."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedsdr.cli import tables
from fedsdr.cli.options import read_method, split_names
from fedsdr.cli.screen import Screen, check_writable

if TYPE_CHECKING:
    from fedsdr.data import Table
    from fedsdr.result import Result


def fit(
    *,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="CSV or Parquet file.", show_default=False),
    ],
    target: Annotated[
        str, typer.Option(help="Column of the response.", show_default=False)
    ],
    site_column: Annotated[
        str | None,
        typer.Option(
            help="Column that names the site of each row. Without it, all rows "
            "belong to one site."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the result; result.json unless --json is given.",
            show_default=False,
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="Covariates, separated by commas. Default: every other column."
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Columns to leave out, separated by commas."),
    ] = None,
    n_directions: Annotated[
        str,
        typer.Option(
            help="Dimension: auto, bic, votes, or a number. "
            '"auto(min_directions=0)" gives none if there is only noise.'
        ),
    ] = "auto",
    penalty: Annotated[
        str,
        typer.Option(
            help="Penalty: universal, holdout, moments, or a number. Rules take "
            'parameters: "moments(folds=8)".'
        ),
    ] = "universal",
    kernel: Annotated[
        str,
        typer.Option(
            help="How the mean of x given y is estimated: smooth, slices, pairs, or "
            '"slices(size=10)".'
        ),
    ] = "smooth",
    refit: Annotated[
        str,
        typer.Option(
            help="Whether directions are estimated again on the selected variables: "
            "true (each site with its own covariance), pooled (one for all), false, or "
            "a share of the penalty to keep."
        ),
    ] = "true",
    standardize: Annotated[
        bool, typer.Option(help="Put columns on a common scale first.")
    ] = True,
    tol: Annotated[float, typer.Option(help="Relative gap to certify.")] = 1e-6,
    scores: Annotated[
        str,
        typer.Option(
            help="What columns are replaced by first: none, or normal scores, for "
            "skewed, discrete and heavy-tailed columns."
        ),
    ] = "none",
    response: Annotated[
        str,
        typer.Option(
            help="What the response is taken for: ordered numbers, classes (each value "
            "by itself), or auto, which takes text and at most 10 different whole "
            "numbers for classes."
        ),
    ] = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random choice.")] = 0,
    json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON, and only that.")
    ] = False,
) -> None:
    """Select variables and directions from a file with one row per observation.

    Every site is centred on its own mean, so the means of the sites may differ.
    """
    given = {
        "n_directions": n_directions,
        "penalty": penalty,
        "kernel": kernel,
        "refit": refit,
        "standardize": standardize,
        "tol": tol,
        "scores": scores,
        "response": response,
    }
    wanted, unwanted = split_names(columns), split_names(drop)
    if out is None and not json:
        out = Path("result.json")
    screen = Screen(quiet=json)
    settings = {**read_method(given), "random_state": seed}
    with screen.polite():
        check_writable(out)
        with screen.stage(f"Reading {file.name}") as stage:
            from fedsdr.data import read_table

            table = read_table(file, target, site_column, wanted, unwanted or ())
            stage.done = _describe(file, table)
        with screen.stage("Fitting") as stage:
            result = _estimate(table, settings)
            stage.done = "Chose the dimension and the penalty, fitted, certified"
        text = result.to_json(out)
    if json:
        typer.echo(text)
    else:
        _show(screen, result, out, _taken_for(table, result))


def _estimate(table: "Table", settings: dict[str, Any]) -> "Result":
    from fedsdr import FedSSIR

    return FedSSIR(**settings).fit(table.X, table.y, sites=table.sites).result_


def _describe(file: Path, table: "Table") -> str:
    text = f"Read {len(table.X)} rows of {table.X.shape[1]} variables from {file.name}"
    if table.unnamed:
        text += f", without {table.unnamed} column(s) that have no name"
    return text


def _taken_for(table: "Table", result: "Result") -> str:
    """Say what the response was taken for, and how to change that."""
    from fedsdr.summaries import check_target

    if result.settings["response_type"] == "ordered":
        return "numbers in their order (each value by itself: --response classes)"
    text = "classes, each value by itself"
    numeric = check_target(table.y).dtype.kind == "f"
    return f"{text} (numbers in their order: --response ordered)" if numeric else text


def _show(screen: Screen, result: "Result", out: Path | None, response: str) -> None:
    rows = [
        ("rows", f"{result.n_rows} in {result.n_sites} site(s)"),
        ("response", response),
        *tables.found(result),
        ("penalty", f"{result.penalty:.4g}"),
        ("certificate", tables.certificate(result)),
    ]
    screen.out.print(tables.variables(result))
    screen.out.print(tables.facts(rows))
    screen.out.print()
    if out is not None:
        screen.say(f'Wrote {out}. In Python: fedsdr.result.Result.from_json("{out}")')
