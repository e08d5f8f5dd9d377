"""Transports, which carry the messages of a protocol between its parties."""

from fedsdr.transports.in_process import InProcess
from fedsdr.transports.transcript import Message, Transcript

__all__ = ["InProcess", "Message", "Transcript"]
