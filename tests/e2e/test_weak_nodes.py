"""Nodes that compute with any value, and too early: what a coordinator gets from them.

The same attacks fail in `test_lying_coordinator`.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from tests.attacks.forging import read_moments
from tests.attacks.test_same_data_attacks import observed_once
from tests.e2e.holding import PATIENCE, holding
from tests.e2e.holds.lies import FILLS, OWN, VICTIM
from tests.e2e.test_lying_coordinator import Stage
from tests.study.consortia import FILLED, NAMES, Files, simulate_rows

from fedsdr.result import Result
from fedsdr.transports.nvflare.loopback import on_loopback

pytestmark = [
    pytest.mark.e2e,
    # NVFLARE's own.
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
]

ROOT = Path(__file__).parents[2]
PLAIN = {"type": "number"}


@contextmanager
def weak_nodes(files: Files, root: Path) -> Iterator[Stage]:
    """Start nodes without the defences."""
    sites = {name: files.site_file(name) for name in NAMES}
    with pytest.MonkeyPatch.context() as patch, holding(root / "holds"):
        patch.setenv("FEDSDR_TEST_WEAK", "1")
        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        patch.setenv("PYTHONPATH", str(ROOT / "tests/e2e/holds"), prepend=os.pathsep)
        with on_loopback("example", files.study_file, sites, root) as nodes:
            with nodes.session(PATIENCE) as session:
                session.wait_for_sites(NAMES, PATIENCE, watch=nodes.nodes.check)
            yield Stage(files, nodes, root / "holds")


def test_fill_values_of_the_coordinator_show_a_record(tmp_path: Path) -> None:
    rows = simulate_rows()[["site", "x0", "x1", "x2", "y"]]
    own = rows[rows["site"] == VICTIM]
    gap = own.index[7]
    rows.loc[gap, "x1"] = np.nan
    columns = {"x0": PLAIN, "x1": FILLED, "x2": PLAIN}
    model = {"refit": "pooled", "standardize": False}
    files = Files(tmp_path / "study", rows, columns=columns, model=model)
    with weak_nodes(files, tmp_path) as stage:
        stage.run(lying=True)
        # One site alone tells by its code how large its numbers are.
        codes = json.loads((stage.folder / "codes.json").read_text())
        assert len(codes) == len(FILLS)
        assert len({tuple(pair) for pair in codes}) > 1
        assert "INPUT" in codes[-1]
    # Rows of the upper triangle of three columns, after four counts.
    pairs = read_moments(tmp_path / "state")[4:10]
    found = pairs[[1, 4]] / OWN
    truth = (own.loc[gap] - own[["x0", "x2"]].mean())[["x0", "x2"]].astype(float)
    np.testing.assert_allclose(found, truth, atol=1e-3)


def test_a_value_that_is_alone_is_told_to_all_sites(tmp_path: Path) -> None:
    files, value = observed_once(tmp_path / "study")
    with weak_nodes(files, tmp_path) as stage:
        assert stage.run(lying=False).is_complete
    for name in NAMES:
        there = Result.from_json(files.root / name / "result.json")
        assert there.settings["preprocessing"]["filled_with"]["x1"] == value
