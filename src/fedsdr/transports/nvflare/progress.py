"""How far a study is, written to a file at the coordinator."""

import json
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fedsdr.files import write_atomically
from fedsdr.transports.nvflare.node_settings import PROGRESS_FILE

RUNNING, FINISHED, FAILED = "running", "finished", "failed"

#: Ways in which a study that has not finished has ended.
REFUSED, INTERRUPTED = "refused", "interrupted"

WAITING, AWAY = "waiting", "away"


@dataclass(frozen=True)
class Ending:
    """Why a study has stopped.

    Parameters
    ----------
    kind : str, default=""
        See `Snapshot.ending`.
    problem : str, default=""
        In words.
    lost : dict of str to str
        Fixed codes of the sites that it stopped for.
    """

    kind: str = ""
    problem: str = ""
    lost: dict[str, str] = field(default_factory=dict)


@dataclass
class Snapshot:
    """Where a study is.

    Parameters
    ----------
    state : str, default="running"
        "running", "finished" or "failed".
    exchange : int, default=0
        Number of messages that the coordinator has sent to all sites of a round.
    message : str, default=""
        Name of the last one.
    sites : dict of str to str
        "waiting", "away" (no connection), "answered" or a fixed code, for each site of
        the last exchange.
    sent, received : dict of str to int
        Bytes to and from each site since the job began.
    problem : str, default=""
        Why it failed.
    ending : str, default=""
        Of a study that has failed: "refused" if a site or a rule has to change,
        "interrupted" if it goes on once sites are back, "failed" otherwise.
    lost : dict of str to str
        Fixed codes of the sites that it stopped for.
    updated : float, default=0.0
        When anything changed last, in seconds since 1970.
    begun : float, default=0.0
        When the last message was sent.
    """

    state: str = RUNNING
    exchange: int = 0
    message: str = ""
    sites: dict[str, str] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    received: dict[str, int] = field(default_factory=dict)
    problem: str = ""
    ending: str = ""
    lost: dict[str, str] = field(default_factory=dict)
    updated: float = 0.0
    begun: float = 0.0

    def awaited(self, now: float) -> dict[str, float]:
        """List sites whose answer is awaited.

        Parameters
        ----------
        now : float
            Seconds since 1970.

        Returns
        -------
        dict of str to float
            For how many seconds each of them is; none once the study has ended.
        """
        if self.state != RUNNING:
            return {}
        seconds = max(0.0, now - (self.begun or self.updated))
        waiting = (site for site, word in self.sites.items() if word in (WAITING, AWAY))
        return dict.fromkeys(sorted(waiting), seconds)


class NodeProgress:
    """Writes a `Snapshot` whenever something happens.

    Parameters
    ----------
    folder : Path
        Of the study, at the coordinator.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / PROGRESS_FILE
        self._now = Snapshot()
        # Answers arrive in threads of NVFLARE.
        self._lock = threading.Lock()

    def asked(self, message: str, sizes: dict[str, int]) -> None:
        """Note that an exchange begins.

        Parameters
        ----------
        message : str
            Name of the message.
        sizes : dict of str to int
            Bytes for each site.
        """
        with self._lock:
            self._now.exchange += 1
            self._now.message = message
            self._now.begun = time.time()
            self._now.sites = dict.fromkeys(sizes, WAITING)
            add_counts(self._now.sent, sizes)
            self._write()

    def answered(self, site: str, size: int) -> None:
        """Note an answer.

        Parameters
        ----------
        site : str
            Who answered.
        size : int
            Bytes of the answer.
        """
        with self._lock:
            self._now.sites[site] = "answered"
            add_counts(self._now.received, {site: size})
            self._write()

    def failed(self, sites: Iterable[str], code: str) -> None:
        """Note sites that are lost.

        Parameters
        ----------
        sites : iterable of str
            Who failed.
        code : str
            How.
        """
        with self._lock:
            self._now.sites.update(dict.fromkeys(sites, code))
            self._write()

    def missed(self, sites: Iterable[str]) -> None:
        """Note which of the sites that are awaited have no connection now.

        Parameters
        ----------
        sites : iterable of str
            Their names.
        """
        away = set(sites)
        with self._lock:
            before = dict(self._now.sites)
            for site, word in before.items():
                if word in (WAITING, AWAY):
                    self._now.sites[site] = AWAY if site in away else WAITING
            if self._now.sites != before:
                self._write()

    def end(self, state: str, ending: Ending | None = None) -> None:
        """Note how a study ended.

        Parameters
        ----------
        state : {"finished", "failed"}
            How.
        ending : Ending, optional
            Why it failed.
        """
        ending = Ending() if ending is None else ending
        with self._lock:
            self._now.state = state
            self._now.problem = ending.problem
            self._now.ending = ending.kind
            self._now.lost = dict(ending.lost)
            if not self._write():
                # A full disk has no room for a second file, but the one that stands
                # there may be overwritten: the reason of a failure must not be lost.
                with suppress(OSError):
                    self.path.write_text(json.dumps(asdict(self._now)))

    def _write(self) -> bool:
        self._now.updated = time.time()
        # A full disk must not lose an answer; what has to be kept is not kept here,
        # and nothing waits for the disk.
        try:
            text = json.dumps(asdict(self._now))
            write_atomically(self.path, text, durable=False)
        except OSError:
            return False
        return True


def read_progress(folder: Path) -> Snapshot | None:
    """Read how far a study is.

    Parameters
    ----------
    folder : Path
        Of the study, at the coordinator.

    Returns
    -------
    Snapshot or None
        None before the study began.
    """
    try:
        return Snapshot(**json.loads((folder / PROGRESS_FILE).read_text()))
    except (FileNotFoundError, ValueError):
        # The latter while the end of a study is written to a full disk.
        return None


def add_counts(total: dict[str, int], counts: dict[str, int]) -> None:
    """Add counts to a total, in place.

    Parameters
    ----------
    total : dict of str to int
        Changed.
    counts : dict of str to int
        Added.
    """
    for key, count in counts.items():
        total[key] = total.get(key, 0) + count
