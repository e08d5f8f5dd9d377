"""What a site takes from a coordinator does not run, and its key never leaves it."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from cryptography.hazmat.primitives.serialization import load_pem_private_key
from tests.e2e.holding import PATIENCE, Command
from tests.e2e.hosts import Process
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.disclosure import Ledger
from fedsdr.result import Result
from fedsdr.transports.nvflare.launch import Launch
from fedsdr.transports.nvflare.ports import free_port
from fedsdr.transports.nvflare.processes import nodes_together
from fedsdr.transports.nvflare.provision import Kits
from fedsdr.transports.nvflare.site_kit import public_bytes, read_kit

pytestmark = [
    pytest.mark.e2e,
    # NVFLARE's own.
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
]

PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL
)


def run(*words: object) -> str:
    """Run a command that ends well."""
    done = Command(*words).end()
    assert done.exit_code == 0, done.output
    return done.stdout


# --- a kit with a script --------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "study", simulate_rows(), model={"refit": "pooled"})


@pytest.fixture
def trap(files: Files, tmp_path: Path) -> Path:
    """Kit of a lying coordinator: its script reads the key of the site."""
    folder = tmp_path / "trap"
    (folder / "startup").mkdir(parents=True)
    secret = files.root / "east" / "identity.key"
    script = f"cat '{secret}' > '{tmp_path / 'stolen'}'\n"
    (folder / "startup" / "sub_start.sh").write_text(script)
    (folder / "startup" / "fed_client.json").write_text("{}")
    return folder


def test_a_script_in_a_kit_ran_when_kits_were_folders(
    files: Files, trap: Path, tmp_path: Path
) -> None:
    """Start the node as earlier versions did, with the script of the kit."""
    script = str(trap / "startup" / "sub_start.sh")
    with nodes_together() as nodes:
        launch = Launch("east", trap, ("bash", script, "--once"))
        nodes.start(launch, {}, log=tmp_path / "log").process.wait(PATIENCE)
    secret = (files.root / "east" / "identity.key").read_text()
    assert (tmp_path / "stolen").read_text() == secret


def test_no_script_of_a_kit_runs(files: Files, trap: Path, tmp_path: Path) -> None:
    file = files.site_file("east")
    done = Command("site", "join", file, trap).end()
    assert done.exit_code == 2
    assert "is a folder, and a kit is one file" in done.stderr
    # A right kit, and the script where the node would look for it.
    folder = tmp_path / "federation"
    where = ("--folder", folder, "--port", free_port())
    run("study", "provision", files.study_file, *where)
    run("site", "request", file)
    request = files.root / "east" / "east.request"
    run("study", "sign", files.study_file, request, "--folder", folder)
    trap.rename(files.root / "east" / "node")
    kit = Kits(folder / "kits").site("east")
    done = Command("site", "join", file, kit).end()
    assert done.exit_code == 2
    assert "sub_start.sh is not a file that fedsdr writes" in done.stderr
    content = json.loads(kit.read_text())
    kit.write_text(json.dumps({**content, "start": "cat identity.key"}))
    done = Command("site", "join", file, kit).end()
    assert done.exit_code == 2
    assert "something that a kit does not have (start)" in done.stderr
    assert not (tmp_path / "stolen").exists()


# --- a study with certificates that sites asked for -----------------------------------


@pytest.fixture(scope="module")
def office(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Files, dict[str, Process]]]:
    """Run coordinator and sites from requests to joined nodes, with the commands."""
    root = tmp_path_factory.mktemp("office")
    files = Files(root / "study", simulate_rows(), model={"refit": "pooled"})
    run("study", "provision", files.study_file, "--port", free_port())
    for name in NAMES:
        run("site", "request", files.site_file(name))
    requests = [files.root / name / f"{name}.request" for name in NAMES]
    run("study", "sign", files.study_file, *requests)
    started = {
        "coordinator": Process(
            [], ["study", "start", str(files.study_file)], root / "coordinator.log"
        )
    }
    try:
        started["coordinator"].wait_for("The coordinator listens")
        for name in NAMES:
            started[name] = join(files, name, root)
        for name in NAMES:
            started[name].wait_for("Joined")
        yield files, started
    finally:
        for process in started.values():
            if process.process.poll() is None:
                process.interrupt()


def kits_of(files: Files) -> Kits:
    return Kits(files.coordinator / "federation" / "kits")


def join(files: Files, name: str, root: Path) -> Process:
    words = ["site", "join", str(files.site_file(name)), str(kits_of(files).site(name))]
    return Process([], words, root / f"{name}.log")


def test_a_study_ends_well_and_the_coordinator_has_no_key_of_a_site(
    office: tuple[Files, dict[str, Process]],
) -> None:
    files, _ = office
    said = run("study", "submit", files.study_file)
    assert "The study is finished." in said
    result = Result.from_json(files.root / "west" / "result.json")
    assert result.n_sites == len(NAMES)
    for name in NAMES:
        status = Ledger(files.root / name / "ledger").verify()
        assert (status.n_entries, status.key) == (
            2,
            files.study["sites"]["roster"][name],
        )

    # Whoever ran NVFLARE's own script, as its readme says, answered INPUT throughout.
    for folder in (files.coordinator, *(files.root / name for name in NAMES)):
        found = [path.name for path in folder.rglob("*") if path.is_file()]
        assert not [name for name in found if name.endswith((".sh", ".ipynb"))]
        for path in folder.rglob("[Rr][Ee][Aa][Dd][Mm][Ee]*"):
            assert "start.sh" not in path.read_text()

    certified = {
        read_kit(kits_of(files).site(name)).public_key(): name for name in NAMES
    }
    own = {
        public_bytes(load_pem_private_key(key, None).public_key()): name
        for name in NAMES
        for key in [(files.root / name / "tls.key").read_bytes()]
    }
    assert own == certified
    held = set()
    for path in files.coordinator.rglob("*"):
        if path.is_file():
            text = path.read_text(errors="replace").replace("\\n", "\n")
            for key in PRIVATE_KEY.findall(text):
                public = load_pem_private_key(key.encode(), None).public_key()
                held.add(public_bytes(public))
            for name in NAMES:
                identity = (files.root / name / "identity.key").read_text().strip()
                assert identity not in text
    # That of the authority, of the node, and of the analyst.
    assert len(held) == 3
    assert held.isdisjoint(certified)


def test_a_revoked_certificate_is_not_let_in(
    office: tuple[Files, dict[str, Process]], tmp_path: Path
) -> None:
    files, started = office
    kit = kits_of(files).site("east")
    kept = kit.read_text()
    assert started["east"].interrupt() == 0
    started["coordinator"].wait_for("east has left")
    run("study", "revoke", files.study_file, "east")
    kit.write_text(kept)
    started["east"] = join(files, "east", tmp_path)
    log = files.coordinator / "federation" / "coordinator.log"
    wait_for("the certificate of 'east' is not, or no longer, in", log)
    assert "Joined" not in started["east"].said()
    started["east"].interrupt()
    # With a new key, signed anew, the site is back.
    run("site", "request", files.site_file("east"), "--renew")
    run("study", "sign", files.study_file, files.root / "east" / "east.request")
    started["east"] = join(files, "east", tmp_path)
    started["east"].wait_for("Joined")


def wait_for(text: str, log: Path) -> None:
    """Wait until a log contains a text."""
    deadline = time.monotonic() + PATIENCE
    while text not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()[-2000:]
        time.sleep(0.1)
