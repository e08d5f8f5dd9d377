"""Choosing the dimension, the penalty and the final directions from sums."""

from fedsdr.selection.dimension import bic_dimension, elect_dimension, sparse_dimension
from fedsdr.selection.estimate import Estimate, estimate, orthonormal
from fedsdr.selection.evidence import Choices, Evidence
from fedsdr.selection.refit import leading_directions, refit_directions
from fedsdr.selection.universal import universal_penalty
from fedsdr.selection.validation import moment_score

__all__ = [
    "Choices",
    "Estimate",
    "Evidence",
    "bic_dimension",
    "elect_dimension",
    "estimate",
    "leading_directions",
    "moment_score",
    "orthonormal",
    "refit_directions",
    "sparse_dimension",
    "universal_penalty",
]
