"""How long to wait for a node, which may be busy or whose machine may be."""

import os
import time
from collections.abc import Iterator

from fedsdr.exceptions import InputError

#: Variable of the environment: seconds after which any wait for a node ends. What is
#: waited for are events, so that a long limit makes nothing slower.
PATIENCE_VARIABLE = "FEDSDR_PATIENCE"
PATIENCE = 600.0

#: Variable of the environment of the coordinator's node: seconds for which a site that
#: takes part may be without a connection.
GRACE_VARIABLE = "FEDSDR_GRACE"
GRACE = 60.0

# Seconds that a first question may take, and any later one.
FIRST = 5.0
LONGEST = 60.0

# Seconds between a question without an answer and the next one, at most.
PAUSE = 2.0


def read_patience() -> float:
    """Look up how long a wait for a node may take.

    Returns
    -------
    float
        Seconds: ``FEDSDR_PATIENCE`` of the environment, or ten minutes.
    """
    return _read_seconds(PATIENCE_VARIABLE, PATIENCE)


def read_grace() -> float:
    """Look up how long a site that takes part may be without a connection.

    Returns
    -------
    float
        Seconds: ``FEDSDR_GRACE`` of the environment, or a minute.
    """
    return _read_seconds(GRACE_VARIABLE, GRACE)


def _read_seconds(variable: str, default: float) -> float:
    text = os.environ.get(variable, "")
    if not text:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < float("inf"):
        raise InputError(f"{variable} is {text!r}: set it to a number of seconds")
    return seconds


def growing_waits(patience: float) -> Iterator[float]:
    """Give time to one try after the other, and more each time.

    Parameters
    ----------
    patience : float
        Seconds after which there is no further try. There is always a first one.

    Yields
    ------
    float
        Seconds that the next try may take. There is a pause between two tries.
    """
    deadline = time.monotonic() + patience
    seconds = FIRST
    while True:
        yield seconds
        if time.monotonic() >= deadline:
            return
        time.sleep(min(0.1 * seconds, PAUSE))
        seconds = min(2.0 * seconds, LONGEST)
