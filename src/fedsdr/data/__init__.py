"""Reading the rows that a site holds."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedsdr.data.columns import to_matrix, to_response
    from fedsdr.data.opening import open_source
    from fedsdr.data.source import Source
    from fedsdr.data.table import Table, read_rows, read_table

__all__ = [
    "Source",
    "Table",
    "open_source",
    "read_rows",
    "read_table",
    "to_matrix",
    "to_response",
]

_MODULES = {
    "Source": "source",
    "Table": "table",
    "open_source": "opening",
    "read_rows": "table",
    "read_table": "table",
    "to_matrix": "columns",
    "to_response": "columns",
}


def __getattr__(name: str) -> Any:
    """Import what is used when it is used: rooms above need only names of columns."""
    if name not in _MODULES:
        raise AttributeError(f"module 'fedsdr.data' has no attribute {name!r}")
    return getattr(import_module(f"fedsdr.data.{_MODULES[name]}"), name)
