"""Stories of a campaign: a study, and what goes wrong in it, drawn from a seed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from tests.study.consortia import FILLED, NAMES, simulate_rows

COORDINATOR = "coordinator"

#: Kinds of studies: their parameters, and how many messages they take.
POOLED: dict[str, Any] = {"refit": "pooled"}
KINDS: dict[str, int] = {"moments": 8, "gaps": 15, "default": 44}

#: What can happen. "repeat" is a message that arrives twice.
SITE_FAULTS = (
    "kill", "cut power", "stop", "restart", "double start", "repeat", "cut", "slow",
    "full disk", "edit study", "edit site", "edit rows", "edit ledger", "clock",
)  # fmt: skip
COORDINATOR_FAULTS = (
    "kill", "cut power", "double start", "cut", "full disk", "edit study", "edit sums",
    "edit members", "clock",
)  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong.

    Parameters
    ----------
    kind : str
        One of `SITE_FAULTS` or `COORDINATOR_FAULTS`.
    victim : str
        A site, or the coordinator.
    at : int
        Number of the message at which it happens, counted through the whole story.
    late : bool, default=False
        Whether the message is answered before it happens, so that the answer is lost.
    length : int, default=3
        Messages until it is over by itself, for what ends by itself.
    amount : int, default=1
        Days of a clock; call to the disk, counted from the message on.
    """

    kind: str
    victim: str
    at: int
    late: bool = False
    length: int = 3
    amount: int = 1


@dataclass(frozen=True)
class Story:
    """A study and its faults.

    Parameters
    ----------
    study : str
        Key of `KINDS`.
    faults : tuple of Fault
        What goes wrong.
    warm : bool, default=False
        Whether processes of sites stay from one job to the next.
    choice : {"wait", "leave out", "void"}, default="wait"
        What the coordinator does about a lost site: wait for it, go on without it where
        that is possible, or ask all stewards to void what was begun.
    """

    study: str
    faults: tuple[Fault, ...]
    warm: bool = False
    choice: str = "wait"


def draw_story(seed: int) -> Story:
    """Draw a study and one to three faults."""
    rng = np.random.default_rng([20261118, seed])
    study = str(rng.choice(list(KINDS), p=[0.35, 0.45, 0.2]))
    count = int(rng.choice([1, 2, 3], p=[0.5, 0.3, 0.2]))
    faults = tuple(_draw_fault(rng, KINDS[study]) for _ in range(count))
    warm = bool(rng.random() < 0.5)
    choice = str(rng.choice(["wait", "leave out", "void"], p=[0.7, 0.2, 0.1]))
    return Story(study, faults, warm, choice)


def _draw_fault(rng: np.random.Generator, n_messages: int) -> Fault:
    at_coordinator = rng.random() < 0.3
    kinds = COORDINATOR_FAULTS if at_coordinator else SITE_FAULTS
    return Fault(
        kind=str(rng.choice(kinds)),
        victim=COORDINATOR if at_coordinator else str(rng.choice(NAMES)),
        at=int(rng.integers(1, n_messages + 1)),
        late=bool(rng.random() < 0.5),
        length=int(rng.integers(1, 8)),
        amount=int(rng.integers(1, 25)),
    )


def columns_of(study: str) -> dict[str, Any]:
    """Return what differs from a usual study file."""
    if study == "default":
        return {}
    columns = {f"x{j}": {"type": "number"} for j in range(6)}
    if study == "gaps":
        columns |= {"x1": FILLED}
    return {"columns": columns, "model": POOLED}


def rows_of(study: str) -> pd.DataFrame:
    """Return the rows of all sites."""
    rows = simulate_rows()
    if study == "gaps":
        rows.loc[::5, "x1"] = float("nan")
    return rows


def edited(rows: pd.DataFrame, site: str) -> pd.DataFrame:
    """Change one row of a site."""
    changed = rows.copy()
    (first, *_) = changed.index[(changed["site"] == site) & changed["x1"].notna()]
    changed.loc[first, ["x0", "x1"]] += 1.0
    return changed
