"""The rows of one site, and the sums that can be computed from them."""

from fedsdr.rows.memory_rows import MemoryRows
from fedsdr.rows.own_sites import Communication, OwnSites, split_sites
from fedsdr.rows.site_rows import Rows
from fedsdr.rows.streamed_rows import StreamedRows

__all__ = [
    "Communication",
    "MemoryRows",
    "OwnSites",
    "Rows",
    "StreamedRows",
    "split_sites",
]
