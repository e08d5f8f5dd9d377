"""Sums that a site computes from its own rows, and that add up over sites."""

from fedsdr.summaries.bic import bic_dimension
from fedsdr.summaries.inputs import check_target
from fedsdr.summaries.prediction import prediction_errors
from fedsdr.summaries.slicing import (
    Kernel,
    Pairs,
    Slices,
    Smooth,
    is_discrete,
    slice_labels,
)
from fedsdr.summaries.summary import Summary, centre, summarize

__all__ = [
    "Kernel",
    "Pairs",
    "Slices",
    "Smooth",
    "Summary",
    "bic_dimension",
    "centre",
    "check_target",
    "is_discrete",
    "prediction_errors",
    "slice_labels",
    "summarize",
]
