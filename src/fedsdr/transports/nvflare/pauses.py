"""NVFLARE's fixed pauses, shortened: what can be waited for is not slept through."""

import threading
import time
from types import ModuleType
from typing import Any

# Seconds for which a site's question for work is kept until there is some, between two
# looks meanwhile, and the same if many sites ask at once. Each question that is kept
# occupies one of NVFLARE's 64 threads for answers.
HOLD, STEP = 0.5, 0.005
BRIEFLY = 0.05
MOST_HELD = 32


class _Clock:
    """The module ``time``, with another sleep."""

    def __init__(self, sleep: Any) -> None:
        self.sleep = sleep

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


def shorten_sleeps(longest: float, *modules: ModuleType) -> None:
    """Let functions of modules sleep for a short time only.

    Parameters
    ----------
    longest : float
        Seconds.
    *modules : module
        Modules of NVFLARE that look again after a sleep, so that a shorter one changes
        nothing but when they notice something.
    """
    for module in modules:
        module.time = _Clock(lambda s: time.sleep(min(s, longest)))  # type: ignore[attr-defined]


class Bell:
    """Wakes sleepers, also those who were awake when it rang and sleep later."""

    def __init__(self) -> None:
        self._rings = 0
        self._changed = threading.Condition()
        self._heard = threading.local()

    def ring(self) -> None:
        """Wake everybody."""
        with self._changed:
            self._rings += 1
            self._changed.notify_all()

    def sleep(self, seconds: float) -> None:
        """Sleep until the bell rings, or has rung since the last sleep.

        Parameters
        ----------
        seconds : float
            At most.
        """
        heard = getattr(self._heard, "rings", 0)
        with self._changed:
            self._changed.wait_for(lambda: self._rings != heard, seconds)
            self._heard.rings = self._rings


def wake_job_runner() -> None:
    """Let the coordinator's node see at once that a job came in, or is over.

    NVFLARE looks once a second for jobs to start, and for jobs that have ended.
    """
    from nvflare.apis.impl.job_def_manager import SimpleJobDefManager
    from nvflare.private.fed.server import job_runner
    from nvflare.private.fed.server.server_engine import ServerEngine

    bell = Bell()
    job_runner.time = _Clock(bell.sleep)
    for kind, name in (
        (SimpleJobDefManager, "create"),
        (ServerEngine, "wait_for_complete"),
        (job_runner.JobRunner, "resolve_client_outcome"),
    ):
        setattr(kind, name, _ringing(getattr(kind, name), bell))


def _ringing(function: Any, bell: Bell) -> Any:
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        finally:
            bell.ring()

    return call


def hold_questions() -> None:
    """Let the coordinator's job answer a site that asks for work when there is some.

    NVFLARE answers at once that there is none, and the site would have to ask again all
    the time: each message of a study would wait for the next question.
    """
    from nvflare.private.fed.server.server_runner import ServerRunner

    look = ServerRunner._try_to_get_task
    places = threading.BoundedSemaphore(MOST_HELD)

    def wait_for_task(self: Any, client: Any, fl_ctx: Any) -> Any:
        held = places.acquire(blocking=False)
        try:
            seconds = HOLD if held else BRIEFLY
            return look(self, client, fl_ctx, timeout=seconds, retry_interval=STEP)
        finally:
            if held:
                places.release()

    ServerRunner._try_to_get_task = wait_for_task
