"""Reading the rows that a site holds."""

from fedsdr.data.table import Table, read_table

__all__ = ["Table", "read_table"]
