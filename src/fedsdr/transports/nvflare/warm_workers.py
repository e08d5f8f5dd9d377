"""A node's side of the process that is ready for jobs: start it, hand jobs to it."""

import json
import logging
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from nvflare.apis.job_launcher_spec import JobHandleSpec, JobReturnCode
from nvflare.app_common.job_launcher.process_launcher import JOB_RETURN_CODE_MAPPING

from fedsdr.transports.nvflare.fork_server import ENDED, FORK, READY, STARTED

logger = logging.getLogger(__name__)

#: Variable of a node's environment: "0" lets each job start a process of its own.
WARM_VARIABLE = "FEDSDR_WARM"

#: What is started.
PROGRAM = (sys.executable, "-u", "-m", "fedsdr.transports.nvflare.fork_server")

# Seconds for the process to become ready, and to fork. The coordinator's node gives a
# site 20 seconds to start a job.
WARM_UP = 10.0
FORKING = 5.0

KILLED = -int(signal.SIGKILL)


class NotWarmError(RuntimeError):
    """No process is ready for a job."""


class WarmJob(JobHandleSpec):
    """A job in a process that was forked.

    Parameters
    ----------
    pid : int
        Number of the process, which leads a group of its own.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None
        self._over = threading.Event()

    def end(self, code: int) -> None:
        """Note that the process has ended.

        Parameters
        ----------
        code : int
            Its exit code.
        """
        self._code = code
        self._over.set()

    def terminate(self) -> None:
        """Kill the process, with those that it has started."""
        if not self._over.is_set():
            for kill in (os.killpg, os.kill):
                with suppress(ProcessLookupError, PermissionError):
                    kill(self.pid, signal.SIGKILL)

    def poll(self) -> int:
        """Look whether the process has ended.

        Returns
        -------
        int
            One of NVFLARE's codes.
        """
        if self._code is None:
            return int(JobReturnCode.UNKNOWN)
        error = JobReturnCode.EXECUTION_ERROR
        return int(JOB_RETURN_CODE_MAPPING.get(self._code, error))

    def wait(self) -> None:
        """Wait until the process has ended."""
        self._over.wait()


class WarmWorkers:
    """The process that is ready for the jobs of one node.

    Parameters
    ----------
    kind : {"site", "coordinator"}
        Whose jobs.

    Notes
    -----
    The socket between the two has no name, so that nobody else can ask for anything,
    and it is closed by the system when either of them ends.
    """

    def __init__(self, kind: str) -> None:
        self._jobs: dict[int, WarmJob] = {}
        self._started: queue.Queue[WarmJob | None] = queue.Queue()
        self._turn = threading.Lock()
        # Set also when the process has ended.
        self._ready = threading.Event()
        self._control, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            self.process = subprocess.Popen(
                [*PROGRAM, kind, str(number)],
                stdin=subprocess.DEVNULL,
                pass_fds=[number],
            )
        threading.Thread(target=self._listen, name="warm", daemon=True).start()

    def is_alive(self) -> bool:
        """Look whether the process is there.

        Returns
        -------
        bool
            Whether it has not ended.
        """
        return self.process.poll() is None

    def launch(
        self, arguments: Sequence[str], environment: Mapping[str, str]
    ) -> WarmJob:
        """Run a job.

        Parameters
        ----------
        arguments : sequence of str
            Of NVFLARE's program.
        environment : mapping of str to str
            Credentials of the job, which no other process is told.

        Returns
        -------
        WarmJob
            Running. A `NotWarmError` if the process is not ready, or cannot fork; in
            the second case it is ended.
        """
        if not self._ready.wait(WARM_UP):
            raise NotWarmError("it is not ready yet")
        content = {"arguments": list(arguments), "environment": dict(environment)}
        with self._turn:
            try:
                ours, theirs = socket.socketpair()
                with ours, theirs:
                    socket.send_fds(self._control, [FORK], [theirs.fileno()])
                    ours.sendall(json.dumps(content).encode())
                job = self._started.get(timeout=FORKING)
            except OSError:
                job = None
            except queue.Empty:
                self.end()
                raise NotWarmError("it does not answer") from None
        if job is None:
            self.end()
            raise NotWarmError("it has ended")
        return job

    def end(self) -> None:
        """End the process, and with it all of its jobs."""
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        self._control.close()

    def _listen(self) -> None:
        """Take what the process tells, until it ends."""
        try:
            with self._control.makefile(encoding="ascii") as lines:
                for line in lines:
                    word, *numbers = line.split()
                    if word == READY:
                        self._ready.set()
                    elif word == STARTED:
                        job = WarmJob(int(numbers[0]))
                        self._jobs[job.pid] = job
                        self._started.put(job)
                    elif word == ENDED:
                        self._jobs.pop(int(numbers[0])).end(int(numbers[1]))
        except OSError:
            pass
        finally:
            self._ready.set()
            self._started.put(None)
            for job in self._jobs.values():
                job.terminate()
                job.end(KILLED)
