"""Failures before a study runs: each has a clear message and an exit code."""

import json
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

import psutil
from tests.e2e.holding import Command
from tests.e2e.hosts import Process
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.secure_sum import Identity
from fedsdr.transports.nvflare.ports import free_port
from fedsdr.transports.nvflare.provision import Kits

pytestmark = [
    pytest.mark.e2e,
    # NVFLARE's own.
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
]


class Office:
    """A coordinator who has provisioned a study."""

    def __init__(self, folder: Path) -> None:
        self.files = Files(folder / "study", simulate_rows())
        self.port = free_port()
        self.folder = self.provision(folder / "own")
        self.kits = Kits(self.folder / "kits")

    def provision(self, folder: Path) -> Path:
        """Make kits for the port of this coordinator, and sign requests of sites."""
        file, sites = self.files.study_file, self.files.site_files
        requests = [one.with_name(f"{name}.request") for name, one in sites.items()]
        commands = [
            ("study", "provision", file, "--folder", folder, "--port", self.port),
            *(("site", "request", site) for site in sites.values()),
            ("study", "sign", file, "--folder", folder, *requests),
        ]
        for words in commands:
            done = Command(*words).end()
            assert done.exit_code == 0, done.output
        return folder

    def study(self, command: str, *options: object, folder: Path | None = None):
        """Run a command of the coordinator until it ends."""
        where = ("--folder", folder or self.folder)
        return Command("study", command, self.files.study_file, *where, *options).end()

    def join(self, name: str, kit: Path | None = None):
        """Run a site's command until it ends."""
        chosen = kit or self.kits.site(name)
        return Command("site", "join", self.files.site_file(name), chosen).end()


@contextmanager
def another_program(port: int) -> Iterator[None]:
    """Let something answer at a port that is no coordinator, and speaks no TLS."""

    class Plain(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(100)
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", port), Plain) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Office, Process]]:
    office = Office(tmp_path_factory.mktemp("running"))
    words = ["study", "start", str(office.files.study_file)]
    start = Process([], [*words, "--folder", str(office.folder)], office.folder / "log")
    try:
        start.wait_for("The coordinator listens")
        yield office, start
    finally:
        start.process.terminate()
        start.end()


def test_port_in_use_is_said_at_once(running: tuple[Office, Process]) -> None:
    office, _ = running
    begin = time.monotonic()
    done = office.study("start")
    assert time.monotonic() - begin < 30.0
    assert done.exit_code == 2
    assert f"the coordinator's node of {office.folder} runs already" in done.stderr
    # Its port is taken for other studies too.
    other = office.provision(office.folder.with_name("other"))
    done = office.study("start", folder=other)
    assert done.exit_code == 2
    assert f"port {office.port} of localhost is in use" in done.stderr


def test_port_that_another_program_has_is_named_by_everybody(
    office: Office, tmp_path: Path
) -> None:
    """A site used to blame clocks, and the coordinator its certificate."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", office.port))
        done = office.study("start")
        assert done.exit_code == 2
        assert "is in use: end what listens there, or provision with" in done.stderr
    with another_program(office.port):
        done = office.study("submit")
        assert done.exit_code == 1
        assert "is taken by another program, which is no coordinator" in done.stderr
        kit = str(office.kits.site("east"))
        words = ["site", "join", str(office.files.site_file("east")), kit]
        join = Process([], words, tmp_path / "log")
        join.wait_for("is no coordinator: another program has taken the port")
        assert "clock" not in join.said()
        assert join.interrupt() == 0


def test_sites_that_never_join_are_named(running: tuple[Office, Process]) -> None:
    office, _ = running
    done = office.study("submit", "--patience", 1)
    assert done.exit_code == 5
    assert f"{', '.join(NAMES)} did not join within 1 s" in done.stderr
    done = office.study("status")
    assert done.exit_code == 0
    assert "joined: no site" in done.stdout


def test_certificates_of_another_study_are_refused(
    running: tuple[Office, Process], tmp_path: Path
) -> None:
    office, start = running
    foreign = office.provision(tmp_path / "foreign")
    kit = Kits(foreign / "kits").site("east")
    words = ["site", "join", str(office.files.site_file("east")), str(kit)]
    join = Process([], words, tmp_path / "log")
    done = office.study("submit", folder=foreign)
    assert done.exit_code == 1
    assert "does not accept this certificate: use the kit that" in done.stderr
    join.wait_for("does not accept this kit, which belongs to another study")
    assert "east has joined" not in start.said()
    assert join.interrupt() == 0
    node = str(office.files.root / "east" / "node")
    assert not any(node in " ".join(p.cmdline()) for p in _processes())


def test_identity_that_nobody_knows_is_refused(office: Office) -> None:
    key = office.files.root / "east" / "identity.key"
    key.unlink()
    Identity.generate().save(key)
    for done in (
        office.join("east"),
        Command("site", "check", office.files.site_file("east")).end(),
    ):
        assert done.exit_code == 2
        assert "is not the key that the roster has for 'east'" in done.stderr


def test_site_that_is_not_in_the_roster_is_refused(office: Office) -> None:
    roster = dict(office.files.study["sites"]["roster"])
    del roster["east"]
    office.files.write_study(sites={"roster": roster})
    for done in (
        office.join("east"),
        Command("site", "check", office.files.site_file("east")).end(),
    ):
        assert done.exit_code == 2
        assert "has no site 'east': send the line" in done.stderr


@pytest.mark.parametrize(
    ("days", "problem"), [(2, "is valid from"), (-400, "was valid until")]
)
def test_wrong_clock_is_reported(office: Office, days: int, problem: str) -> None:
    for file in office.kits.folder.rglob("startup/*.crt"):
        (key,) = file.parent.glob("*.key")
        file.write_text(shift(file.read_text(), key, timedelta(days=days)))
    kit = json.loads(office.kits.site("east").read_text())
    authority = office.folder / "authority.key"
    state = json.loads((office.kits.folder / "authority" / "cert.json").read_text())
    authority.write_text(state["root_pri_key"])
    kit["certificate"] = shift(kit["certificate"], authority, timedelta(days=days))
    office.kits.site("east").write_text(json.dumps(kit))
    for done in (office.study("start"), office.study("submit"), office.join("east")):
        assert done.exit_code == 2
        assert problem in done.stderr
        assert "clock of this machine says 20" in done.stderr


def test_killed_coordinator_is_reported(running: tuple[Office, Process]) -> None:
    office, start = running
    nodes = psutil.Process(start.process.pid).children(recursive=True)
    for process in nodes:
        process.kill()
    assert start.end() == 1
    assert "the node of the coordinator has ended (exit code -9)" in start.said()
    done = office.study("status")
    assert done.exit_code == 1
    assert "does not answer: is study start running?" in done.stderr
    assert not any(map(is_at_work, nodes))


def is_at_work(process: psutil.Process) -> bool:
    """Tell whether a process does something: a dead one may wait for its parent."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def shift(certificate: str, signer: Path, by: timedelta) -> str:
    """Make a certificate of another time, as with a wrong clock."""
    found = x509.load_pem_x509_certificate(certificate.encode())
    secret = serialization.load_pem_private_key(signer.read_bytes(), None)
    begin = datetime.now(UTC) + by
    made = (
        x509.CertificateBuilder()
        .subject_name(found.subject)
        .issuer_name(found.issuer)
        .public_key(found.public_key())
        .serial_number(found.serial_number)
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=360))
        .sign(secret, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


def _processes() -> Iterator[psutil.Process]:
    for process in psutil.process_iter(["cmdline"]):
        if process.info["cmdline"]:
            yield process
