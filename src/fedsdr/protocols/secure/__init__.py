"""The default protocol under masks: the coordinator sees sums, and nothing else."""

from fedsdr.protocols.secure.agreed_study import Study
from fedsdr.protocols.secure.release_gate import Gate, OpenGate, Release, RuleGate
from fedsdr.protocols.secure.saved_sums import Folder
from fedsdr.protocols.secure.secure_coordinator import SecureSum
from fedsdr.protocols.secure.secure_site import SecureSite

__all__ = [
    "Folder",
    "Gate",
    "OpenGate",
    "Release",
    "RuleGate",
    "SecureSite",
    "SecureSum",
    "Study",
]
