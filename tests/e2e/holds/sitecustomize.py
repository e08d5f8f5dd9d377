"""Make a process of a node wait at the point where a test kills it.

Python imports this module first if its folder is in PYTHONPATH. The file ``hold`` in
the folder FEDSDR_TEST_HOLDS names a party, a message and a moment. A process that gets
there writes its process number to ``held``, and continues when that file is deleted.
What a coordinator sends can be changed, too, see `lies`. With FEDSDR_TEST_WEAK sites
compute with any value that they are sent, and before they look at anything else.
"""

import importlib.util
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

FOLDER = os.environ.get("FEDSDR_TEST_HOLDS")


def hold(party: str, message: str, moment: str) -> None:
    """Wait, if this is the chosen point."""
    folder = Path(FOLDER or ".")
    try:
        wanted = (folder / "hold").read_text()
    except FileNotFoundError:
        return
    if wanted == f"{party} {message} {moment}":
        partial = folder / f"{os.getpid()}"
        partial.write_text(str(os.getpid()))
        held = partial.replace(folder / "held")
        while held.exists():
            time.sleep(0.05)


def weaken() -> None:
    """Take defences away in this process, once."""
    if os.environ.pop("FEDSDR_TEST_WEAK", None):
        from tests.attacks import weakened

        from fedsdr.protocols.secure import secure_coordinator

        patch: Any = SimpleNamespace(setattr=setattr)
        weakened.compute_first(patch)
        weakened.count_no_gaps(patch)
        lie_consistently(secure_coordinator)
        # A coordinator that lies does not mind impossible sums.
        secure_coordinator.check_possible = lambda *_, **__: None  # type: ignore[assignment]


def lie_consistently(module: ModuleType) -> None:
    """Let the coordinator itself believe in its value, so that its digests fit."""
    add = module.SecureSum.add

    def lying(self: Any, statistic: str, request: Any, *rest: Any) -> Any:
        import numpy as np
        from lies import OWN

        if statistic == "moments" and (Path(FOLDER or ".") / "lies").exists():
            request = {**request, "means": np.array([OWN])}
        return add(self, statistic, request, *rest)

    module.SecureSum.add = lying


def hold_site(module: ModuleType) -> None:
    """Hold a site before it reads a message, or before it sends its answer."""
    answer = module.StudySite.handle

    def handle(self: Any, name: str, payload: Any) -> Any:
        hold(self.name, name, "before")
        reply = answer(self, name, payload)
        hold(self.name, name, "after")
        return reply

    module.StudySite.handle = handle
    weaken()


def hold_coordinator(module: ModuleType) -> None:
    """Hold the coordinator before it asks, or after it has received all answers."""
    exchange = module.TaskExchange.__call__

    def call(self: Any, name: str, payloads: Any, timeout: float) -> Any:
        from lies import lie

        hold("coordinator", name, "before")
        answers = lie(partial(exchange, self), name, payloads, timeout)
        hold("coordinator", name, "after")
        return answers

    module.TaskExchange.__call__ = call
    weaken()


CHANGES: dict[str, Callable[[ModuleType], None]] = {
    "fedsdr.study.study_site": hold_site,
    "fedsdr.transports.nvflare.flare_exchange": hold_coordinator,
}


class Finder(MetaPathFinder):
    """Import hook that changes a module after its import."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Find a module that is to be changed, by the other finders."""
        change = CHANGES.pop(name, None)
        if change is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_change(module: ModuleType) -> None:
            execute(module)
            change(module)

        spec.loader.exec_module = execute_and_change  # type: ignore[method-assign]
        return spec


if FOLDER:
    sys.meta_path.insert(0, Finder())
