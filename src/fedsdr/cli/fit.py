"""``fedsdr fit``: a sparse central subspace from the files that people have."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedsdr.cli import column_table, fit_model, loadings_table, tables
from fedsdr.cli import table_options as told
from fedsdr.cli.options import read_method, split_names
from fedsdr.cli.screen import Screen, check_writable, keep_former

if TYPE_CHECKING:
    from fedsdr.preparation.analysis import AnalysisTable
    from fedsdr.preparation.schema_file import TableSchema
    from fedsdr.result import Result

#: Facts of a fit that its summary does not have.
NOT_IN_SUMMARY = ("response", "logarithms", "doubts")


def fit(
    *,
    files: told.Files,
    target: Annotated[
        str | None,
        typer.Option(
            help="Column of the response, or an expression such as 'num > 0'.",
            show_default=False,
        ),
    ] = None,
    site_column: told.SiteColumn = None,
    weights: told.Weights = None,
    groups: told.Groups = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the result; result.json unless --json is given.",
            show_default=False,
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            help="Schema that 'fedsdr schema' wrote: what columns are taken for.",
            show_default=False,
        ),
    ] = None,
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
    select: Annotated[
        str,
        typer.Option(
            help="How variables are selected: criteria; tested (the same, with a test, "
            'a q-value and an interval for each); or fdr, "fdr(level=0.05)": those '
            "whose tests keep the false discovery rate."
        ),
    ] = "criteria",
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random choice.")] = 0,
    model: fit_model.ModelFile = None,
    evaluate: fit_model.Evaluate = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON, and only that.")
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="No progress, and not what columns were taken for."
        ),
    ] = False,
) -> None:
    """Select variables and directions from files with one row per observation.

    Says first what each column was taken for, and why; 'fedsdr schema' writes that to a
    file that can be changed. Every site is centred on its own mean, so the means of
    the sites may differ.
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
        "select": select,
    }
    written = {
        "names": names, "na": na, "sep": sep, "decimal": decimal,
        "thousands": thousands, "encoding": encoding, "skip": skip, "sheet": sheet,
        "table": database_table, "query": query,
    }  # fmt: skip
    if out is None and not json:
        out = Path("result.json")
    screen = Screen(quiet=json or quiet)
    settings = {**read_method(given), "random_state": seed}
    guesses = told.read_guess_options(missing, categorical, log, na)
    marks = told.read_marks(weights, groups, evaluate)
    with screen.polite():
        check_writable(out)
        check_writable(model)
        from fedsdr.preparation import read_schema

        agreed = None if schema is None else read_schema(schema)
        if agreed is not None and missing is not None:
            agreed = replace(agreed, missing=missing)
        taken = dict.fromkeys([*(split_names(drop) or ()), *marks.values()])
        roles = (target, site_column, split_names(columns), tuple(taken))
        options = told.read_file_options(written, site_column, agreed)
        table, used = _read(screen, files, options, (roles, marks), guesses, agreed)
        with screen.stage("Fitting") as stage:
            result = _estimate(table, settings, used)
            stage.done = "Chose the dimension and the penalty, fitted, certified"
        if model is not None:
            fit_model.write_new_model(screen, model, table, settings, result)
        former = keep_former(out)
        if former is not None:
            screen.note(f"{out} existed, and was kept as {former}")
        text = result.to_json(out)
    if json:
        typer.echo(text)
    else:
        logs = [plan.name for plan in used.columns if plan.log]
        _show(screen, result, _taken_for(table, result), logs)
    if evaluate is not None:
        with screen.polite():
            fit_model.show_scores(screen, evaluate, table, settings)
    if not json:
        evaluated = evaluate is not None
        for line in loadings_table.next_step(result, out, evaluated=evaluated):
            screen.say(line)


def _read(
    screen: Screen,
    files: list[str],
    options: Any,
    roles: tuple[Any, ...],
    guesses: Any,
    agreed: "TableSchema | None",
) -> "tuple[AnalysisTable, TableSchema]":
    """Read files, decide what columns are, and say so."""
    label = Path(files[0]).name if len(files) == 1 else f"{len(files)} files"
    with screen.stage(f"Reading {label}") as stage:
        from fedsdr.preparation.analysis import build_table, count_gaps
        from fedsdr.preparation.loading import load_files

        loaded = load_files(files, options)
        schema, reasons = decide(loaded, roles[0], guesses, agreed)
        table = build_table(loaded, schema, roles[1])
        width = table.X.shape[1]
        stage.done = f"Read {len(loaded.frame)} rows of {width} variables from {label}"
        if loaded.unnamed:
            stage.done += f", without {loaded.unnamed} column(s) that have no name"
    for remark in loaded.remarks:
        screen.remark(remark)
    # All columns are prepared again for this.
    gaps = {} if screen.quiet else count_gaps(loaded.frame, schema.columns)
    column_table.show_columns(screen, schema, reasons, gaps)
    column_table.show_rows(screen, table)
    return table, schema


def decide(
    loaded: Any, roles: tuple[Any, ...], guesses: Any, agreed: "TableSchema | None"
) -> "tuple[TableSchema, dict[str, str]]":
    """Take the schema that somebody gave, or guess one."""
    from fedsdr.exceptions import InputError
    from fedsdr.preparation.analysis import TableRoles, guess_schema, plan_target

    target, site_column, columns, drop = roles
    if agreed is None:
        if target is None:
            raise InputError("the target is not known: name it with --target")
        return guess_schema(loaded, TableRoles(*roles), guesses)
    if columns or drop:
        kept = [
            plan
            for plan in agreed.columns
            if plan.name not in drop and plan.name in (columns or [plan.name])
        ]
        agreed = replace(agreed, columns=tuple(kept))
    if target is not None:
        plan, reads = plan_target(loaded.frame, target)
        others = tuple(one for one in agreed.columns if one.name not in reads)
        agreed = replace(agreed, target=plan, columns=others)
    return replace(agreed, site_column=site_column or agreed.site_column), {}


def _estimate(
    table: "AnalysisTable", settings: dict[str, Any], schema: "TableSchema"
) -> "Result":
    from fedsdr import FedSSIR
    from fedsdr.summaries.safe_bins import bin_rows

    fitted = FedSSIR(**settings)
    found = fitted.fit(table.X, table.y, sites=table.sites, **table.marks).result_
    kept = {**found.settings, "preparation": schema.table()}
    if table.filled:
        # Gaps were filled with the mean of the column, which that did not change.
        means = {name: float(table.X[name].mean()) for name in table.filled}
        kept["filled_with"] = means
    if not found.found_nothing:
        # Sums without small cells, so that the file can be shown like the result: rows
        # count once here, a weight must not make a cell large.
        classes = found.settings["response_type"] == "classes"
        bins = bin_rows(found.place(table.X), table.y, table.sites, classes=classes)
        kept["curves"] = [one.table() for one in bins]
    return replace(found, settings=kept)


def _taken_for(table: "AnalysisTable", result: "Result") -> str:
    """Say what the response was taken for, and how to change that."""
    from fedsdr.summaries import check_target

    if result.settings["response_type"] == "ordered":
        return "numbers in their order (each value by itself: --response classes)"
    text = "classes, each value by itself"
    numeric = check_target(table.y).dtype.kind == "f"
    return f"{text} (numbers in their order: --response ordered)" if numeric else text


def _show(screen: Screen, result: "Result", response: str, logs: list[str]) -> None:
    rows = loadings_table.describe(result, response)
    if logs:
        rows.insert(2, ("logarithms", f"loadings are of the log of {', '.join(logs)}"))
    if result.certainty is not None:
        # Warnings stand above it, and most facts in it.
        summary = replace(result, warnings=()).summary()
        screen.out.print(f"\n{summary}\n", markup=False, highlight=False)
        rows = [row for row in rows if row[0] in NOT_IN_SUMMARY]
    else:
        screen.out.print(loadings_table.show_loadings(result))
    screen.out.print(tables.facts(rows))
