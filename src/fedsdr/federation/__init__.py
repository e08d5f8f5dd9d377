"""Running a protocol: what carries messages between its parties."""

from fedsdr.federation.in_process import InProcess
from fedsdr.federation.transcript import Message, Transcript

__all__ = ["InProcess", "Message", "Transcript"]
