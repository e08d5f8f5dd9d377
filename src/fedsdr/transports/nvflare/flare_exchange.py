"""The exchange over NVFLARE: one task per site, and its answer or a code."""

import math
import threading
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from nvflare.apis.controller_spec import ClientTask, SendOrder, Task

from fedsdr.protocols.exchange import Failures, Payloads, Replies
from fedsdr.protocols.wire import encode
from fedsdr.transports.nvflare.envelope import pack_request, read_reply
from fedsdr.transports.nvflare.node_names import node_name, sites_of_nodes
from fedsdr.transports.nvflare.node_settings import TASK
from fedsdr.transports.nvflare.patience import read_grace, read_patience
from fedsdr.transports.nvflare.progress import NodeProgress
from fedsdr.transports.nvflare.reachability import Reachability
from fedsdr.transports.nvflare.registrations import read_registrations

# Seconds between two looks at the signal that ends a job.
LOOK = 0.2


class AbortedError(RuntimeError):
    """NVFLARE ends the job: somebody stopped it, or a site's process died.

    Parameters
    ----------
    name : str
        Of the message that was on its way.
    missing : tuple of str
        Sites that had not answered.
    """

    def __init__(self, name: str, missing: tuple[str, ...]) -> None:
        super().__init__(name, missing)
        self.name = name
        self.missing = missing

    def __str__(self) -> str:
        return (
            f"the job was ended before {', '.join(self.missing)} had answered to "
            f"'{self.name}': a process died there, or somebody stopped the job"
        )


class _Inbox:
    """Answers to one message, as they come in from threads of NVFLARE."""

    def __init__(self, sites: set[str], progress: NodeProgress) -> None:
        self.replies: Replies = {}
        self.failures: Failures = {}
        self._missing = set(sites)
        self._names = sites_of_nodes(sites)
        self._progress = progress
        self._changed = threading.Condition()

    def receive(self, client_task: ClientTask, fl_ctx: Any) -> None:
        """Take an answer: NVFLARE calls this."""
        del fl_ctx
        answer = read_reply(client_task.result)
        client_task.result = None
        site = self._names.get(client_task.client.name, "")
        with self._changed:
            if site not in self._missing:
                return
            self._missing.discard(site)
            if isinstance(answer, str):
                self.failures[site] = answer
                self._progress.failed([site], answer)
            else:
                self.replies[site], size = answer
                self._progress.answered(site, size)
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait a while; return whether no site is missing any more."""
        with self._changed:
            self._changed.wait_for(lambda: not self._missing, seconds)
            return not self._missing

    def missing(self) -> tuple[str, ...]:
        """List sites that have not answered."""
        with self._changed:
            return tuple(sorted(self._missing))

    def give_up(self, sites: Iterable[str], code: str) -> None:
        """Wait no longer for sites, if they have not answered yet."""
        with self._changed:
            lost = self._missing.intersection(sites)
            self._missing -= lost
            if lost:
                self.failures.update(dict.fromkeys(lost, code))
                self._progress.failed(lost, code)


class TaskExchange:
    """Sends messages as tasks of a controller.

    Parameters
    ----------
    controller : Controller
        Of the job.
    fl_ctx : FLContext
        Of the job.
    abort_signal : Signal
        Triggered when the job must end.
    progress : NodeProgress
        Notes everything.

    Notes
    -----
    The time for an answer begins when a message is sent. A site that has not taken any
    message of this job yet is still starting its process, and its time begins when it
    takes the first one.
    """

    def __init__(
        self, controller: Any, fl_ctx: Any, abort_signal: Any, progress: NodeProgress
    ) -> None:
        self._controller = controller
        self._fl_ctx = fl_ctx
        self._abort = abort_signal
        self._progress = progress
        self._patience = read_patience()
        engine = fl_ctx.get_engine()
        node = Path(engine.get_workspace().get_root_dir())
        self._reachability = Reachability(
            engine, read_grace(), partial(read_registrations, node)
        )
        self._started: set[str] = set()

    def __call__(
        self, name: str, payloads: Payloads, timeout: float
    ) -> tuple[Replies, Failures]:
        """Exchange one message with each site.

        Parameters
        ----------
        name : str
            Of the message.
        payloads : mapping of str to mapping
            Content for each site.
        timeout : float
            Seconds after which a site that has not answered has failed.

        Returns
        -------
        replies : dict of str to dict
            From the sites that answered.
        failures : dict of str to str
            A fixed code for each of the others.
        """
        packed = {site: encode(payload) for site, payload in payloads.items()}
        self._progress.asked(name, {site: len(one) for site, one in packed.items()})
        engine = self._fl_ctx.get_engine()
        nodes = {client.name for client in engine.get_clients()}
        here = {site for site in packed if node_name(site) in nodes}
        inbox = _Inbox(set(packed), self._progress)
        inbox.give_up(set(packed) - here, "LEFT")
        tasks = {
            site: self._send(name, site, packed[site], timeout, inbox)
            for site in packed
            if site in here
        }
        with self._reachability.watched(inbox.missing):
            self._wait(name, inbox, tasks, timeout)
        for task in tasks.values():
            if task.completion_status is None:
                self._controller.cancel_task(task)
        return inbox.replies, inbox.failures

    def _wait(
        self, name: str, inbox: _Inbox, tasks: dict[str, Task], timeout: float
    ) -> None:
        """Wait until no site is missing any more, be it with an answer or without."""
        sent = time.monotonic()
        due = dict.fromkeys(tasks, sent + timeout)
        due.update(
            (site, sent + self._patience) for site in tasks if site not in self._started
        )
        while not inbox.wait(LOOK):
            if self._abort.triggered:
                raise AbortedError(name, inbox.missing())
            now = time.monotonic()
            for site, task in tasks.items():
                if site not in self._started and task.client_tasks:
                    self._started.add(site)
                    due[site] = now + timeout
            late = {site for site, moment in due.items() if moment <= now}
            # NVFLARE ends the task of a site whose node has been silent for long.
            ended = {
                site
                for site, task in tasks.items()
                if task.completion_status is not None
            }
            inbox.give_up(ended | self._reachability.lost(), "LEFT")
            inbox.give_up(late & self._reachability.mute(), "LEFT")
            inbox.give_up(late, "TIMEOUT")
            self._progress.missed(
                self._reachability.away().intersection(inbox.missing())
            )
        self._started.update(inbox.replies)
        self._reachability.heard(inbox.replies)

    def _send(
        self, name: str, site: str, packed: bytes, timeout: float, inbox: _Inbox
    ) -> Task:
        # The exchange keeps the time itself; NVFLARE must not end the task before.
        seconds = math.ceil(timeout + self._patience) + 1
        task = Task(
            name=TASK,
            data=pack_request(name, packed),
            timeout=seconds,
            result_received_cb=inbox.receive,
        )
        self._controller.send(
            task=task,
            fl_ctx=self._fl_ctx,
            targets=[node_name(site)],
            send_order=SendOrder.SEQUENTIAL,
            task_assignment_timeout=seconds,
        )
        return task
