"""What a long computation is doing, told to whoever listens.

The library never prints. Functions that take long call `tell`; a command line, or an
estimator with ``verbose``, listens. Only names of steps and numbers of them are told.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Doing:
    """What is being done now.

    Parameters
    ----------
    step : str
        What is done, as a participle: "selecting variables".
    done, total : int, default=0
        Number of its parts that are done, and of all; 0 of 0 if it has no parts.
    """

    step: str
    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        return f"{self.step}, {self.done} of {self.total}" if self.total else self.step


Hear = Callable[[Doing], None]

_LISTENER: ContextVar[Hear | None] = ContextVar("fedsdr_listener", default=None)


def tell(step: str, done: int = 0, total: int = 0) -> None:
    """Say what is being done, if anybody listens.

    Parameters
    ----------
    step : str
        What is done, as a participle.
    done, total : int, default=0
        Number of its parts that are done, and of all.
    """
    hear = _LISTENER.get()
    if hear is not None:
        hear(Doing(step, done, total))


@contextmanager
def listening(hear: Hear | None) -> Iterator[None]:
    """Listen to what is told meanwhile.

    Parameters
    ----------
    hear : callable or None
        Function that is called with every `Doing`; None changes nothing.

    Yields
    ------
    None
        Nothing.
    """
    if hear is None:
        yield
        return
    token = _LISTENER.set(hear)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def written_by(name: str) -> Hear:
    """Make a listener that writes each step to stderr, with the seconds since now.

    Parameters
    ----------
    name : str
        What the lines begin with.

    Returns
    -------
    callable
        Listener.
    """
    start = time.perf_counter()
    last = ""

    def hear(doing: Doing) -> None:
        nonlocal last
        if doing.step == last:
            return
        last = doing.step
        seconds = time.perf_counter() - start
        sys.stderr.write(f"[{name}] {seconds:6.1f} s  {doing.step}\n")

    return hear
