"""Which party does what, in which round, whatever carries the messages."""

from fedsdr.protocols.exchange import Exchange, IncompleteError, Party, Refusal

__all__ = ["Exchange", "IncompleteError", "Party", "Refusal"]
