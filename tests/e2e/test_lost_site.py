"""A site is lost for good: the study goes on only by choice of the stewards."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from tests.e2e.holding import PATIENCE, Command, cut_power, holding
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.disclosure import Ledger
from fedsdr.protocols.secure import SumFolder
from fedsdr.result import Result
from fedsdr.study import conduct, open_site
from fedsdr.transports import InProcess
from fedsdr.transports.nvflare.loopback import on_loopback
from fedsdr.transports.nvflare.processes import marked

pytestmark = [
    pytest.mark.e2e,
    # NVFLARE's own.
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
]

LEFT = tuple(name for name in NAMES if name != "west")


def expect(files: Files, folder: Path) -> Result:
    """Run the study in this process, without a site."""
    parties = {name: open_site(files.site_file(name), rehearsal=True) for name in NAMES}
    transport = InProcess(
        parties, fault=lambda _, site, packed: packed if site in LEFT else None
    )
    return conduct(files.study_file, transport, folder, without=["west"])


def void_everywhere(files: Files, rounds: list[str], where: tuple[object, ...]) -> None:
    """Void rounds at every site that stays, while nodes run, and then here."""
    for name in LEFT:
        for one in rounds:
            done = Command("site", "void", files.site_file(name), one).end()
            assert done.exit_code == 0, done.output
    for one in rounds:
        done = Command("study", "void", files.study_file, one, *where).end()
        assert done.exit_code == 0, done.output
    assert f"fedsdr study resume {files.study_file}" in done.stdout


def test_study_goes_on_without_a_killed_site_by_choice_of_all(tmp_path: Path) -> None:
    """Masked numbers of the others have left, so that no coordinator decides alone."""
    files = Files(tmp_path / "study", simulate_rows(), model={"refit": "pooled"})
    sites = {name: files.site_file(name) for name in NAMES}
    with (
        holding(tmp_path / "holds") as holds,
        on_loopback("example", files.study_file, sites, tmp_path) as nodes,
    ):
        nodes.nodes.wait_for_server(nodes.kits.server, PATIENCE)
        holds.at("west", "secure.masked", "before")
        folder = ("--folder", tmp_path)
        submit = ("study", "submit", files.study_file, *folder, "--patience", PATIENCE)
        command = Command(*submit, "--attempts", 1)
        holds.wait()
        holds.nowhere()
        cut_power(nodes, "west")
        done = command.end()
        assert done.exit_code == 5, done.output
        assert "west has left, or was started again (LEFT)" in done.stderr
        assert "so the steward of west decides" in done.stdout
        assert f"--without west --folder {tmp_path}" in done.stdout
        assert not (nodes.state / "result.json").exists()
        # Nobody joins in this second, and nothing begins.
        done = Command(*submit[:-1], 1).end()
        assert done.exit_code == 5
        assert "west did not join within 1 s" in done.stderr
        (begun,) = SumFolder(nodes.state).begun().values()
        done = Command(*submit, "--without", "west").end()
        assert done.exit_code == 2
        assert "So the steward of west decides." in done.stderr
        assert all(one in done.stderr for one in begun["rounds"])
        void_everywhere(files, begun["rounds"], folder)
        done = Command(*submit, "--without", "west").end()
        assert done.exit_code == 3, done.output
        assert "finished without west (left out by choice)" in done.stdout
        fetched = tmp_path / "fetched.json"
        fetch = ("study", "fetch", files.study_file, *folder)
        assert Command(*fetch, "--out", fetched).end().exit_code == 0
    assert marked(node.mark for node in nodes.nodes.running) == []

    result = Result.from_json(fetched)
    assert tuple(result.settings["sites"]) == LEFT
    np.testing.assert_array_equal(
        result.directions, expect(files, tmp_path / "alone").directions
    )
    for name in LEFT:
        assert (files.root / name / "result.json").exists()
        entries = Ledger(files.root / name / "ledger").entries()
        assert [(entry.stage, entry.sites) for entry in entries] == [
            ("offered", NAMES),
            ("voided", NAMES),
            ("offered", LEFT),
            ("released", LEFT),
        ]
    # It has said nothing but its public keys and shares.
    assert not (files.root / "west" / "result.json").exists()
    assert Ledger(files.root / "west" / "ledger").entries() == ()
