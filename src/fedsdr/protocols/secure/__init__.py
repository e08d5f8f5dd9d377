"""The default protocol under masks: the coordinator sees sums, and nothing else."""

from fedsdr.protocols.secure.coordinator import SecureSum
from fedsdr.protocols.secure.gate import Gate, OpenGate, Release, RuleGate
from fedsdr.protocols.secure.site import SecureSite
from fedsdr.protocols.secure.state import Folder
from fedsdr.protocols.secure.study import Study

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
