"""A key exchanged under a known name, over real nodes: refused, as another site."""

import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from tests.attacks.forging import (
    Forger,
    has_moments,
    read_moments,
    scatter,
    taken_out,
)
from tests.e2e.holding import PATIENCE
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.transports.nvflare.loopback import on_loopback
from fedsdr.transports.nvflare.session import JobStatus

pytestmark = [
    pytest.mark.e2e,
    # NVFLARE's own.
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
]

HONEST = ("east", "north", "south")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    model = {"refit": "pooled", "standardize": False}
    found = Files(tmp_path / "study", simulate_rows(), model=model)
    found.run()
    return found


def run(forger: Forger) -> JobStatus:
    """Run the second study over nodes."""
    folder = forger.folder / "nodes"
    folder.mkdir()
    with (
        on_loopback("second", forger.study_file, forger.site_files, folder) as nodes,
        nodes.session(PATIENCE) as session,
    ):
        session.wait_for_sites(NAMES, PATIENCE, watch=nodes.nodes.check)
        job = session.submit(nodes.network.project, NAMES)
        return session.wait(job, PATIENCE, watch=nodes.nodes.check)


def test_nodes_that_compare_names_show_a_site(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weak = str(Path(__file__).parent / "weak")
    monkeypatch.setenv("PYTHONPATH", weak, prepend=os.pathsep)
    forger = Forger(files, tmp_path / "second", HONEST, ("west",), name="second")
    assert run(forger).is_complete
    first = read_moments(files.coordinator / "run")
    second = read_moments(forger.folder / "nodes" / "state")
    shown = taken_out(first - second, 6) + scatter(forger.rows["west"])
    truth = files.rows[files.rows["site"] == "west"].drop(columns="site")
    np.testing.assert_allclose(shown, scatter(truth), rtol=1e-8)


def test_nodes_refuse_a_swapped_key(files: Files, tmp_path: Path) -> None:
    forger = Forger(files, tmp_path / "second", HONEST, ("west",), name="second")
    assert not run(forger).is_complete
    assert not has_moments(forger.folder / "nodes" / "state")
    for name in HONEST:
        log = (files.root / name / "site.log").read_text()
        assert "west (another key than the one that was accepted)" in log
        assert "fedsdr site peers accept" in log
