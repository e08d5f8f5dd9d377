"""How a study is, from what the coordinator's node writes: the one source of views."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from fedsdr.exceptions import Refusal
from fedsdr.protocols.wire import decode
from fedsdr.study.conducting import CLAIM, JOURNAL, RESULT
from fedsdr.transports.nvflare.progress import RUNNING, Snapshot, read_progress

#: What sites do in each round.
ROUNDS = {
    "secure.agree": "agree on the study",
    "secure.keys": "show their keys",
    "secure.shares": "share secrets with each other",
    "secure.verify": "check each other's shares",
    "secure.masked": "send their sums under masks",
    "secure.confirm": "confirm who takes part",
    "secure.unmask": "open the masks of the sum",
    "secure.result": "receive the result",
}


@dataclass(frozen=True, slots=True)
class Round:
    """One message to all sites, once it is over.

    Parameters
    ----------
    message : str
        Its name.
    answered : int
        Sites that answered.
    seconds : float
        That it took.
    failures : mapping of str to str, default={}
        Fixed code of each site that did not answer.
    ended : float, default=0.0
        When it was over, in seconds since 1970.
    """

    message: str
    answered: int
    seconds: float
    failures: Mapping[str, str] = field(default_factory=dict)
    ended: float = 0.0


@dataclass(frozen=True, slots=True)
class SumView:
    """A sum that was begun.

    Parameters
    ----------
    kind : str
        Name of its question, "moments" for example.
    sites : tuple of str
        Over which it is.
    n_values : int
        Numbers in it; 0 while it is not finished.
    changed : float
        When its file was written, in seconds since 1970.
    """

    kind: str
    sites: tuple[str, ...]
    n_values: int
    changed: float


@dataclass(frozen=True, slots=True)
class StudyView:
    """What a coordinator can see of a study.

    Parameters
    ----------
    snapshot : Snapshot or None
        Where it is; None before it began.
    rounds : tuple of Round
        Messages that are over.
    sums : tuple of SumView
        Sums that were begun, in their order.
    result : Path or None
        File of the result, once it is there.
    now : float
        When somebody looked, in seconds since 1970.
    """

    snapshot: Snapshot | None
    rounds: tuple[Round, ...]
    sums: tuple[SumView, ...]
    result: Path | None
    now: float

    @property
    def runs(self) -> bool:
        """Whether the last word of the coordinator is that it runs."""
        return self.snapshot is not None and self.snapshot.state == RUNNING

    @property
    def awaited(self) -> dict[str, float]:
        """Sites whose answer is awaited, and the seconds for which it is."""
        return {} if self.snapshot is None else self.snapshot.awaited(self.now)

    @property
    def still(self) -> float:
        """Seconds since anything has changed."""
        shot = self.snapshot
        return 0.0 if shot is None else max(0.0, self.now - shot.updated)


def look_at_study(state: Path) -> StudyView:
    """Look how a study is; nothing is changed, and nobody is asked.

    Parameters
    ----------
    state : Path
        Folder of the study, at the coordinator.

    Returns
    -------
    StudyView
        Now.
    """
    result = state / RESULT
    return StudyView(
        read_progress(state),
        read_rounds(state),
        _read_sums(state),
        result if result.exists() else None,
        time.time(),
    )


def read_rounds(state: Path) -> tuple[Round, ...]:
    """Read which messages of a study are over.

    Parameters
    ----------
    state : Path
        Folder of the coordinator.

    Returns
    -------
    tuple of Round
        From its journal; the first one begins when the coordinator claims the folder.
    """
    try:
        before = (state / CLAIM).stat().st_mtime
        text = (state / JOURNAL).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    rounds = []
    # What follows the last end of line is still being written.
    for line in text[: text.rfind("\n") + 1].splitlines():
        step = json.loads(line)
        now = datetime.fromisoformat(step["time"]).timestamp()
        # Other steps are the coordinator's own.
        if "." in step["name"]:
            seconds = max(0.0, now - before)
            rounds.append(
                Round(
                    step["name"],
                    len(step["answered"]),
                    seconds,
                    dict(step["failures"]),
                    now,
                )
            )
        before = now
    return tuple(rounds)


def _read_sums(state: Path) -> tuple[SumView, ...]:
    found = []
    for file in state.glob("*.round"):
        try:
            about = file.stat()
            found.append(_read_sum(file, about.st_mtime_ns, about.st_size))
        except (OSError, Refusal, KeyError):
            # Voided at this moment, or damaged, which the coordinator will say.
            continue
    return tuple(sorted(found, key=lambda one: (one.changed, one.kind)))


@lru_cache(maxsize=256)
def _read_sum(file: Path, changed: int, _size: int) -> SumView:
    """Read what is known of a sum, once for each version of its file."""
    saved = decode(file.read_bytes())
    values = saved.get("values", ())
    sites = tuple(sorted(map(str, saved["sites"])))
    kind = file.name.partition("-")[0].replace(".", "/")
    return SumView(kind, sites, len(values), changed / 1e9)
