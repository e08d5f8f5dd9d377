"""The demonstration with all sites in this process."""

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fedsdr.cli import tables
from fedsdr.cli.screen import Screen, check_writable, keep_former

if TYPE_CHECKING:
    from fedsdr.result import Result
    from fedsdr.simulate import Simulation

NEXT_STEP = "fedsdr fit FILE --target y --site-column hospital"

SITES, ROWS, FEATURES = 10, 200, 150


def run_in_process(
    *,
    out: Path | None,
    seed: int,
    sites: int | None,
    rows: int | None,
    features: int | None,
    json: bool,
) -> None:
    """Simulate rows, fit them, and show the result beside the truth."""
    from fedsdr.cli import demo_truth

    n_sites, n_rows, n_features = sites or SITES, rows or ROWS, features or FEATURES
    if out is None and not json:
        out = Path("result.json")
    screen = Screen(quiet=json)
    with screen.polite():
        check_writable(out)
        with screen.stage("Simulating") as stage:
            from fedsdr.simulate import make_setting

            data = make_setting(
                3, n_sites=n_sites, n_per_site=n_rows, n_features=n_features,
                random_state=seed,
            )  # fmt: skip
            stage.done = (
                f"Simulated {n_sites} sites of {n_rows} rows, {n_features} variables"
            )
        with screen.stage("Fitting") as stage:
            result = _fit(data, seed)
            stage.done = "Chose the dimension and the penalty, fitted, certified"
        with screen.stage("Comparing") as stage:
            figures = demo_truth.compare(result, data)
            stage.done = "Compared with the truth, and with an oracle that knows it"
        former = keep_former(out)
        if former is not None:
            screen.note(f"{out} existed, and was kept as {former}")
        text = result.to_json(out)
    if json:
        found = {"mode": "in-process", **figures, "result": json_format.loads(text)}
        typer.echo(json_format.dumps(found))
        return
    screen.out.print(tables.variables(result, data.support))
    screen.out.print(tables.facts(demo_truth.describe(result, data, figures)))
    screen.out.print()
    screen.say(f"Wrote {out}. With a file of your own:")
    screen.say(f"    {NEXT_STEP}")


def _fit(data: "Simulation", seed: int) -> "Result":
    from fedsdr import FedSSIR

    model = FedSSIR(n_directions="auto", penalty="universal", random_state=seed)
    return model.fit(data.X, data.y, sites=data.sites).result_
