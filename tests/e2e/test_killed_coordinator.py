"""A study continues after its coordinator is killed, in every round."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from tests.e2e.chains import SITES, Interrupted, interrupted_study
from tests.e2e.holding import MESSAGES, PATIENCE, cut_power, kill_process

pytestmark = [
    pytest.mark.e2e,
    # NVFLARE's own.
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
]

# In every round when all answers are there, and nothing has been done with them.
KILLS = {
    "secure.agree": "process",
    "secure.keys": "process",
    "secure.shares": "process",
    "secure.verify": "process",
    "secure.masked": "power",
    "secure.confirm": "process",
    "secure.unmask": "power",
    "secure.result": "process",
}


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """Mount a disk of 256 kB at a folder, if root may do that."""
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "fedsdr", str(folder)]
    is_small = (
        os.geteuid() == 0
        and shutil.which("mount") is not None
        and subprocess.run(command, capture_output=True).returncode == 0
    )
    try:
        yield is_small
    finally:
        if is_small:
            subprocess.run(["umount", str(folder)], check=True)


def check_full_disk(study: Interrupted) -> None:
    """Fill the disk before a sum is stored."""
    study.holds.at("coordinator", "secure.unmask", "before")
    command = study.attempt()
    study.holds.wait()
    filler = study.nodes.state / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as stream:
        while True:
            stream.write(bytes(4096))
    study.holds.release()
    done = command.end()
    filler.unlink()
    assert done.exit_code == 1
    assert "No space left on device; make room there, and resume" in done.stderr
    assert study.has_results() == set()
    study.check_ledgers()
    study.wait_until_idle()


def test_coordinator_is_killed_in_every_round(tmp_path: Path) -> None:
    assert tuple(KILLS) == MESSAGES
    state = tmp_path / "state"
    state.mkdir()
    with small_disk(state) as is_small, interrupted_study(tmp_path) as study:
        if is_small:
            check_full_disk(study)
        for message, what in KILLS.items():
            study.holds.at("coordinator", message, "after")
            command = study.attempt()
            number = study.holds.wait()
            study.holds.nowhere()
            if what == "process":
                kill_process(number)
                problem = f"the coordinator's process ended at '{message}'"
            else:
                cut_power(study.nodes, "the coordinator")
                problem = "the coordinator's node does not answer"
            done = command.end()
            last = message == "secure.result"
            # Its last sum was finished, so that the command tries once more.
            assert done.exit_code == (0 if last else 5)
            assert problem in done.stderr
            assert study.has_results() == ({*SITES, "coordinator"} if last else set())
            study.check_ledgers()
            if what == "power":
                study.nodes.start_server()
                study.nodes.nodes.wait_for_server(study.nodes.kits.server, PATIENCE)
            study.wait_until_idle()
        released = study.released()
        assert study.attempt().end().exit_code == 0
        study.check_ledgers()
        study.check_result()
        assert study.released() == released
