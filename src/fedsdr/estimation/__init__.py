"""On the variables selected: directions, and variables that were missed."""

from fedsdr.estimation.directions import (
    Estimate,
    estimate,
    leading_directions,
    orthonormal,
    refit_directions,
)

__all__ = [
    "Estimate",
    "estimate",
    "leading_directions",
    "orthonormal",
    "refit_directions",
]
