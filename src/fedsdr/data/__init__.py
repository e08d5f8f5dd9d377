"""Reading the rows that a site holds."""

from typing import TYPE_CHECKING

from fedsdr.lazy_names import import_lazily

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

__getattr__ = import_lazily(
    __name__,
    {
        "Source": "fedsdr.data.source",
        "Table": "fedsdr.data.table",
        "open_source": "fedsdr.data.opening",
        "read_rows": "fedsdr.data.table",
        "read_table": "fedsdr.data.table",
        "to_matrix": "fedsdr.data.columns",
        "to_response": "fedsdr.data.columns",
    },
)
