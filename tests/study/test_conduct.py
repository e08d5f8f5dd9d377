"""A study from files gives the fit on the pooled rows, even if it is interrupted."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr import FedSSIR, InputError
from fedsdr.disclosure import Ledger
from fedsdr.metrics import subspace_distance
from fedsdr.protocols.lost_sites import LostSiteError
from fedsdr.result import Result
from fedsdr.rows.site_rows import Rows
from fedsdr.study import conduct

STAGES = ("agree", "keys", "shares", "verify", "masked", "confirm", "unmask", "result")

#: Parameters of a study with one sum, and no second stage.
POOLED = {"refit": "pooled"}


def fit(rows: Any, **settings: Any) -> FedSSIR:
    model = FedSSIR(protocol="secure", **settings)
    X, y = rows.drop(columns=["site", "y"]), rows["y"]
    return model.fit(X, y, sites=rows["site"])


@pytest.mark.parametrize("model", [POOLED, {}], ids=["pooled", "default"])
def test_a_study_from_files_equals_the_fit(tmp_path: Path, model: Any) -> None:
    rows = simulate_rows()
    files = Files(tmp_path, rows, model=model)
    steps: list[Any] = []
    transport = files.connect()
    result = files.run(transport, progress=steps.append)
    fitted = fit(rows, **model)
    expected, n_sums = fitted.result_, (fitted.communication_.rounds - 1) // 6
    assert (n_sums == 1) == bool(model)
    assert result.selected == expected.selected == ("x0", "x2")
    assert subspace_distance(result.directions, expected.directions) < 1e-8
    assert (result.n_rows, result.n_sites) == (len(rows), 4)
    assert result.penalty == pytest.approx(expected.penalty, rel=1e-12)
    told = [f"secure.{stage}" for stage in STAGES]
    sums = told[1:-1] * n_sums
    assert [step.name for step in steps] == [
        *(told[0], *sums, "estimate", told[-1], "done")
    ]
    assert all(set(s.answered) == set(NAMES) for s in steps if "." in s.name)
    assert transport.transcript.rounds == 2 + 6 * n_sums


@pytest.mark.parametrize("model", [POOLED, {}], ids=["pooled", "default"])
def test_the_result_reaches_everybody_and_ledgers_verify(
    tmp_path: Path, model: Any
) -> None:
    files = Files(tmp_path, simulate_rows(), model=model)
    result = files.run()
    for folder in ("coordinator/run", *NAMES):
        found = Result.from_json(tmp_path / folder / "result.json")
        np.testing.assert_array_equal(found.directions, result.directions)
        assert found.selected == result.selected
        assert (found.gap, found.penalty) == (result.gap, result.penalty)
        assert found.settings["study"]["digest"] == result.settings["study"]["digest"]
        assert found.settings["preprocessing"] == result.settings["preprocessing"]
    n_sums = len(list((files.coordinator / "run").glob("*.round")))
    assert (n_sums == 1) == bool(model)
    for name in NAMES:
        ledger = Ledger(tmp_path / name / "ledger")
        assert ledger.verify().n_entries == 2 * n_sums
        told = {entry.statistic for entry in ledger.entries()}
        second = set() if model else {"spread", "profile", "agreement"}
        assert told == {"moments"} | second
        assert not (tmp_path / name / "site.log").exists()
    assert result.settings["sites"] == list(NAMES)


class StopError(Exception):
    """Failure of the coordinator's machine."""


@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupted_study_goes_on(tmp_path: Path, stage: str) -> None:
    files = Files(tmp_path, simulate_rows(), model=POOLED)

    def fault(name: str, site: str, packed: bytes) -> bytes:
        if (name, site) == (f"secure.{stage}", "south"):
            raise StopError
        return packed

    with pytest.raises(StopError):
        files.run(files.connect(fault=fault))
    transport = files.connect()
    result = files.run(transport)
    asked = {message.name for message in transport.transcript.messages}
    # A sum that was finished is not asked for again.
    assert ("secure.keys" in asked) == (stage != "result")
    expected = fit(files.rows, **POOLED).result_
    assert subspace_distance(result.directions, expected.directions) < 1e-8
    for name in NAMES:
        assert Result.from_json(tmp_path / name / "result.json").n_sites == 4
    again = files.run(transport)
    assert again.provenance == result.provenance


@pytest.mark.parametrize(("stage", "number"), [
    ("keys", 2), ("unmask", 2), ("shares", 3), ("masked", 3), ("confirm", 4),
    ("unmask", 4), ("result", 1),
])  # fmt: skip
def test_an_interrupted_second_stage_goes_on(
    tmp_path: Path, stage: str, number: int
) -> None:
    """Stop in the spread, which is the second sum, or in a profile."""
    files = Files(tmp_path, simulate_rows())
    seen: list[str] = []

    def fault(name: str, site: str, packed: bytes) -> bytes:
        if site == "south":
            seen.append(name)
            if name == f"secure.{stage}" and seen.count(name) == number:
                raise StopError
        return packed

    with pytest.raises(StopError):
        files.run(files.connect(fault=fault))
    transport = files.connect()
    result = files.run(transport)
    fitted = fit(files.rows)
    n_sums = (fitted.communication_.rounds - 1) // 6
    finished = n_sums if stage == "result" else number - 1
    # Finished sums are not asked for again.
    assert transport.transcript.rounds == 2 + 6 * (n_sums - finished)
    assert subspace_distance(result.directions, fitted.directions_) < 1e-8
    for name in NAMES:
        entries = Ledger(tmp_path / name / "ledger").entries()
        asked = {entry.subject for entry in entries}
        assert len(asked) == n_sums
    again = files.run(transport)
    assert again.provenance == result.provenance


@pytest.mark.parametrize("settings", [
    {"penalty": "moments(folds=2)", "refit": "pooled"},
    {"penalty": "holdout(penalties=4)", "n_directions": "votes", "refit": "pooled"},
    {"penalty": "moments(folds=2)"},
])  # fmt: skip
def test_restarted_sites_draw_the_same_folds(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path, simulate_rows(n_rows=180), model=settings)
    seen = []
    drawn: list[set[bytes]] = [set()]
    shuffle = Rows._shuffled

    def spy(rows: Rows, *use: Any) -> Any:
        order = shuffle(rows, *use)
        drawn[-1].add(repr(use).encode() + order.tobytes())
        return order

    def fault(name: str, site: str, packed: bytes) -> bytes:
        seen.append(name)
        if name == "secure.unmask" and "secure.result" not in seen:
            raise StopError
        return packed

    monkeypatch.setattr(Rows, "_shuffled", spy)
    with pytest.raises(StopError):
        files.run(files.connect(fault=fault))
    drawn.append(set())
    result = files.run()
    before, after = drawn
    # One order of its rows for each site, and the same after a restart.
    assert len(before) == len(NAMES)
    assert after == before
    # Which variables a hold-out selects depends on the folds, and these on the sites'
    # keys, which are new in every test.
    assert {"x0", "x2"} & set(result.selected)


@pytest.mark.parametrize("model", [POOLED, {}], ids=["pooled", "default"])
def test_a_site_that_need_not_be_there_is_left_out(tmp_path: Path, model: Any) -> None:
    files = Files(tmp_path, simulate_rows(), model=model)
    files.write_study(sites={**files.study["sites"], "required": "minimum"})

    def fault(name: str, site: str, packed: bytes) -> bytes | None:
        return None if site == "west" else packed

    steps: list[Any] = []
    result = files.run(files.connect(fault=fault), progress=steps.append)
    rows = files.rows[files.rows["site"] != "west"]
    expected = fit(rows, **model).result_
    assert subspace_distance(result.directions, expected.directions) < 1e-8
    assert result.settings["sites"] == ["east", "north", "south"]
    assert result.provenance["left_out"] == {"west": "TIMEOUT"}
    assert steps[0].failures == {"west": "TIMEOUT"}
    journal = files.coordinator / "run" / "journal.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert lines[0]["failures"] == {"west": "TIMEOUT"}
    assert lines[-1]["name"] == "done"


def test_too_few_sites_end_a_study_and_the_log_says_why(tmp_path: Path) -> None:
    files = Files(tmp_path, simulate_rows(n_rows=30))
    with pytest.raises(LostSiteError, match="north refuses, since a rule of its own"):
        files.run()
    log = tmp_path / "north" / "site.log"
    assert "secure.agree DISCLOSURE" in log.read_text()
    assert "ROWS: the site has 35 rows" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0
    assert not (files.coordinator / "run" / "result.json").exists()


def test_a_differing_study_file_is_refused(tmp_path: Path) -> None:
    files = Files(tmp_path, simulate_rows(), model=POOLED)
    changed = files.study | {"purpose": "something else"}
    path = tmp_path / "west" / "study.toml"
    path.write_text((files.coordinator / "study.toml").read_text() + "\n# a note\n")
    files.run()
    other = Files(tmp_path / "other", simulate_rows(), model=POOLED)
    lines = path.read_text().replace(files.study["purpose"], changed["purpose"])
    own = {name: other.study["sites"]["roster"][name] for name in NAMES}
    for name, key in files.study["sites"]["roster"].items():
        lines = lines.replace(key, own[name])
    (tmp_path / "other" / "west" / "study.toml").write_text(lines)
    steps: list[Any] = []
    with pytest.raises(LostSiteError, match=r"west refuses, since the study\.toml"):
        other.run(progress=steps.append)
    assert [step.failures for step in steps] == [{"west": "TERMS"}]


def test_a_folder_belongs_to_one_study(tmp_path: Path) -> None:
    files = Files(tmp_path, simulate_rows(), model=POOLED)
    files.run()
    files.write_study(purpose="something else")
    with pytest.raises(InputError, match="belongs to another study"):
        files.run()


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    files = Files(tmp_path, simulate_rows())
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot use"):
        conduct(files.study_file, files.connect(), tmp_path / "file")


def test_a_full_disk_is_reported_and_the_study_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path, simulate_rows(), model=POOLED)
    transport = files.connect()
    full = files.coordinator / "run"

    def fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.suffix == ".partial" and "moments" in path.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fsync)
        with pytest.raises(InputError, match=r"No space left .*make room there"):
            files.run(transport)
    assert not (full / "result.json").exists()
    files.run(files.connect())
    assert (full / "result.json").exists()
