"""What a site computes from its own rows: two sums that add up over sites."""

from fedsdr.summaries.inputs import check_target
from fedsdr.summaries.one_site import centre, summarize
from fedsdr.summaries.prediction import prediction_errors
from fedsdr.summaries.slicing import is_discrete, slice_labels
from fedsdr.summaries.summary import Summary

__all__ = [
    "Summary",
    "centre",
    "check_target",
    "is_discrete",
    "prediction_errors",
    "slice_labels",
    "summarize",
]
