"""The NVFLARE adapter without processes: what it sends, and what it must not send."""

import json
import logging
import stat
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.fuel.f3.cellnet.defs import ReturnCode as CellReturnCode
from nvflare.fuel.f3.cellnet.utils import make_reply as make_cell_reply

from fedsdr.exceptions import InputError, Refusal
from fedsdr.protocols.wire import decode, encode
from fedsdr.transports.nvflare import envelope, reachability
from fedsdr.transports.nvflare.executor import SiteExecutor
from fedsdr.transports.nvflare.flare_exchange import AbortedError, TaskExchange
from fedsdr.transports.nvflare.jobs import write_job
from fedsdr.transports.nvflare.kits import (
    check_kit,
    read_address,
    secure_server,
)
from fedsdr.transports.nvflare.node_settings import (
    CONTROLLER,
    EXECUTOR,
    SITE_FILE,
    TASK,
)
from fedsdr.transports.nvflare.patience import GRACE_VARIABLE, PATIENCE_VARIABLE
from fedsdr.transports.nvflare.presence import RollCall
from fedsdr.transports.nvflare.progress import NodeProgress, read_progress
from fedsdr.transports.nvflare.provision import ANALYST, Kits, Network, provision
from fedsdr.transports.nvflare.reachability import Reachability
from fedsdr.transports.nvflare.registrations import (
    read_registrations,
    write_registrations,
)

SITES = ("east", "north", "south")
SECRET = "patient 4711 weighs 83.5"


class Site:
    """A party that answers, refuses or fails, as the message demands."""

    def handle(self, name: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Answer, refuse or fail according to the name of the message."""
        if name == "refuse":
            raise Refusal("DISCLOSURE", "a rule of this site")
        if name == "unfit":
            raise InputError("2 rows are too few")
        if name == "break":
            raise KeyError(SECRET)
        return {"name": name, "twice": 2 * payload["x"]}


class Executor(SiteExecutor):
    """Executor with a site that has no files."""

    def open_party(self) -> Site:
        """Make the site."""
        return Site()


def ask(executor: SiteExecutor, name: str, message: Any, task: str = TASK) -> Shareable:
    sent = envelope.pack_request(name, message)
    return executor.execute(task, sent, None, None)


def test_site_answers_in_the_bytes_of_the_wire() -> None:
    reply = ask(Executor(), "double", encode({"x": np.arange(3.0)}))
    payload, size = envelope.read_reply(reply)
    np.testing.assert_array_equal(payload["twice"], [0.0, 2.0, 4.0])
    assert size == len(reply[envelope.MESSAGE])
    assert decode(reply[envelope.MESSAGE])["name"] == "double"


@pytest.mark.parametrize(
    ("name", "code"),
    [("refuse", "DISCLOSURE"), ("unfit", "INPUT"), ("break", "INTERNAL")],
)
def test_only_a_code_leaves_a_site(
    name: str, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        reply = ask(Executor(), name, encode({}))
    assert envelope.read_reply(reply) == code
    assert {key: reply[key] for key in reply if key.startswith("fedsdr")} == {
        envelope.CODE: code
    }
    assert SECRET not in repr(reply)
    assert code in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("message", [b"\xc1", "text", None, 7, b""])
def test_site_refuses_what_is_no_message(message: Any) -> None:
    assert envelope.read_reply(ask(Executor(), "double", message)) == "MALFORMED"


def test_site_knows_one_task() -> None:
    reply = ask(Executor(), "double", encode({"x": 1}), task="train")
    assert reply.get_return_code() == ReturnCode.TASK_UNKNOWN
    assert envelope.read_reply(reply) == "INTERNAL"


def test_site_file_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SITE_FILE, raising=False)
    assert (
        envelope.read_reply(ask(SiteExecutor(), "secure.agree", encode({}))) == "INPUT"
    )
    with pytest.raises(TypeError):
        SiteExecutor("/etc/passwd")


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (None, "INTERNAL"),
        ({"fedsdr.message": encode({})}, "INTERNAL"),
        (make_reply(ReturnCode.EXECUTION_EXCEPTION), "INTERNAL"),
        (envelope.pack_code("whatever a site wants to say"), "MALFORMED"),
        (envelope.pack_code(["DISCLOSURE"]), "MALFORMED"),
        (envelope.pack_reply("text"), "MALFORMED"),
        (envelope.pack_reply(b"\xc1"), "MALFORMED"),
        (Shareable(), "MALFORMED"),
    ],
)
def test_coordinator_trusts_no_reply(reply: Any, code: str) -> None:
    assert envelope.read_reply(reply) == code


class Controller:
    """Hands tasks to sites in threads, as NVFLARE does."""

    def __init__(
        self,
        silent: tuple[str, ...] = (),
        dead: tuple[str, ...] = (),
        starting: tuple[str, ...] = (),
        absent: tuple[str, ...] = (),
    ) -> None:
        self.silent, self.dead = silent, dead
        self.starting, self.absent = starting, absent
        self.cancelled: list[str] = []

    def send(self, task: Any, targets: list[str], **options: Any) -> None:
        """Run the task of a site, unless it is silent or has ended."""
        (site,) = targets
        task.site = site
        if site in self.dead:
            task.completion_status = "client_dead"
            return
        if site in self.absent:
            return
        client_task = SimpleNamespace(client=SimpleNamespace(name=site), result=None)
        if site in self.starting:
            threading.Timer(1.0, self.answer, (task, client_task)).start()
            return
        if site in self.silent:
            task.client_tasks.append(client_task)
            return
        threading.Thread(target=self.answer, args=(task, client_task)).start()

    def answer(self, task: Any, client_task: Any) -> None:
        """Let a site take the task and answer."""
        task.client_tasks.append(client_task)
        client_task.result = Executor().execute(TASK, task.data, None, None)
        task.result_received_cb(client_task, None)

    def cancel_task(self, task: Any) -> None:
        """Remember what was cancelled."""
        self.cancelled.append(task.site)


class Engine:
    """Engine with clients, some of which have no connection."""

    def __init__(self, unreachable: tuple[str, ...], folder: Path = Path()) -> None:
        self.unreachable = unreachable
        self.mute: tuple[str, ...] = ()
        self.folder = folder

    def get_clients(self) -> list[Any]:
        """List all clients at the start of the job."""
        return [
            SimpleNamespace(
                name=site,
                token=f"first of {site}",
                get_fqcn=lambda site=site: f"node of {site}",
            )
            for site in SITES
        ]

    def get_workspace(self) -> Any:
        """Return the object that knows the folder of the node."""
        return SimpleNamespace(get_root_dir=lambda: str(self.folder))

    def get_cell(self) -> Any:
        """Return the object that sends messages to nodes."""
        return SimpleNamespace(core_cell=self)

    def broadcast_request(self, targets: list[str], **options: Any) -> dict[str, Any]:
        """Return replies of nodes with a connection, and errors of the others."""
        codes = dict.fromkeys(targets, CellReturnCode.OK)
        for sites, code in (
            (self.mute, CellReturnCode.TIMEOUT),
            (self.unreachable, CellReturnCode.COMM_ERROR),
        ):
            codes |= {f"node of {site}": code for site in sites}
        return {node: make_cell_reply(codes[node]) for node in targets}


def connect(
    folder: Path,
    controller: Controller,
    *,
    stop: bool = False,
    unreachable: tuple[str, ...] = (),
) -> TaskExchange:
    engine = Engine(unreachable, folder)
    context = SimpleNamespace(get_engine=lambda: engine)
    abort = SimpleNamespace(triggered=stop)
    return TaskExchange(controller, context, abort, NodeProgress(folder))


def test_exchange_collects_answers(tmp_path: Path) -> None:
    exchange = connect(tmp_path, Controller())
    payloads = {site: {"x": i} for i, site in enumerate(SITES)}
    replies, failures = exchange("double", payloads, 10.0)
    assert {site: reply["twice"] for site, reply in replies.items()} == {
        "east": 0,
        "north": 2,
        "south": 4,
    }
    assert failures == {}
    seen = read_progress(tmp_path)
    assert seen is not None
    assert (seen.exchange, seen.message, seen.state) == (1, "double", "running")
    assert seen.sites == dict.fromkeys(SITES, "answered")
    assert seen.sent["east"] == len(encode({"x": 0}))
    assert seen.received["east"] == len(encode({"name": "double", "twice": 0}))


def test_exchange_tells_failures_apart(tmp_path: Path) -> None:
    controller = Controller(silent=("south",), dead=("north",))
    exchange = connect(tmp_path, controller)
    asked = {site: {} for site in (*SITES, "absent")}
    replies, failures = exchange("refuse", asked, 0.5)
    assert replies == {}
    assert failures == {
        "east": "DISCLOSURE",
        "north": "LEFT",
        "south": "TIMEOUT",
        "absent": "LEFT",
    }
    assert "south" in controller.cancelled
    assert "north" not in controller.cancelled
    seen = read_progress(tmp_path)
    assert seen is not None
    assert seen.sites == failures


def test_exchange_ends_with_the_job(tmp_path: Path) -> None:
    exchange = connect(tmp_path, Controller(silent=SITES), stop=True)
    with pytest.raises(AbortedError):
        exchange("double", {site: {"x": 1} for site in SITES}, 60.0)


def test_a_site_that_has_no_connection_is_lost_before_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GRACE_VARIABLE, "0.5")
    controller = Controller(silent=("south",))
    exchange = connect(tmp_path, controller, unreachable=("south",))
    begin = time.monotonic()
    replies, failures = exchange("double", {site: {"x": 1} for site in SITES}, 60.0)
    assert time.monotonic() - begin < 30.0
    assert (set(replies), failures) == ({"east", "north"}, {"south": "LEFT"})
    assert "south" in controller.cancelled


def test_a_site_with_a_connection_has_the_time_of_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GRACE_VARIABLE, "0.1")
    exchange = connect(tmp_path, Controller(silent=("south",)))
    begin = time.monotonic()
    _, failures = exchange("double", {site: {"x": 1} for site in SITES}, 3.0)
    assert time.monotonic() - begin >= 3.0
    assert failures == {"south": "TIMEOUT"}


def test_a_site_without_signs_of_life_has_left_when_its_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cut cable leaves a connection that looks well; it was called a time-out."""
    monkeypatch.setattr(reachability, "LOOK", 0.1)
    exchange = connect(tmp_path, Controller(silent=("north", "south")))
    exchange._reachability._engine.mute = ("south",)
    _, failures = exchange("double", {site: {"x": 1} for site in SITES}, 3.0)
    assert failures == {"north": "TIMEOUT", "south": "LEFT"}


def test_one_sign_of_life_may_be_lost() -> None:
    engine = Engine(())
    found = Reachability(engine, grace=60.0)
    with found.watched(lambda: ()):
        engine.mute = ("east",)
        found.look(SITES)
        assert found.mute() == set()
        engine.mute = ()
        found.look(SITES)
        engine.mute = ("east",)
        found.look(SITES)
        assert found.mute() == set()
        found.look(SITES)
        assert (found.mute(), found.away()) == ({"east"}, set())
        found.heard(["east"])
        assert found.mute() == set()


def test_the_time_of_a_site_begins_when_its_process_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = Controller(starting=("south",))
    exchange = connect(tmp_path, controller)
    # It takes the message after a second, and answers in no time.
    replies, failures = exchange("double", {site: {"x": 1} for site in SITES}, 0.5)
    assert (set(replies), failures) == (set(SITES), {})
    # It has a process now, and its time begins when the message is sent.
    controller.starting, controller.absent = (), ("south",)
    _, failures = exchange("double", {"south": {"x": 1}}, 0.5)
    assert failures == {"south": "TIMEOUT"}
    # Whoever never starts one is not waited for without end.
    monkeypatch.setenv(PATIENCE_VARIABLE, "0.5")
    exchange = connect(tmp_path, Controller(absent=("east",)))
    assert exchange("double", {"east": {"x": 1}}, 0.1)[1] == {"east": "TIMEOUT"}


def test_connections_that_come_back_are_not_lost() -> None:
    engine = Engine(("east", "north"))
    found = Reachability(engine, grace=0.0)
    with found.watched(lambda: ()):
        assert found.lost() == set()
        found.look(SITES)
        assert found.lost() == {"east", "north"}
        engine.unreachable = ("north",)
        found.look(SITES)
        assert found.lost() == {"north"}
        found.heard(["north"])
        assert found.lost() == set()
        found.look(("north",))
    # A new wait needs a new look.
    with found.watched(lambda: ()):
        assert found.lost() == set()


def test_a_node_that_was_started_again_is_lost_for_the_job(tmp_path: Path) -> None:
    tokens = {site: f"first of {site}" for site in SITES}
    write_registrations(tmp_path, tokens)
    registered = partial(read_registrations, tmp_path)
    found = Reachability(Engine(()), 60.0, registered)
    with found.watched(lambda: ()):
        found.look(SITES)
        assert found.lost() == set()
        # A node that has left may come back with the same registration.
        write_registrations(tmp_path, {s: t for s, t in tokens.items() if s != "east"})
        found.look(SITES)
        assert found.lost() == set()
        write_registrations(tmp_path, {**tokens, "east": "second of east"})
        found.look(SITES)
        assert found.lost() == {"east"}
    assert "first of" not in (tmp_path / "registered.json").read_text()


def test_nodes_without_a_connection_have_left() -> None:
    roll = RollCall(gone=0.2)
    registered = {"1": "east", "2": "west"}
    assert roll.left(registered, {"east", "west"}) == []
    assert roll.left(registered, {"east"}) == []
    # Back in time.
    assert roll.left(registered, {"east", "west"}) == []
    assert roll.left(registered, {"east"}) == []
    deadline = time.monotonic() + 30.0
    while not (left := roll.left(registered, {"east"})):
        assert time.monotonic() < deadline
    assert left == ["2"]


def test_a_full_disk_loses_no_answer(tmp_path: Path) -> None:
    exchange = connect(tmp_path / "missing", Controller())
    replies, failures = exchange("double", {"east": {"x": 1}}, 10.0)
    assert (set(replies), failures) == ({"east"}, {})


@pytest.fixture(scope="module")
def kits(tmp_path_factory: pytest.TempPathFactory) -> Kits:
    folder = tmp_path_factory.mktemp("provision") / "kits"
    return provision(Network("My Study!", SITES, "127.0.0.1", 18002), folder)


def test_kits_restrict_what_a_node_does(kits: Kits) -> None:
    assert read_address(kits.server) == ("127.0.0.1", 18002)
    text = (kits.server / "local" / "resources.json").read_text()
    assert json.loads(text)["class_allow_list"] == [CONTROLLER]
    assert str(kits.server.resolve() / "storage" / "jobs") in text
    assert f"{tempfile.gettempdir()}/nvflare" not in text


def test_keys_are_for_their_owner(kits: Kits) -> None:
    keys = [*kits.folder.rglob("*.key"), *(kits.folder / "authority").iterdir()]
    # The authority's, that of its node, and the analyst's; none of a site.
    assert len(keys) == 3
    for path in keys:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(kits.folder.stat().st_mode) == 0o700
    admin = json.loads((kits.analyst / "startup" / "fed_admin.json").read_text())
    assert admin["admin"]["username"] == ANALYST


def test_only_the_coordinators_kit_starts_its_node(kits: Kits) -> None:
    check_kit(kits.server)
    with pytest.raises(InputError, match="not the coordinator's kit"):
        check_kit(kits.analyst)
    with pytest.raises(InputError, match="not empty"):
        provision(Network("study", SITES), kits.folder)


def test_server_keeps_its_jobs_where_it_is(tmp_path: Path) -> None:
    kits = provision(Network("study", SITES), tmp_path / "kits")
    moved = kits.server.rename(tmp_path / "elsewhere")
    secure_server(moved)
    text = (moved / "local" / "resources.json").read_text()
    assert str(moved / "storage" / "jobs") in text


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"sites": ("east", "a/b")}, "'a/b' cannot be the name"),
        ({"sites": ("east", "server")}, "'server' cannot be the name"),
        ({"sites": ("east", "east")}, "same name"),
        ({"sites": ()}, "no sites"),
        ({"port": 70000}, "not a port"),
    ],
)
def test_network_is_checked(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Network(**{"name": "study", "sites": SITES, **changes})


def test_job_has_no_code_and_no_arguments(tmp_path: Path) -> None:
    job = write_job(tmp_path, "study", SITES, minimum=2)
    files = sorted(p.relative_to(job) for p in job.rglob("*") if p.is_file())
    config = Path("app/config")
    assert files == [
        config / "config_fed_client.json",
        config / "config_fed_server.json",
        Path("meta.json"),
    ]
    client = json.loads((job / files[0]).read_text())
    server = json.loads((job / files[1]).read_text())
    (executor,) = client["executors"]
    assert executor == {"tasks": [TASK], "executor": {"path": EXECUTOR, "args": {}}}
    (workflow,) = server["workflows"]
    assert (workflow["path"], workflow["args"]) == (CONTROLLER, {})
    meta = json.loads((job / "meta.json").read_text())
    assert meta["min_clients"] == 2
    assert meta["deploy_map"] == {"app": ["server", *SITES]}
