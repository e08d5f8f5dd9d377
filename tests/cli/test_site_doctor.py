"""The doctor finds each thing that is wrong, and says what to do."""

import json
import shutil
import socket
import ssl
import threading
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.disclosure import Release
from fedsdr.secure_sum import Identity
from fedsdr.study import read_site
from fedsdr.study.site_health import examine_site
from fedsdr.study.stewardship import open_ledger

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from fedsdr.transports.nvflare import connection_health
from fedsdr.transports.nvflare.loopback import enrol
from fedsdr.transports.nvflare.ports import free_port
from fedsdr.transports.nvflare.provision import Kits, Network, provision

ADDRESS = "127.0.0.1"


@pytest.fixture(name="port", scope="module")
def unused_port() -> int:
    return free_port()


@pytest.fixture(name="whole", scope="module")
def study_with_kits(tmp_path_factory, port: int) -> Path:
    """Write a study whose sites have certificates; made once, since keys take time."""
    root = tmp_path_factory.mktemp("doctor")
    files = Files(root / "study", simulate_rows(n_rows=60), model={"refit": "pooled"})
    kits = provision(Network("example", NAMES, ADDRESS, port), root / "kits")
    enrol(kits, files.study_file, files.site_files)
    shutil.copyfile(kits.site("north"), files.root / "north" / "north.kit")
    return root


@pytest.fixture(name="place")
def own_copy(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "copy")
    return tmp_path / "copy"


@contextmanager
def answering(kits: Kits, port: int, when: datetime | None) -> Iterator[None]:
    """Stand in for the coordinator: its certificate, and an answer with a date."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    startup = kits.server / "startup"
    context.load_cert_chain(startup / "server.crt", startup / "server.key")
    context.load_verify_locations(startup / "rootCA.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    date = "" if when is None else f"Date: {format_datetime(when, usegmt=True)}\r\n"
    with socket.create_server((ADDRESS, port)) as server:

        def serve() -> None:
            while True:
                try:
                    plain, _ = server.accept()
                except OSError:
                    return
                with (
                    plain,
                    suppress(OSError),
                    context.wrap_socket(plain, server_side=True) as stream,
                ):
                    stream.recv(1000)
                    stream.sendall(f"HTTP/1.1 426 no\r\n{date}\r\n".encode())

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            # Wakes up accept.
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def examine(run, place: Path, *kit: object) -> tuple[int, dict[str, Any]]:
    site = place / "study" / "north" / "site.toml"
    outcome = run("site", "doctor", site, *kit, "--json")
    found = {one["topic"]: one for one in json.loads(outcome.stdout)}
    assert all(one["remedy"] for one in found.values() if one["verdict"] != "ok")
    assert outcome.exit_code == any(o["verdict"] == "fail" for o in found.values())
    return outcome.exit_code, found


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    return {name: one["verdict"] for name, one in found.items()}


def test_a_site_that_can_take_part(run, place: Path, port: int) -> None:
    with answering(Kits(place / "kits"), port, datetime.now(UTC)):
        code, found = examine(run, place)
    assert code == 0
    topics = ["study", "identity", "permissions", "ledger", "clock", "partners"]
    topics += ["rows", "disk", "certificate", "TLS key", "coordinator", "authority"]
    assert list(found) == [*topics, "both clocks"]
    assert set(verdicts(found).values()) == {"ok"}


def test_every_line_is_shown_with_its_remedy(run, place: Path) -> None:
    (place / "study" / "north" / "identity.key").chmod(0o644)
    outcome = run("site", "doctor", place / "study" / "north" / "site.toml")
    assert outcome.exit_code == 1
    lines = outcome.stdout.splitlines()
    assert any("permissions: others on this machine may read" in one for one in lines)
    assert any(one.startswith("fail") and "Remedy: chmod 600" in one for one in lines)
    assert any(one.startswith("ok") for one in lines)
    assert "fail" in lines[-1]


def test_the_clocks_are_compared(run, place: Path, port: int) -> None:
    ahead = datetime.now(UTC) + timedelta(hours=1)
    with answering(Kits(place / "kits"), port, ahead):
        code, found = examine(run, place)
    assert code == 1
    assert found["both clocks"]["verdict"] == "fail"
    with answering(Kits(place / "kits"), port, None):
        code, found = examine(run, place)
    assert code == 0
    assert "both clocks" not in found


def test_a_coordinator_that_cannot_be_reached(run, place: Path, port: int) -> None:
    code, found = examine(run, place)
    assert code == 1
    assert found["coordinator"]["verdict"] == "fail"
    assert f"{ADDRESS}:{port}" in found["coordinator"]["words"]
    assert "authority" not in found


def test_the_coordinator_of_another_study(
    run, place: Path, port: int, tmp_path: Path
) -> None:
    other = provision(Network("other", NAMES, ADDRESS, port), tmp_path / "other")
    with answering(other, port, datetime.now(UTC)):
        code, found = examine(run, place)
    assert code == 1
    assert verdicts(found)["authority"] == "fail"


def test_no_kit_yet(run, place: Path) -> None:
    (place / "study" / "north" / "north.kit").unlink()
    code, found = examine(run, place)
    assert code == 0
    assert found["certificate"]["verdict"] == "warn"


def test_a_kit_for_another_key(run, place: Path) -> None:
    kit = place / "kits" / "sites" / "south.kit"
    assert verdicts(examine(run, place, kit)[1])["TLS key"] == "fail"


@pytest.mark.parametrize(
    ("days", "verdict"), [(-1, "fail"), (10, "ok"), (350, "warn"), (400, "fail")]
)
def test_the_certificate_has_an_end(place: Path, days: int, verdict: str) -> None:
    now = datetime.now(UTC) + timedelta(days=days)
    north = place / "study" / "north"
    kit = north / "north.kit"
    found = connection_health.examine_connection(kit, north / "tls.key", now)
    assert found[0].topic == "certificate"
    assert found[0].verdict == verdict


def lose_ledger(folder: Path) -> None:
    (folder / "ledger").unlink()


def change_ledger(folder: Path) -> None:
    (folder / "ledger").write_bytes(b"{}\n")


def lose_ledger_key(folder: Path) -> None:
    (folder / "ledger.key").unlink()


def lose_rows(folder: Path) -> None:
    for path in folder.glob("rows.*"):
        path.unlink()


def open_ledger_key(folder: Path) -> None:
    (folder / "ledger.key").chmod(0o640)


def lose_identity(folder: Path) -> None:
    (folder / "identity.key").unlink()


def other_study(folder: Path) -> None:
    (folder / "study.toml").write_text("name = 3\n")


def forget_partners(folder: Path) -> None:
    (folder / "peers.json").unlink()


@pytest.mark.parametrize(
    ("fault", "topic", "verdict"),
    [
        (lose_ledger, "ledger", "fail"),
        (change_ledger, "ledger", "fail"),
        (lose_ledger_key, "ledger", "fail"),
        (lose_rows, "rows", "fail"),
        (open_ledger_key, "permissions", "fail"),
        (lose_identity, "identity", "fail"),
        (other_study, "study", "fail"),
        (forget_partners, "partners", "warn"),
    ],
)
def test_each_fault_is_found(place: Path, fault: Any, topic: str, verdict: str) -> None:
    folder = place / "study" / "north"
    fault(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    found = examine_site(read_site(folder / "site.toml"))
    assert {one.topic: one.verdict for one in found}[topic] == verdict
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize(
    ("left", "remedy"),
    [(b'{"index": 0', "fedsdr site ledger mend site.toml"), (b"{}\n", "restore")],
)
def test_only_an_incomplete_line_is_to_be_mended(
    place: Path, left: bytes, remedy: str
) -> None:
    folder = place / "study" / "north"
    with (folder / "ledger").open("ab") as ledger:
        ledger.write(left)
    found = {one.topic: one for one in examine_site(read_site(folder / "site.toml"))}
    assert found["ledger"].verdict == "fail"
    assert found["ledger"].remedy.startswith(remedy)


def test_a_clock_behind_the_ledger(place: Path) -> None:
    files = read_site(place / "study" / "north" / "site.toml")
    now = datetime.now(UTC)
    assert _clock(examine_site(files, now)) == "ok"
    ledger = open_ledger(files, Identity.load(files.at(files.identity)))
    ledger.append(Release("d" * 64, "moments", "e" * 64, ("north",), 1), "f")
    assert _clock(examine_site(files, now)) == "ok"
    assert _clock(examine_site(files, now - timedelta(days=1))) == "fail"


def _clock(found: list[Any]) -> str:
    return next(one.verdict for one in found if one.topic == "clock")


@pytest.mark.parametrize(
    ("free", "verdict"), [(2**40, "ok"), (2**29, "warn"), (2**20, "fail")]
)
def test_a_full_disk(place: Path, monkeypatch, free: int, verdict: str) -> None:
    usage = namedtuple("usage", ["total", "used", "free"])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(2**41, 0, free))
    found = examine_site(read_site(place / "study" / "north" / "site.toml"))
    assert {one.topic: one.verdict for one in found}["disk"] == verdict


@contextmanager
def relaying(port: int, onward: int) -> Iterator[None]:
    """Pass bytes on, as a TCP proxy does, one connection after the other."""
    with socket.create_server((ADDRESS, port)) as server:

        def copy(source: socket.socket, target: socket.socket) -> None:
            with suppress(OSError):
                while raw := source.recv(4096):
                    target.sendall(raw)
                target.shutdown(socket.SHUT_WR)

        def serve() -> None:
            while True:
                try:
                    near, _ = server.accept()
                except OSError:
                    return
                with near, socket.create_connection((ADDRESS, onward)) as far:
                    back = threading.Thread(target=copy, args=(far, near))
                    back.start()
                    copy(near, far)
                    back.join()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_a_proxy_that_passes_bytes_on_does_not_matter(
    run, place: Path, port: int
) -> None:
    onward, now = free_port(), datetime.now(UTC)
    with answering(Kits(place / "kits"), onward, now), relaying(port, onward):
        code, found = examine(run, place)
    assert code == 0
    assert found["authority"]["verdict"] == "ok"
    assert found["both clocks"]["verdict"] == "ok"
