"""Coordinator and sites on separate hosts, one of which is disconnected."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from tests.e2e.chains import SITES, limit_to
from tests.e2e.holding import holding
from tests.e2e.hosts import separate_hosts
from tests.study.consortia import Files, simulate_rows

from fedsdr.disclosure import Ledger
from fedsdr.result import Result
from fedsdr.study import conduct, open_site
from fedsdr.transports import InProcess

pytestmark = pytest.mark.e2e


def test_study_between_hosts_outlives_a_cut_cable(tmp_path: Path) -> None:
    # A cut cable is noticed by nothing but the time that passes.
    model = {"refit": "pooled"}
    files = Files(tmp_path / "study", simulate_rows(), timeout=30.0, model=model)
    limit_to(files, SITES)
    file, folder = files.study_file, files.coordinator / "federation"
    with (
        holding(tmp_path / "holds") as holds,
        separate_hosts(["coordinator", *SITES], tmp_path) as hosts,
    ):
        office = hosts["coordinator"]
        made = office.run("study", "provision", file, "--host", office.address)
        assert made.end() == 0, made.said()
        for name in SITES:
            asked = hosts[name].run("site", "request", files.site_file(name))
            assert asked.end() == 0, asked.said()
        requests = [files.root / name / f"{name}.request" for name in SITES]
        signed = office.run("study", "sign", file, *requests)
        assert signed.end() == 0, signed.said()
        start = office.run("study", "start", file)
        joins = {}
        for name in SITES:
            kit = folder / "kits" / "sites" / f"{name}.kit"
            joins[name] = hosts[name].run("site", "join", files.site_file(name), kit)
        start.wait_for(f"The coordinator listens on {office.address}:8002.")
        for join in joins.values():
            join.wait_for(f"Joined {office.address}:8002.")

        holds.at("west", "secure.masked", "before")
        submit = office.run("study", "submit", file, "--attempts", 1)
        holds.wait()
        hosts["west"].unplug()
        holds.release()
        assert submit.end() == 5
        assert "This was at 'secure.masked'" in submit.said()
        # Its node gives no sign of life: it is not a site that is slow.
        assert "west has left" in submit.said()
        assert f"fedsdr study resume {file}" in submit.said()
        for name in SITES:
            # The vectors of the others are there, and nobody helped to open their sum.
            stages = [e.stage for e in Ledger(files.root / name / "ledger").entries()]
            assert stages == ["offered"]

        hosts["west"].plug_in()
        resume = office.run("study", "resume", file)
        assert resume.end() == 0, resume.said()
        for process in (*joins.values(), start):
            assert process.interrupt() == 0, process.said()

    result = Result.from_json(folder / "state" / "result.json")
    parties = {n: open_site(files.site_file(n), rehearsal=True) for n in SITES}
    expected = conduct(file, InProcess(parties), tmp_path / "alone")
    np.testing.assert_array_equal(result.directions, expected.directions)
    for name in SITES:
        there = Result.from_json(files.root / name / "result.json")
        np.testing.assert_array_equal(there.directions, result.directions)
        assert all(
            e.sites == SITES for e in Ledger(files.root / name / "ledger").entries()
        )
