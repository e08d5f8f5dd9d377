"""Which sites can be reached: a node that is gone is told apart from a slow one."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.fuel.f3.cellnet.fqcn import FQCN
from nvflare.fuel.f3.message import Message

# What every process of NVFLARE answers, whatever else it does.
CHANNEL, ECHO = "_net_manager", "echo"

# Seconds between two signs of life that are asked for, and for one of them. The answer
# that counts comes at once: the coordinator's node has no connection to the site.
LOOK = 1.0
TIMEOUT = 5.0

# Seconds for which a node may be there without the process of the job. If that has
# died, the node reports it and the job ends; a node that was started again does not
# know of the job.
WITHOUT_JOB = 4.0


class Reachability:
    """Asks sites' nodes for signs of life while the coordinator waits for answers.

    Parameters
    ----------
    engine : ServerEngine
        Of the job's process.
    grace : float
        Seconds without a connection after which a site is lost. It may come back before
        that, since nodes connect again.
    job : str
        Number of the job, which names its processes in the network.

    Notes
    -----
    A site that is connected and says nothing is not lost: it computes, or its machine
    is busy. How long that may take is for the study to say. A site whose node is
    connected while the process of the job is not, for some seconds, was started again,
    and is lost for this job.
    """

    def __init__(self, engine: Any, grace: float, job: str) -> None:
        self._engine = engine
        self._grace = grace
        self._job = job
        self._lock = threading.Lock()
        # Since when, and whether that was confirmed during the present wait.
        self._since: dict[str, float] = {}
        self._confirmed: set[str] = set()
        self._jobless: dict[str, float] = {}
        self._started: set[str] = set()

    def begun(self, site: str) -> None:
        """Note that the process of the job runs at a site.

        Parameters
        ----------
        site : str
            Name of the site.
        """
        self._started.add(site)

    def away(self) -> set[str]:
        """List sites that have no connection now.

        Returns
        -------
        set of str
            Their names; they may come back.
        """
        with self._lock:
            return {*self._confirmed, *self._jobless}

    def lost(self) -> set[str]:
        """List sites that have had no connection for too long.

        Returns
        -------
        set of str
            Their names.
        """
        now = time.monotonic()
        with self._lock:
            gone = {s for s in self._confirmed if now - self._since[s] >= self._grace}
            again = {s for s, t in self._jobless.items() if now - t >= WITHOUT_JOB}
            return gone | again

    def heard(self, sites: Iterable[str]) -> None:
        """Note sites that have answered.

        Parameters
        ----------
        sites : iterable of str
            They have a connection.
        """
        with self._lock:
            for site in sites:
                self._since.pop(site, None)
                self._confirmed.discard(site)
                self._jobless.pop(site, None)

    @contextmanager
    def watched(self, sites: Callable[[], tuple[str, ...]]) -> Iterator[None]:
        """Look again and again while a block runs.

        Parameters
        ----------
        sites : callable
            Lists those that matter now.

        Yields
        ------
        None
            To wait in. The first look comes after a second.
        """
        over = threading.Event()
        with self._lock:
            self._confirmed.clear()
            self._jobless.clear()

        def watch() -> None:
            while not over.wait(LOOK):
                self.look(sites())

        thread = threading.Thread(target=watch, name="reachability", daemon=True)
        thread.start()
        try:
            yield
        finally:
            # Not joined: an answer must not wait for a sign of life.
            over.set()

    def look(self, sites: tuple[str, ...]) -> None:
        """Ask for signs of life once.

        Parameters
        ----------
        sites : tuple of str
            Who is asked.
        """
        nodes = {
            client.name: client.get_fqcn()
            for client in self._engine.get_clients()
            if client.name in sites
        }
        if not nodes:
            return
        jobs = {
            site: FQCN.join([node, self._job])
            for site, node in nodes.items()
            if site in self._started
        }
        replies = self._engine.get_cell().core_cell.broadcast_request(
            channel=CHANNEL,
            topic=ECHO,
            targets=[*nodes.values(), *jobs.values()],
            request=Message(),
            timeout=TIMEOUT,
            optional=True,
        )
        gone = {
            site for site, node in nodes.items() if _is_unreachable(replies.get(node))
        }
        jobless = {
            site for site, one in jobs.items() if _is_unreachable(replies.get(one))
        }
        self.heard(set(sites).difference(gone, jobless))
        now = time.monotonic()
        with self._lock:
            for site in gone:
                self._since.setdefault(site, now)
                self._confirmed.add(site)
                self._jobless.pop(site, None)
            for site in jobless - gone:
                self._confirmed.discard(site)
                self._jobless.setdefault(site, now)


def _is_unreachable(reply: Message | None) -> bool:
    return (
        reply is not None
        and reply.get_header(MessageHeaderKey.RETURN_CODE) == ReturnCode.COMM_ERROR
    )
