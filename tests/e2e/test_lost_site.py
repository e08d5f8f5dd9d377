"""Nodes that are killed in the middle of a study, and what is left of it."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.disclosure import Ledger
from fedsdr.federation import InProcess
from fedsdr.result import Result
from fedsdr.study import conduct, open_site

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from fedsdr.federation.nvflare.loopback import Loopback, on_loopback
from fedsdr.federation.nvflare.processes import Node, marked
from fedsdr.federation.nvflare.session import JobStatus

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
]

PATIENCE = 120.0


@pytest.fixture
def files(tmp_path: Path) -> Files:
    # Long enough for busy cores, short enough to wait for a site that is gone.
    return Files(tmp_path / "study", simulate_rows(), timeout=15.0)


@pytest.fixture
def nodes(files: Files, tmp_path: Path) -> Iterator[Loopback]:
    sites = {name: files.site_file(name) for name in NAMES}
    with on_loopback("example", files.study_file, sites, tmp_path) as running:
        yield running
    assert marked(node.mark for node in running.nodes.running) == []


def submit(nodes: Loopback) -> str:
    with nodes.session(PATIENCE) as session:
        session.wait_for_sites(NAMES, PATIENCE, watch=nodes.nodes.check)
        return session.submit(nodes.network.project, NAMES, minimum=3)


def wait(nodes: Loopback, job: str) -> JobStatus:
    with nodes.session(PATIENCE) as session:
        return session.wait(job, PATIENCE)


def wait_for_message(nodes: Loopback, name: str) -> None:
    """Wait until the coordinator asks for something."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        snapshot = nodes.progress()
        if snapshot is not None and snapshot.message == name:
            return
        time.sleep(0.002)
    pytest.fail(f"{name} was never asked")


def kill(nodes: Loopback, node: Node) -> None:
    """Cut the power of a node."""
    node.kill()
    assert marked([node.mark]) == []
    nodes.nodes.running.remove(node)


def expect(files: Files, tmp_path: Path, names: tuple[str, ...]) -> Result:
    """Run the study with some sites in this process."""
    parties = {name: open_site(files.site_file(name), rehearsal=True) for name in NAMES}
    transport = InProcess(
        parties, fault=lambda _, site, packed: packed if site in names else None
    )
    return conduct(files.study_file, transport, tmp_path / "alone")


def test_study_goes_on_without_a_site_that_is_killed(
    files: Files, nodes: Loopback, tmp_path: Path
) -> None:
    job = submit(nodes)
    wait_for_message(nodes, "secure.agree")
    (west,) = (node for node in nodes.nodes.running if node.name == "west")
    kill(nodes, west)
    assert wait(nodes, job).is_complete
    result = Result.from_json(nodes.state / "result.json")
    left = tuple(name for name in NAMES if name != "west")
    assert tuple(result.settings["sites"]) == left
    expected = expect(files, tmp_path, left)
    np.testing.assert_array_equal(result.directions, expected.directions)
    for name in left:
        assert (files.root / name / "result.json").exists()
    assert not (files.root / "west" / "result.json").exists()


@pytest.mark.parametrize("message", ["secure.keys", "secure.confirm"])
def test_study_is_resumed_after_the_coordinator_was_killed(
    files: Files, nodes: Loopback, tmp_path: Path, message: str
) -> None:
    submit(nodes)
    wait_for_message(nodes, message)
    kill(nodes, nodes.nodes.running[0])
    finished = len(list(nodes.state.glob("*.round")))
    nodes.start_server()
    assert wait(nodes, submit(nodes)).is_complete
    result = Result.from_json(nodes.state / "result.json")
    expected = expect(files, tmp_path, NAMES)
    np.testing.assert_array_equal(result.directions, expected.directions)
    lines = (nodes.state / "journal.jsonl").read_text().splitlines()
    opened = [json.loads(line)["name"] for line in lines].count("secure.unmask")
    assert opened == 1 or finished == 1
    for name in NAMES:
        assert Ledger(files.root / name / "ledger").verify().n_entries >= 2
