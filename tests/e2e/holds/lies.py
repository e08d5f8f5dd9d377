"""A coordinator that lies, in the process of its node.

The file ``lies`` in the folder FEDSDR_TEST_HOLDS switches it on. It asks a site for
moments with fill values of its own choice, before any other site has answered; writes
the codes of the refusals to ``codes.json``; and sends a fill value of its own choice
to all sites when the study comes to its moments.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

VICTIM = "east"
FILLS = [0.0, 1.0, 1e6, 1e12, 1e20, 1e40]
OWN = 1e6


def lie(exchange: Any, name: str, payloads: Any, timeout: float) -> Any:
    """Exchange a message, changed or with others after it."""
    folder = Path(os.environ["FEDSDR_TEST_HOLDS"])
    if not (folder / "lies").exists():
        return exchange(name, payloads, timeout)
    asked = next(iter(payloads.values())).get("statistic")
    if (name, asked) == ("secure.keys", "moments"):
        payloads = {site: changed(own) for site, own in payloads.items()}
    answers = exchange(name, payloads, timeout)
    if name == "secure.agree":
        codes = [interrogate(exchange, fill, timeout) for fill in FILLS]
        (folder / "codes.json").write_text(json.dumps(codes))
    return answers


def changed(payload: Any) -> Any:
    """Put another value in place of the mean."""
    return {**payload, "request": {**payload["request"], "means": np.array([OWN])}}


def interrogate(exchange: Any, fill: float, timeout: float) -> list[str]:
    """Ask one site, without the others, for masked moments at a fill value."""
    tag = {"round": f"alone at {fill:g}"}
    asked = {**tag, "statistic": "moments", "request": {"means": np.array([fill])}}
    found = []
    for name, payload in (
        ("secure.keys", asked),
        ("secure.masked", {**tag, "boxes": {}}),
    ):
        _, failures = exchange(name, {VICTIM: payload}, timeout)
        found.append(failures.get(VICTIM, "answered"))
    return found
