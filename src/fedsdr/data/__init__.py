"""Reading the rows that a site holds."""

from fedsdr.data.matrix import read_rows, to_matrix, to_response
from fedsdr.data.source import Source
from fedsdr.data.sources import open_source
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
