"""The protocol of studies: sums under masks, so that only their totals are seen."""

from fedsdr.protocols.secure.agreed_study import AgreedStudy
from fedsdr.protocols.secure.saved_sums import SumFolder
from fedsdr.protocols.secure.secure_coordinator import SecureSum
from fedsdr.protocols.secure.secure_site import SecureSite

__all__ = [
    "AgreedStudy",
    "SecureSite",
    "SecureSum",
    "SumFolder",
]
