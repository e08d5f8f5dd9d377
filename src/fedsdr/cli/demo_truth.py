"""Compare the result of a demonstration with the truth, which it knows."""

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.cli import tables

if TYPE_CHECKING:
    from fedsdr.result import Result
    from fedsdr.simulate import Simulation


def compare(result: "Result", data: "Simulation") -> dict[str, Any]:
    """Compare a result, and plain SIR on the true variables, with the truth."""
    from fedsdr.metrics import subspace_distance, support_rates

    rates = support_rates(result.support, data.support)
    return {
        "n_directions": result.n_directions,
        "true_n_directions": data.n_directions,
        "selected": np.flatnonzero(result.support).tolist(),
        "true_variables": np.flatnonzero(data.support).tolist(),
        "true_positive_rate": rates.tpr,
        "false_positive_rate": rates.fpr,
        "distance": subspace_distance(result.directions, data.B),
        "oracle_distance": subspace_distance(_oracle(data), data.B),
    }


def describe(
    result: "Result", data: "Simulation", figures: dict[str, Any]
) -> list[tuple[str, str]]:
    """Describe the comparison in words, one line per figure."""
    if result.found_nothing:
        return [
            ("dimension", f"0 chosen, {data.n_directions} true"),
            ("oracle", f"{figures['oracle_distance']:.3f}, told the true variables"),
            ("certificate", tables.certificate(result)),
        ]
    active = int(data.support.sum())
    found = int(data.support[result.support].sum())
    others = len(result.selected) - found
    largest = math.sqrt(result.n_directions + data.n_directions)
    return [
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


def _oracle(data: "Simulation") -> NDArray[np.float64]:
    """Fit SIR to the true variables and dimension, with the defaults of a study."""
    from fedsdr.estimation import refit_directions
    from fedsdr.method import Method
    from fedsdr.summaries import summarize

    kernel = Method().kernel
    with warnings.catch_warnings():
        # The fit has already printed warnings about the sites.
        warnings.simplefilter("ignore")
        summaries = [
            summarize(
                data.X[data.sites == site],
                data.y[data.sites == site],
                kernel=kernel,
                on_degenerate="zero",
                site=site,
            )
            for site in np.unique(data.sites)
        ]
    total = sum(summaries[1:], start=summaries[0])
    return refit_directions(total, data.support, data.n_directions)[0]
