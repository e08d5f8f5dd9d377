"""What each protocol sends: one file a protocol."""

from fedsdr.disclosure.messages.fedsvd import FEDSVD
from fedsdr.disclosure.messages.paper import PAPER
from fedsdr.disclosure.messages.secure import SECURE
from fedsdr.disclosure.messages.sums import SUMS

__all__ = ["FEDSVD", "PAPER", "SECURE", "SUMS"]
