"""Ctrl-C and SIGTERM: leave by unwinding the stack, but never between two steps."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True, eq=False)
class Interrupts:
    """Signals that end a program, put off while that would lose a process.

    Parameters
    ----------
    depth : int, default=0
        Number of blocks that must not be interrupted.
    pending : int or None, default=None
        Signal that came meanwhile.
    """

    depth: int = 0
    pending: int | None = None

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle signals for a while; only the main thread can.

        Yields
        ------
        None
            Signals raise `KeyboardInterrupt` or `SystemExit` in the block.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._receive) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Put signals off until the end of a block.

        Yields
        ------
        None
            What came meanwhile is raised at the end.
        """
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            if not self.depth and self.pending is not None:
                number, self.pending = self.pending, None
                _leave(number)

    def _receive(self, number: int, frame: object) -> None:
        del frame
        if self.depth:
            self.pending = number
        else:
            _leave(number)


def _leave(number: int) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
