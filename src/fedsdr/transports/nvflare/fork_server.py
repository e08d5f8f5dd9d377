"""A process that is ready to become the process of a job, by forking.

A node starts one as ``python -m``. It imports what a job needs and waits. For each job
it forks a process, which reads the job from a socket of its own: this one knows no job
and no credentials, opens no file of the node, and answers nobody else. It ends when its
node does, whatever happens to that, and so do the jobs.
"""

import gc
import json
import logging
import os
import select
import signal
import socket
import sys
import traceback
from contextlib import suppress

from fedsdr.transports.nvflare.job_process import load_all, run_job

#: What a node sends, with the socket of the job.
FORK = b"j"

#: What it is told: once, that all is imported; for each job the number of its process,
#: and its exit code in the end.
READY, STARTED, ENDED = "ready", "started", "ended"


class ForkServer:
    """Forks processes for a node.

    Parameters
    ----------
    kind : {"site", "coordinator"}
        Whose jobs.
    control : socket
        Connected to the node.
    """

    def __init__(self, kind: str, control: socket.socket) -> None:
        self._kind = kind
        self._control = control
        self._jobs: set[int] = set()
        # Signals write to it, so that the end of a job wakes the loop.
        self._awake, self._alarm = os.pipe()
        for end in (self._awake, self._alarm):
            os.set_blocking(end, False)

    def serve(self) -> None:
        """Fork whenever the node asks for it, until the node is gone."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._alarm)
        try:
            self._tell(READY)
            while True:
                asking = self._control.fileno()
                ready, _, _ = select.select([asking, self._awake], [], [])
                if self._awake in ready:
                    os.read(self._awake, 4096)
                self._report()
                if asking in ready:
                    asked, sockets, _, _ = socket.recv_fds(self._control, 1, 1)
                    if asked != FORK:
                        return
                    self._fork(sockets[0])
        except OSError:
            # The node is gone.
            return
        finally:
            for job in self._jobs:
                with suppress(ProcessLookupError):
                    os.kill(job, signal.SIGKILL)

    def _fork(self, descriptor: int) -> None:
        parent = os.getpid()
        job = os.fork()
        if job == 0:
            self._become_job(descriptor, parent)
        os.close(descriptor)
        self._jobs.add(job)
        self._tell(STARTED, job)

    def _become_job(self, descriptor: int, parent: int) -> None:
        """Run a job in the process that was just forked, and end it."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            self._control.close()
            os.close(self._awake)
            os.close(self._alarm)
            with socket.socket(fileno=descriptor) as source, source.makefile() as text:
                job = json.load(text)
            os.environ.update(job["environment"])
            code = run_job(self._kind, job["arguments"], parent)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _report(self) -> None:
        for job in list(self._jobs):
            done, status = os.waitpid(job, os.WNOHANG)
            if done:
                self._jobs.discard(job)
                self._tell(ENDED, job, os.waitstatus_to_exitcode(status))

    def _tell(self, *words: object) -> None:
        self._control.sendall((" ".join(map(str, words)) + "\n").encode("ascii"))


if __name__ == "__main__":
    kind, descriptor = sys.argv[1], int(sys.argv[2])
    load_all(kind)
    # Pages that are never written to stay shared with the jobs.
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as control:
        ForkServer(kind, control).serve()
