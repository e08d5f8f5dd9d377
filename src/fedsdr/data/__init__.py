"""Reading the rows that a site holds."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fedsdr.data.matrix import read_rows, to_matrix, to_response
from fedsdr.data.source import Source
from fedsdr.data.sources import open_source

if TYPE_CHECKING:
    from fedsdr.data.table import Table, read_table

__all__ = [
    "Source",
    "Table",
    "open_source",
    "read_rows",
    "read_table",
    "to_matrix",
    "to_response",
]


def __getattr__(name: str) -> Any:
    """Import what makes data frames when it is used: a site's process does without."""
    if name not in __all__:
        raise AttributeError(f"module 'fedsdr.data' has no attribute {name!r}")
    return getattr(import_module("fedsdr.data.table"), name)
