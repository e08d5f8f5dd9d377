"""The process that is ready for jobs: it forks, it knows nothing, it ends."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import psutil
import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from nvflare.apis.job_launcher_spec import JobReturnCode

from fedsdr.transports.nvflare import warm_workers
from fedsdr.transports.nvflare.job_processes import SiteJobs, job_arguments
from fedsdr.transports.nvflare.pauses import Bell, shorten_sleeps
from fedsdr.transports.nvflare.warm_workers import NotWarmError, WarmWorkers

PATIENCE = 120.0

# A fork server whose jobs write what they know into a file, and then end as told.
SCRIPT = """
import os, socket, sys, time
from pathlib import Path
from fedsdr.secure_sum import Identity
from fedsdr.transports.nvflare import fork_server

def run_job(kind, arguments, parent):
    file, end = arguments
    known = [kind, str(parent), os.environ.get("SECRET", ""), str(os.getsid(0))]
    known.append(Identity.generate().public.hex())
    Path(file + ".new").write_text(" ".join(known))
    Path(file + ".new").rename(file)
    while end == "stay":
        time.sleep(0.1)
    return int(end)

fork_server.run_job = run_job
with socket.socket(fileno=int(sys.argv[2])) as control:
    fork_server.ForkServer(sys.argv[1], control).serve()
"""


def wait_for(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_gone(pid: int) -> bool:
    """Look whether a process has ended, be it that nobody has asked how."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests wait longer than nodes do: a machine may be busy."""
    monkeypatch.setattr(warm_workers, "WARM_UP", PATIENCE)
    monkeypatch.setattr(warm_workers, "FORKING", PATIENCE)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "server.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def warm(script: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WarmWorkers]:
    monkeypatch.setattr(warm_workers, "PROGRAM", (sys.executable, str(script)))
    found = WarmWorkers("site")
    yield found
    found.end()


def test_each_job_has_a_process_of_its_own(warm: WarmWorkers, tmp_path: Path) -> None:
    files = [tmp_path / "one", tmp_path / "two"]
    jobs = [warm.launch([str(file), "stay"], {"SECRET": file.name}) for file in files]
    for file in files:
        wait_for(file.exists)
    one, two = (file.read_text().split() for file in files)
    # A session of its own, as NVFLARE's own processes of jobs have.
    for job, known in zip(jobs, (one, two), strict=True):
        server = str(warm.process.pid)
        assert known[:4] == ["site", server, known[2], str(job.pid)]
        assert job.poll() == JobReturnCode.UNKNOWN
    assert [one[2], two[2]] == ["one", "two"]
    # Random numbers of a fork are not those of another one.
    assert one[4] != two[4]
    jobs[0].terminate()
    jobs[0].wait()
    assert jobs[0].poll() == JobReturnCode.EXECUTION_ERROR
    assert jobs[1].poll() == JobReturnCode.UNKNOWN
    assert is_gone(jobs[0].pid)
    assert not is_gone(jobs[1].pid)


def test_the_process_that_waits_is_told_no_secret(
    warm: WarmWorkers, tmp_path: Path
) -> None:
    file = tmp_path / "job"
    job = warm.launch([str(file), "0"], {"SECRET": "a token of this job"})
    job.wait()
    assert file.exists()
    server = Path(f"/proc/{warm.process.pid}")
    if server.exists():
        assert b"a token of this job" not in (server / "environ").read_bytes()
    # Nor any file or socket of a job: its own ends of pipes, and the node's.
    assert psutil.Process(warm.process.pid).open_files() == []


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("0", JobReturnCode.SUCCESS),
        ("1", JobReturnCode.EXECUTION_ERROR),
        ("9", JobReturnCode.ABORTED),
        ("nonsense", JobReturnCode.EXECUTION_ERROR),
    ],
)
def test_a_node_learns_how_a_job_has_ended(
    warm: WarmWorkers, tmp_path: Path, end: str, code: int
) -> None:
    job = warm.launch([str(tmp_path / "job"), end], {})
    job.wait()
    assert job.poll() == code


def test_jobs_end_with_the_process_that_forked_them(
    warm: WarmWorkers, tmp_path: Path
) -> None:
    file = tmp_path / "job"
    job = warm.launch([str(file), "stay"], {})
    wait_for(file.exists)
    warm.process.kill()
    job.wait()
    assert job.poll() == JobReturnCode.EXECUTION_ERROR
    wait_for(lambda: is_gone(job.pid))
    with pytest.raises(NotWarmError, match="it has ended"):
        warm.launch([str(file), "0"], {})
    assert not warm.is_alive()


def test_a_process_that_is_not_ready_in_time_stays_for_the_next_job(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = tmp_path / "held"
    held.touch()
    waiting = "import time, pathlib\n"
    waiting += f"while pathlib.Path({str(held)!r}).exists(): time.sleep(0.02)\n"
    script.write_text(waiting + SCRIPT)
    monkeypatch.setattr(warm_workers, "PROGRAM", (sys.executable, str(script)))
    monkeypatch.setattr(warm_workers, "WARM_UP", 0.1)
    warm = WarmWorkers("site")
    try:
        with pytest.raises(NotWarmError, match="not ready yet"):
            warm.launch([str(tmp_path / "job"), "0"], {})
        assert warm.is_alive()
        held.unlink()
        monkeypatch.setattr(warm_workers, "WARM_UP", PATIENCE)
        job = warm.launch([str(tmp_path / "job"), "0"], {})
        job.wait()
        assert job.poll() == JobReturnCode.SUCCESS
    finally:
        warm.end()


def test_nothing_is_left_of_a_node_that_is_killed(script: Path, tmp_path: Path) -> None:
    file, numbers = tmp_path / "job", tmp_path / "numbers"
    node = (
        "import sys, time; from pathlib import Path\n"
        "from fedsdr.transports.nvflare import warm_workers\n"
        f"warm_workers.PROGRAM = (sys.executable, {str(script)!r})\n"
        f"warm_workers.WARM_UP = warm_workers.FORKING = {PATIENCE}\n"
        "warm = warm_workers.WarmWorkers('site')\n"
        f"job = warm.launch([{str(file)!r}, 'stay'], {{}})\n"
        f"Path({str(numbers)!r}).write_text(f'{{warm.process.pid}} {{job.pid}}')\n"
        "time.sleep(1000)\n"
    )
    with subprocess.Popen([sys.executable, "-c", node]) as process:
        wait_for(lambda: file.exists() and numbers.exists() and numbers.read_text())
        process.send_signal(signal.SIGKILL)
    for number in map(int, numbers.read_text().split()):
        wait_for(lambda number=number: is_gone(number))


@pytest.mark.parametrize("kind", ["site", "coordinator"])
def test_the_program_of_nvflare_is_run(kind: str) -> None:
    """With nonsense instead of a job it ends as it does anywhere."""
    warm = WarmWorkers(kind)
    try:
        job = warm.launch(["--nonsense"], {})
        job.wait()
        assert job.poll() == JobReturnCode.EXECUTION_ERROR
        assert warm.is_alive()
    finally:
        warm.end()
    assert not warm.is_alive()


def test_arguments_keep_their_blanks() -> None:
    prepared = {
        "workspace": ("-m", "/a place/of its own"),
        "job_id": ("-n", "number"),
        "options": ("--set", " a=1 b=2"),
    }
    said = job_arguments(prepared, SiteJobs.names)
    assert said == "-m '/a place/of its own' -n number --set  a=1 b=2"


def test_a_bell_wakes_whoever_sleeps_and_whoever_is_late() -> None:
    bell = Bell()
    bell.ring()
    begin = time.monotonic()
    # It has rung since this thread slept last.
    bell.sleep(PATIENCE)
    woken = threading.Event()

    def sleeper() -> None:
        bell.sleep(0.0)
        bell.sleep(PATIENCE)
        woken.set()

    thread = threading.Thread(target=sleeper)
    thread.start()
    while not woken.wait(0.02):
        bell.ring()
    thread.join()
    assert time.monotonic() - begin < PATIENCE


def test_only_sleeps_are_shortened() -> None:
    module = ModuleType("module")
    shorten_sleeps(0.01, module)
    begin = time.monotonic()
    module.time.sleep(PATIENCE)
    assert time.monotonic() - begin < PATIENCE
    assert module.time.monotonic is time.monotonic
