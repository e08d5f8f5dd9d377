"""Machines of a campaign: each has a disk, a clock and a power switch of its own.

All parties of a story run in one process. While the code of a machine runs, its calls
to the operating system meet the disk of that machine, and its clock is that machine's.
"""

import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any, Literal
from unittest import mock

#: Modules that look at the clock while a study runs.
CLOCKS = (
    "fedsdr.disclosure.ledger",
    "fedsdr.disclosure.peer_book",
    "fedsdr.disclosure.privacy_budget",
    "fedsdr.run",
    "fedsdr.study.conducting",
    "fedsdr.study.study_site",
)

#: Modes in which a file is opened for writing.
_WRITING = frozenset("wax+")


class PowerCut(BaseException):
    """A process is gone; of its state only the disk remains."""


@dataclass
class Machine:
    """A computer of one party.

    Parameters
    ----------
    name : str
        Name of the party.
    """

    name: str
    clock: timedelta = timedelta()
    #: What happens at one of the next calls that change the disk, and at which one.
    trouble: Literal["", "cut", "full"] = ""
    calls: int = 0
    is_full: bool = False
    is_dead: bool = False

    def plan(self, trouble: Literal["cut", "full"], calls: int) -> None:
        """Let the disk fail at a later call."""
        self.trouble, self.calls = trouble, calls

    def mend(self) -> None:
        """Make room on the disk, and set the clock."""
        self.trouble, self.is_full = "", False

    def meet(self, kind: str) -> None:
        """Come to a call that changes the disk; it may be the last one."""
        if self.is_dead:
            raise PowerCut(self.name)
        if self.trouble:
            self.calls -= 1
            if self.calls <= 0:
                self.is_dead = self.trouble == "cut"
                self.is_full = self.trouble == "full"
                self.trouble = ""
        if self.is_dead:
            raise PowerCut(self.name)
        # Names can be changed and removed on a full disk.
        if self.is_full and kind != "name":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


_running: list[Machine] = []


@contextmanager
def running(machine: Machine) -> Iterator[None]:
    """Run the code of a machine in the block."""
    machine.is_dead = False
    _running.append(machine)
    try:
        yield
    finally:
        _running.pop()


def _meet(kind: str) -> None:
    if _running:
        _running[-1].meet(kind)


class _Clock(datetime):
    """The time as the running machine sees it."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        shift = _running[-1].clock if _running else timedelta()
        return datetime.now(tz) + shift


def _write(write: Callable[[int, bytes], int]) -> Callable[[int, bytes], int]:
    def torn(descriptor: int, data: bytes) -> int:
        try:
            _meet("content")
        except (PowerCut, OSError):
            # Some of it was written.
            write(descriptor, bytes(data)[: len(data) // 2])
            raise
        return write(descriptor, data)

    return torn


def _after(kind: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def met(*arguments: Any, **options: Any) -> Any:
        _meet(kind)
        return call(*arguments, **options)

    return met


def _open_descriptor(call: Callable[..., int]) -> Callable[..., int]:
    def opened(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if flags & os.O_CREAT:
            _meet("content")
        return call(path, flags, *rest, **options)

    return opened


def _open_file(call: Callable[..., Any]) -> Callable[..., Any]:
    def opened(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if not isinstance(file, int) and _WRITING.intersection(mode):
            _meet("content")
        return call(file, mode, *rest, **options)

    return opened


@contextmanager
def machine_room() -> Iterator[None]:
    """Let calls to the operating system meet the machines in the block."""
    with (
        mock.patch("os.write", _write(os.write)),
        mock.patch("os.fsync", _after("content", os.fsync)),
        mock.patch("os.open", _open_descriptor(os.open)),
        mock.patch("io.open", _open_file(io.open)),
        mock.patch("os.replace", _after("name", os.replace)),
        mock.patch("os.unlink", _after("name", os.unlink)),
    ):
        patches = [mock.patch(f"{module}.datetime", _Clock) for module in CLOCKS]
        for patch in patches:
            patch.start()
        try:
            yield
        finally:
            for patch in patches:
                patch.stop()
