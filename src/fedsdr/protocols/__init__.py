"""Which party does what, in which round: one folder a protocol, engine-free."""

from fedsdr.protocols.rows import Rows
from fedsdr.protocols.seam import Exchange, IncompleteError, Party, Refusal
from fedsdr.protocols.site_rows import SiteRows
from fedsdr.protocols.streamed_rows import StreamedRows
from fedsdr.protocols.terms import Terms

__all__ = [
    "Exchange",
    "IncompleteError",
    "Party",
    "Refusal",
    "Rows",
    "SiteRows",
    "StreamedRows",
    "Terms",
]
