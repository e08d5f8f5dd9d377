"""A study between real processes over TLS gives the result of one process."""

import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
from tests.e2e.databases import Sources, sources_of_all_kinds
from tests.e2e.holding import PATIENCE, Command
from tests.e2e.hosts import Process
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.disclosure import Ledger
from fedsdr.exceptions import InputError
from fedsdr.metrics import subspace_distance
from fedsdr.protocols.wire import decode
from fedsdr.result import Result
from fedsdr.study import conduct, open_site
from fedsdr.transports import InProcess

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from fedsdr.summaries.picture_sums import N_PICTURE_BINS
from fedsdr.summaries.safe_bins import FEWEST_ROWS, SafeBins
from fedsdr.transports.nvflare import launch
from fedsdr.transports.nvflare.jobs import write_job
from fedsdr.transports.nvflare.kits import secure_server
from fedsdr.transports.nvflare.loopback import Loopback, enrol, on_loopback
from fedsdr.transports.nvflare.node_settings import SITE_FILE
from fedsdr.transports.nvflare.processes import marked, nodes_together
from fedsdr.transports.nvflare.provision import ANALYST, Kits, Network, provision
from fedsdr.transports.nvflare.session import JobStatus, SessionError, open_session
from fedsdr.transports.nvflare.site_kit import read_kit

pytestmark = [
    pytest.mark.e2e,
    # NVFLARE's own.
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
]

GUEST = "guest@coordinator.study"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    # Enough rows that sites show some bins of a picture, and hide others.
    rows = simulate_rows(n_rows=150)
    stages = {"pictures": True, "prediction": {"site_intercepts": True, "folds": 2}}
    files = Files(tmp_path_factory.mktemp("study"), rows, **stages)
    files.policy = {"max_models": 3}
    with sources_of_all_kinds(files) as found:
        yield found


@pytest.fixture(scope="module")
def files(sources: Sources) -> Files:
    return sources.files


@pytest.fixture(scope="module")
def nodes(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    sites = {name: files.site_file(name) for name in NAMES}
    people = ((ANALYST, "lead"), (GUEST, "member"))
    folder = tmp_path_factory.mktemp("nodes")
    with on_loopback(
        "example", files.study_file, sites, folder, people=people
    ) as running:
        with running.session(PATIENCE) as session:
            session.wait_for_sites(NAMES, PATIENCE, watch=running.nodes.check)
        yield running
    assert len(running.nodes.running) == 5
    assert marked(node.mark for node in running.nodes.running) == []


def run(nodes: Loopback, job: Path | None = None) -> JobStatus:
    """Submit the study, or another job, and wait for its end."""
    with nodes.session(PATIENCE) as session:
        if job is None:
            number = session.submit(nodes.network.project, NAMES)
        else:
            number = session.submit_folder(job)
        return session.wait(number, PATIENCE, watch=nodes.nodes.check)


def read_sums(folder: Path) -> dict[str, np.ndarray]:
    """Read the sums that a coordinator has stored."""
    rounds = {path.name: decode(path.read_bytes()) for path in folder.glob("*.round")}
    return {name: np.array(content["values"]) for name, content in rounds.items()}


def asked(folder: Path) -> list[str]:
    """List the messages of a study, from its journal."""
    lines = (folder / "journal.jsonl").read_text().splitlines()
    return [json.loads(line)["name"] for line in lines]


@contextmanager
def watching(nodes: Loopback, folder: Path) -> Iterator[list[dict[str, Any]]]:
    """Watch the study by 'fedsdr study watch', as a browser does."""
    words = ("study", "watch", nodes.study_file, "--folder", nodes.folder)
    log = folder / "watch.log"
    command = Process([], [*map(str, words), "--no-browser"], log)
    command.wait_for("End it with Ctrl-C.")
    (address,) = re.findall(r"http://\S+/", command.said())
    seen: list[dict[str, Any]] = []
    over = threading.Event()

    def ask(name: str) -> str:
        with urlopen(address + name, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def follow() -> None:
        while not over.wait(0.05):
            seen.append(json.loads(ask("state")))

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield seen
        over.set()
        thread.join()
        seen.append(json.loads(ask("state")))
        report = ask("report")
        assert "What was found" in report
        assert "A row is in one picture at most" in report
        assert command.interrupt() == 0, command.said()
    finally:
        over.set()
        command.process.kill()
        command.process.wait()


def check_watched(seen: list[dict[str, Any]]) -> None:
    """Check that the page said in time what went on, and the result at the end."""
    states = [one["state"] for one in seen]
    assert [state for state, _ in groupby(states)] == [
        "not begun",
        "running",
        "finished",
    ]
    running = [one for one in seen if one["state"] == "running"]
    assert any("awaited" in one["headline"] for one in running)
    assert any(len(one["panels"]["sums"]) == 1 for one in running)
    last = seen[-1]
    assert {row["state"] for row in last["panels"]["sums"]} == {"opened"}
    assert last["panels"]["trouble"] == []
    assert [row["variable"] for row in last["panels"]["result"]]
    assert last["report"]


def check_pictures(files: Files, result: Result, opened: np.ndarray) -> None:
    """Check that there is a picture, and that sites have kept their small cells."""
    (bins,) = map(SafeBins.from_table, result.settings["curves"])
    counts = opened.reshape(N_PICTURE_BINS, 2)[:, 0]
    assert ((counts == 0.0) | (counts >= FEWEST_ROWS)).all()
    np.testing.assert_array_equal(bins.counts[bins.shown, 0], counts[bins.shown])
    assert (counts[~bins.shown] == 0.0).all()
    assert bins.shown.sum() >= 3
    # Half of the rows are in the picture, but for the cells that sites have hidden.
    dealt = sum((own + 1) // 2 for own in files.rows.groupby("site").size())
    assert counts.sum() <= dealt - FEWEST_ROWS
    page = files.root / "report.html"
    done = Command("report", files.root / "fetched.json", "--out", page).end()
    assert done.exit_code == 0, done.stderr
    assert "How the response follows" in page.read_text(encoding="utf-8")


def test_study_equals_that_in_one_process(
    nodes: Loopback, files: Files, sources: Sources
) -> None:
    """Run the default with a model; most other studies here have one sum."""
    # From files, whatever the nodes read from.
    parties = {name: open_site(sources.plain[name], rehearsal=True) for name in NAMES}
    alone = files.root / "alone"
    expected = conduct(files.study_file, InProcess(parties), alone)

    with watching(nodes, files.root) as seen:
        status = run(nodes)

    assert status.is_complete
    check_watched(seen)
    result = Result.from_json(nodes.state / "result.json")
    assert result.selected == expected.selected
    assert subspace_distance(result.directions, expected.directions) < 1e-8
    # Sums of integers do not depend on who adds, or in which order.
    sums, sums_alone = read_sums(nodes.state), read_sums(alone)
    assert set(sums) == set(sums_alone)
    kinds = [name.split("-")[0].split(".")[0] for name in sums]
    modelled = sum(kinds.count(name) for name in ("axes", "newton", "held_out"))
    once = {"agreement", "pictures", "held_out"}
    assert all(kinds.count(name) == 1 for name in once)
    # Of all rows, and without either fold.
    thrice = {"moments", "spread", "axes"}
    assert all(kinds.count(name) == 3 for name in thrice)
    assert set(kinds) == once | thrice | {"profile", "newton"}
    # Two entries of every sum, and one more of those that sites have opened.
    n_entries = 2 * len(sums) + modelled
    for name, values in sums.items():
        np.testing.assert_array_equal(values, sums_alone[name])
    model = result.settings["prediction"]
    assert model == expected.settings["prediction"]
    assert model["sites"] == {}
    scores = result.settings["evaluation"]
    assert scores == expected.settings["evaluation"]
    assert scores["n_rows"] == len(files.rows)
    assert scores["r2"] > 0.3
    for name in NAMES:
        there = Result.from_json(files.root / name / "result.json")
        np.testing.assert_array_equal(there.directions, result.directions)
        own = there.settings["prediction"]
        np.testing.assert_allclose(own["coefficients"], model["coefficients"])
        assert list(own["sites"]) == [name]
        assert there.settings["evaluation"] == scores
        entries = Ledger(files.root / name / "ledger").verify().n_entries
        assert entries == n_entries

    with nodes.session() as session:
        fetched = session.fetch(status.job, files.root / "fetched.json")
    assert fetched.read_text() == (nodes.state / "result.json").read_text()
    (opened,) = (sums[name] for name in sums if name.startswith("pictures"))
    check_pictures(files, result, opened)

    # As after a crash between the last sum and the result.
    (nodes.state / "result.json").unlink()
    assert run(nodes).is_complete
    assert asked(nodes.state).count("secure.keys") == len(sums)
    again = Result.from_json(nodes.state / "result.json")
    np.testing.assert_array_equal(again.directions, result.directions)
    for name in NAMES:
        entries = Ledger(files.root / name / "ledger").verify().n_entries
        assert entries == n_entries


def test_sites_read_from_every_kind_of_source(
    nodes: Loopback, sources: Sources
) -> None:
    if sources.missing:
        pytest.skip(sources.missing)
    assert sources.kinds == {
        "east": "parquet",
        "north": "postgresql",
        "south": "csv",
        "west": "sqlite",
    }
    for name in NAMES:
        folder = sources.files.root / name
        kinds = {path.suffix for path in folder.glob("rows.*")}
        database = sources.kinds[name] in ("postgresql", "sqlite")
        assert kinds == (set() if database else {f".{sources.kinds[name]}"})


def test_class_that_is_not_listed_is_refused(nodes: Loopback, tmp_path: Path) -> None:
    # NVFLARE's own list allows it.
    foreign = "nvflare.app_common.np.np_trainer.NPTrainer"
    status = run(nodes, write_job(tmp_path, "foreign", ["east"], executor=foreign))
    assert status.is_over
    assert not status.is_complete
    assert "ComponentNotAuthorized" in (nodes.folder / "east.log").read_text()


def upload(folder: Path, *sites: str) -> Path:
    """Write a job with code that leaves a trace where it runs."""
    job = write_job(folder, "uploaded", sites, executor="mine.Executor")
    custom = job / "app" / "custom"
    custom.mkdir()
    trace = folder / "trace"
    (custom / "mine.py").write_text(f"open({str(trace)!r}, 'w').close()\n")
    return job


def test_uploaded_code_is_refused(nodes: Loopback, tmp_path: Path) -> None:
    status = run(nodes, upload(tmp_path, *NAMES))
    assert not status.is_complete
    assert status.refused == ("server: BYOC not permitted",)
    assert not (tmp_path / "trace").exists()


def test_only_the_lead_may_submit(
    nodes: Loopback, files: Files, tmp_path: Path
) -> None:
    with open_session(nodes.kits.person(GUEST), PATIENCE) as session:
        assert set(session.sites()) == set(NAMES)
        with pytest.raises(SessionError, match="may not start"):
            session.submit("example", NAMES)
    # As if the guest's kit were the analyst's.
    shutil.copytree(nodes.kits.person(GUEST), Kits(tmp_path / "kits").analyst)
    done = Command("study", "submit", files.study_file, "--folder", tmp_path).end()
    assert done.exit_code == 1
    assert "this person may not start a study" in done.stderr


def test_foreign_certificate_is_refused(nodes: Loopback, tmp_path: Path) -> None:
    network = Network("example", NAMES, port=nodes.network.port)
    kits = provision(network, tmp_path / "kits")
    enrol(kits, nodes.study_file, {"east": nodes.site_files["east"]})
    with nodes_together() as foreign:
        variables = {SITE_FILE: str(nodes.site_files["east"])}
        key = nodes.site_files["east"].with_name("tls.key")
        ready = launch.launch_site(read_kit(kits.site("east")), key, tmp_path / "node")
        node = foreign.start(ready, variables, log=tmp_path / "log")
        with (
            pytest.raises(SessionError, match="does not accept this certificate"),
            open_session(kits.analyst, PATIENCE),
        ):
            pass
        # The coordinator listens, so that a site with a right one would have joined.
        deadline = time.monotonic() + PATIENCE
        while "re-challenge" not in node.log.read_text():
            assert time.monotonic() < deadline, node.log.read_text()
            time.sleep(0.1)
        assert not node.has_joined()


def test_port_in_use_is_said(nodes: Loopback) -> None:
    with pytest.raises(InputError, match="in use"):
        nodes.start_server()


def loosen(kit: Path) -> None:
    """Allow everything at the coordinator's node."""
    secure_server(kit)
    for name, key, value in (
        ("authorization.json", "permissions", {"lead": "any"}),
        ("resources.json", "class_allow_list", ["*"]),
    ):
        file = kit / "local" / name
        file.write_text(json.dumps({**json.loads(file.read_text()), key: value}))


def test_a_site_refuses_code_that_the_coordinator_allows(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "secure_server", loosen)
    sites = {"east": files.site_file("east")}
    with on_loopback("loose", files.study_file, sites, tmp_path) as nodes:
        with nodes.session(PATIENCE) as session:
            session.wait_for_sites(["east"], PATIENCE, watch=nodes.nodes.check)
        status = run(nodes, upload(tmp_path, "east"))
    assert not status.is_complete
    (line,) = (line for line in status.refused if line.startswith("east:"))
    assert "BYOC not permitted" in line
    assert not (tmp_path / "trace").exists()
