"""Estimation of directions on the selected variables, and search for missed ones."""

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
