"""A coordinator that lies to nodes about values for gaps, and a value that is alone."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from tests.e2e.holding import PATIENCE, holding
from tests.e2e.holds.lies import FILLS, VICTIM
from tests.study.consortia import FILLED, NAMES, Files, simulate_rows

from fedsdr.disclosure import Ledger
from fedsdr.result import Result
from fedsdr.transports.nvflare.loopback import Loopback, on_loopback
from fedsdr.transports.nvflare.session import JobStatus

pytestmark = [
    pytest.mark.e2e,
    # NVFLARE's own.
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
]

ALONE = "west"
OTHERS = tuple(name for name in NAMES if name != ALONE)


def rows_with_gaps() -> pd.DataFrame:
    """Draw rows: at one site one value of a column, at another some gaps in it."""
    rows = simulate_rows()[["site", "x0", "x1", "x2", "y"]]
    own = rows.index[rows["site"] == ALONE]
    rows.loc[own[1:], "x1"] = np.nan
    rows.loc[rows.index[rows["site"] == VICTIM][:5], "x1"] = np.nan
    return rows


class Stage:
    """Nodes of a study, and a switch for lies."""

    def __init__(self, files: Files, nodes: Loopback, folder: Path) -> None:
        self.files, self.nodes, self.folder = files, nodes, folder

    def run(self, *, lying: bool) -> JobStatus:
        """Submit the study, and wait for its end."""
        switch = self.folder / "lies"
        switch.touch() if lying else switch.unlink(missing_ok=True)
        with self.nodes.session(PATIENCE) as session:
            number = session.submit(self.nodes.network.project, NAMES)
            return session.wait(number, PATIENCE, watch=self.nodes.nodes.check)

    def log(self, site: str) -> str:
        """Read what a site has told its steward."""
        return (self.files.root / site / "site.log").read_text()

    def stages(self, site: str) -> list[tuple[str, str]]:
        """List what a site has recorded."""
        entries = Ledger(self.files.root / site / "ledger").entries()
        return [(entry.statistic, entry.stage) for entry in entries]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    root = tmp_path_factory.mktemp("lies")
    columns = {name: {"type": "number"} for name in ("x0", "x2")}
    files = Files(
        root / "study",
        rows_with_gaps(),
        columns={**columns, "x1": FILLED},
        model={"refit": "pooled"},
    )
    # One of them refuses by its rules, and the study goes on.
    files.write_study(sites={**files.study["sites"], "required": "minimum"})
    sites = {name: files.site_file(name) for name in NAMES}
    with (
        holding(root / "holds"),
        on_loopback("example", files.study_file, sites, root) as nodes,
    ):
        with nodes.session(PATIENCE) as session:
            session.wait_for_sites(NAMES, PATIENCE, watch=nodes.nodes.check)
        yield Stage(files, nodes, root / "holds")


@pytest.fixture(scope="module", autouse=True)
def lied(stage: Stage) -> JobStatus:
    return stage.run(lying=True)


def test_one_site_alone_tells_nothing(stage: Stage) -> None:
    """Codes are the same at every fill value, and nothing is computed or recorded."""
    codes = json.loads((stage.folder / "codes.json").read_text())
    assert codes == [["ORDER", "ORDER"]] * len(FILLS)


def test_a_fill_value_that_does_not_follow_is_refused(
    stage: Stage, lied: JobStatus
) -> None:
    assert not lied.is_complete
    for name in OTHERS:
        assert "secure.keys TAMPERED" in stage.log(name)
        assert stage.stages(name) == [
            ("means", "offered"),
            ("means", "released"),
            ("means", "opened"),
        ]


def test_a_column_observed_once_stays_at_its_site(stage: Stage) -> None:
    assert stage.stages(ALONE) == []
    assert "LEVELS" in stage.log(ALONE)
    # Without lies the study goes on, from the sums that it has, with the other sites.
    assert stage.run(lying=False).is_complete
    rows = stage.files.rows
    mean = rows.loc[rows["site"] != ALONE, "x1"].mean()
    for name in OTHERS:
        there = Result.from_json(stage.files.root / name / "result.json")
        filled = there.settings["preprocessing"]["filled_with"]
        assert filled["x1"] == pytest.approx(mean, rel=1e-12)
        assert tuple(there.settings["sites"]) == OTHERS
        assert "this site signed the sums" in there.provenance["received"]
