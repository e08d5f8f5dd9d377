"""Public data sets: read from a folder, or fetched from OpenML where it has them."""

from fedsdr.datasets.communities import load_communities
from fedsdr.datasets.credit import load_credit_default
from fedsdr.datasets.heart import load_heart_disease
from fedsdr.datasets.origin import Dataset
from fedsdr.datasets.wine import load_wine_quality

__all__ = [
    "Dataset",
    "load_communities",
    "load_credit_default",
    "load_heart_disease",
    "load_wine_quality",
]
