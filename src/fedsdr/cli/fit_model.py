"""What ``fedsdr fit`` does with a model of the response: writes it, scores it."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from fedsdr.cli.screen import Screen, keep_former

if TYPE_CHECKING:
    from fedsdr.preparation.analysis import AnalysisTable
    from fedsdr.result import Result

ModelFile = Annotated[
    Path | None,
    typer.Option(
        help="File for a model that predicts the response from the reduced variables, "
        "for 'fedsdr predict'.",
        show_default=False,
    ),
]
Evaluate = Annotated[
    int | None,
    typer.Option(
        min=2,
        help="Number of folds: how well held-out rows are predicted, beside a lasso "
        "and all variables.",
        show_default=False,
    ),
]


def _holds_classes(table: "AnalysisTable") -> bool:
    """Tell two classes from numbers; more classes are an error."""
    from fedsdr.exceptions import InputError
    from fedsdr.summaries import check_target

    if table.y.nunique() == 2:
        return True
    if check_target(table.y).dtype.kind != "f":
        raise InputError(
            f"the response has {table.y.nunique()} classes, and models predict numbers "
            "or two classes: make two of them, as in --target 'stage > 2'"
        )
    return False


def write_new_model(
    screen: Screen,
    path: Path,
    table: "AnalysisTable",
    settings: dict[str, Any],
    result: "Result",
) -> None:
    """Fit a model on the reduced variables of a result, and write it."""
    from fedsdr import FedSSIR
    from fedsdr.downstream import our_model
    from fedsdr.prediction import write_model

    classes = _holds_classes(table)
    with screen.stage("Fitting the model") as stage:
        fitted = our_model(FedSSIR(**settings), classes=classes)
        fitted.fit(table.X, table.y, sites=table.sites, **table.marks)
        found = fitted.model_
        free = found.freedom - 1
        stage.done = (
            f"Fitted {found.splines.n_axes} curve(s), {free:.1f} degrees of freedom"
        )
    reduction = found.result
    kept = {
        name: result.settings[name]
        for name in ("preparation", "filled_with")
        if name in result.settings
    }
    reduction = replace(reduction, settings={**reduction.settings, **kept})
    former = keep_former(path)
    if former is not None:
        screen.note(f"{path} existed, and was kept as {former}")
    write_model(replace(found, result=reduction), path)
    screen.remark(f"Wrote {path}. Predict: fedsdr predict {path} FILE")


def show_scores(
    screen: Screen, n_folds: int, table: "AnalysisTable", settings: dict[str, Any]
) -> None:
    """Print cross-validated scores beside those of a lasso and of all variables."""
    import warnings

    from fedsdr import FedSSIR
    from fedsdr.downstream import our_model, score_folds, site_folds, usual_models

    classes = _holds_classes(table)
    seed = settings["random_state"]
    models = {"fedsdr": our_model(FedSSIR(**settings), classes=classes)}
    models |= usual_models(classes=classes, random_state=seed)
    folds = list(site_folds(table.sites, table.y, n_folds=n_folds, random_state=seed))
    with screen.stage(f"Fitting without each of {n_folds} folds") as stage:
        with warnings.catch_warnings():
            # Of the whole fit they have been shown.
            warnings.simplefilter("ignore")
            found = score_folds(models, table.X, table.y, table.sites, folds)
        stage.done = f"Fitted three models without each of {n_folds} folds"
    shown = Table(box=box.SIMPLE, pad_edge=False)
    shown.add_column("held-out rows", no_wrap=True)
    names = ("AUC", "log loss") if classes else ("R2", "root mean squared error")
    for name in (*names, "variables"):
        shown.add_column(name, justify="right")
    for name, one in found.items():
        got = one.measures
        numbers = (got.auc, got.log_loss) if classes else (got.r2, got.mse**0.5)
        fewest, most = min(one.n_variables), max(one.n_variables)
        count = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        shown.add_row(name, f"{numbers[0]:.3f}", f"{numbers[1]:.4g}", count)
    # A table for people; --json keeps stdout for the result.
    (screen.err if screen.quiet else screen.out).print(shown)
