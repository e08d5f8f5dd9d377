"""Which sites can be reached: a node that is gone is told apart from a slow one."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.fuel.f3.message import Message

from fedsdr.transports.nvflare.node_names import sites_of_nodes
from fedsdr.transports.nvflare.registrations import digest_of

# What every process of NVFLARE answers, whatever else it does.
CHANNEL, ECHO = "_net_manager", "echo"

# Seconds between two signs of life that are asked for, and for one of them. The answer
# that counts comes at once: the coordinator's node has no connection to the site.
LOOK = 1.0
TIMEOUT = 5.0

# Signs of life in a row without which a node has left, be its machine off or a cable
# cut: the connection may look well for long. One may be lost at a machine that is busy.
MUTE = 2


class Reachability:
    """Asks sites' nodes for signs of life while the coordinator waits for answers.

    Parameters
    ----------
    engine : ServerEngine
        Of the job's process.
    grace : float
        Seconds without a connection after which a site is lost. It may come back before
        that, since nodes connect again.
    registered : callable
        Reads which registration of each site is valid now, see `read_registrations`.

    Notes
    -----
    A site that is connected and says nothing is not lost: it computes, or its machine
    is busy. How long that may take is for the study to say. A site whose node is
    registered anew was started again, does not know of the job, and is lost for it. If
    only the process of the job has died, the node reports that, and NVFLARE ends the
    job.
    """

    def __init__(
        self,
        engine: Any,
        grace: float,
        registered: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self._engine = engine
        self._grace = grace
        self._registered = registered
        self._lock = threading.Lock()
        # Since when, and whether that was confirmed during the present wait.
        self._since: dict[str, float] = {}
        self._confirmed: set[str] = set()
        self._again: set[str] = set()
        # Signs of life in a row that did not come.
        self._unanswered: dict[str, int] = {}

    def away(self) -> set[str]:
        """List sites that have no connection now.

        Returns
        -------
        set of str
            Their names; they may come back.
        """
        with self._lock:
            return {*self._confirmed, *self._again}

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
            return gone | self._again

    def mute(self) -> set[str]:
        """List sites whose nodes give no sign of life, with a connection or without.

        Returns
        -------
        set of str
            Their names. If their time is over, they have left.
        """
        with self._lock:
            return {site for site, n in self._unanswered.items() if n >= MUTE}

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
                self._unanswered.pop(site, None)

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
        known = sites_of_nodes(sites)
        clients = {
            known[client.name]: client
            for client in self._engine.get_clients()
            if client.name in known
        }
        if not clients:
            return
        registered = self._registered()
        again = {
            site
            for site, client in clients.items()
            if registered.get(client.name, own := digest_of(client.token)) != own
        }
        nodes = {site: client.get_fqcn() for site, client in clients.items()}
        replies = self._engine.get_cell().core_cell.broadcast_request(
            channel=CHANNEL,
            topic=ECHO,
            targets=list(nodes.values()),
            request=Message(),
            timeout=TIMEOUT,
            optional=True,
        )
        gone = {
            site for site, node in nodes.items() if _is_unreachable(replies.get(node))
        }
        silent = {site for site, node in nodes.items() if _is_silent(replies.get(node))}
        self.heard(set(sites) - gone - silent)
        now = time.monotonic()
        with self._lock:
            self._again |= again
            for site in silent - gone:
                # What it has is a connection, or nobody knows better.
                self._since.pop(site, None)
                self._confirmed.discard(site)
            for site in silent:
                self._unanswered[site] = self._unanswered.get(site, 0) + 1
            for site in gone:
                self._since.setdefault(site, now)
                self._confirmed.add(site)


def _is_unreachable(reply: Message | None) -> bool:
    return (
        reply is not None
        and reply.get_header(MessageHeaderKey.RETURN_CODE) == ReturnCode.COMM_ERROR
    )


def _is_silent(reply: Message | None) -> bool:
    return (
        reply is None or reply.get_header(MessageHeaderKey.RETURN_CODE) != ReturnCode.OK
    )
