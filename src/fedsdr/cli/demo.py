"""``fedsdr demo``: simulated sites, a fit, and the truth beside it."""

import json as json_format
import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from fedsdr.cli import tables
from fedsdr.cli.screen import Screen, check_writable

if TYPE_CHECKING:
    from fedsdr import FedSSIR
    from fedsdr.result import Result
    from fedsdr.simulate import Simulation

NEXT_STEP = "fedsdr fit FILE --target y --site-column hospital"


def demo(
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the result; result.json unless --json is given.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation.")] = 0,
    sites: Annotated[int, typer.Option(min=1, help="Number of sites.")] = 10,
    rows: Annotated[int, typer.Option(min=1, help="Rows of every site.")] = 200,
    features: Annotated[int, typer.Option(min=1, help="Number of variables.")] = 150,
    json: Annotated[
        bool, typer.Option("--json", help="Print the figures as JSON, and only that.")
    ] = False,
) -> None:
    """Simulate sites with shifted covariates, fit, and compare with the truth.

    The model has two directions and five active variables; their number, the
    directions and the variables are all chosen from the data.
    """
    if out is None and not json:
        out = Path("result.json")
    screen = Screen(quiet=json)
    with screen.polite():
        check_writable(out)
        with screen.stage("Simulating") as stage:
            from fedsdr.simulate import make_setting

            data = make_setting(
                3, n_sites=sites, n_per_site=rows, n_features=features,
                random_state=seed,
            )  # fmt: skip
            stage.done = f"Simulated {sites} sites of {rows} rows, {features} variables"
        with screen.stage("Fitting") as stage:
            model = _estimate(data, seed)
            stage.done = "Chose the dimension and the penalty, fitted, certified"
        with screen.stage("Comparing") as stage:
            figures = _compare(model, data)
            stage.done = "Compared with the truth, and with an oracle that knows it"
        result = model.result_
        text = result.to_json(out)
    if json:
        typer.echo(json_format.dumps({**figures, "result": json_format.loads(text)}))
    else:
        _show(screen, result, data, figures, out)


def _estimate(data: "Simulation", seed: int) -> "FedSSIR":
    from fedsdr import FedSSIR

    model = FedSSIR(n_directions="auto", penalty="universal", random_state=seed)
    return model.fit(data.X, data.y, sites=data.sites)


def _compare(model: "FedSSIR", data: "Simulation") -> dict[str, Any]:
    from fedsdr.metrics import subspace_distance, support_rates

    rates = support_rates(model.support_, data.support)
    return {
        "n_directions": model.n_directions_,
        "true_n_directions": data.n_directions,
        "selected": np.flatnonzero(model.support_).tolist(),
        "true_variables": np.flatnonzero(data.support).tolist(),
        "true_positive_rate": rates.tpr,
        "false_positive_rate": rates.fpr,
        "distance": subspace_distance(model.directions_, data.B),
        "oracle_distance": subspace_distance(_oracle(model, data), data.B),
    }


def _oracle(model: "FedSSIR", data: "Simulation") -> NDArray[np.float64]:
    """Plain SIR on the true variables and dimension, from the same sums."""
    from fedsdr.selection import refit_directions
    from fedsdr.summaries import summarize

    with warnings.catch_warnings():
        # The fit has already said what is wrong with a site.
        warnings.simplefilter("ignore")
        summaries = [
            summarize(
                data.X[data.sites == site],
                data.y[data.sites == site],
                slice_size=model.slice_size,
                kernel=model.kernel,
                on_degenerate="zero",
                site=site,
            )
            for site in np.unique(data.sites)
        ]
    total = sum(summaries[1:], start=summaries[0])
    return refit_directions(total, data.support, data.n_directions)[0]


def _show(
    screen: Screen,
    result: "Result",
    data: "Simulation",
    figures: dict[str, Any],
    out: Path | None,
) -> None:
    active = int(data.support.sum())
    found = int(data.support[result.support].sum())
    others = len(result.selected) - found
    largest = math.sqrt(result.n_directions + data.n_directions)
    rows = [
        ("dimension", f"{result.n_directions} chosen, {data.n_directions} true"),
        ("eigenvalues", tables.eigenvalues(result)),
        ("selected", f"{found} of the {active} true variables, {others} others"),
        (
            "distance",
            f"{figures['distance']:.3f} from the truth, {largest:.3g} at most",
        ),
        ("oracle", f"{figures['oracle_distance']:.3f}, told the true variables"),
        ("certificate", tables.certificate(result)),
    ]
    screen.out.print(tables.variables(result, data.support))
    screen.out.print(tables.facts(rows))
    screen.out.print()
    if out is not None:
        screen.say(f"Wrote {out}. With a file of your own:")
        screen.say(f"    {NEXT_STEP}")
