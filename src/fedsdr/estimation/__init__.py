"""Estimation of directions on the selected variables, and search for missed ones."""

from fedsdr.estimation.directions import (
    Estimate,
    estimate_pooled,
    leading_directions,
    orthonormal,
    refit_directions,
)

__all__ = [
    "Estimate",
    "estimate_pooled",
    "leading_directions",
    "orthonormal",
    "refit_directions",
]
