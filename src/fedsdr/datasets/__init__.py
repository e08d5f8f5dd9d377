"""Public data sets: read from a folder, or fetched from OpenML."""

from fedsdr.datasets.communities import load_communities
from fedsdr.datasets.credit import load_credit_default
from fedsdr.datasets.source import Dataset

__all__ = ["Dataset", "load_communities", "load_credit_default"]
