"""Which party does what, in which round: one folder a protocol, engine-free."""

from fedsdr.protocols.seam import Exchange, IncompleteError, Party, Refusal

__all__ = ["Exchange", "IncompleteError", "Party", "Refusal"]
