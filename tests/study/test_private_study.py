"""A study with differential privacy, from its files to its result."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.privacy.seeding import seed_noise
from tests.study.consortia import NAMES, Files
from typer.testing import CliRunner

from fedsdr.cli import app
from fedsdr.disclosure import Ledger
from fedsdr.disclosure.privacy_budget import spent
from fedsdr.exceptions import Refusal
from fedsdr.protocols.exchange import IncompleteError
from fedsdr.result import Result
from fedsdr.study import conduct, read_study
from fedsdr.study.checked_files import CheckError
from fedsdr.study.dry_run import dry_run
from fedsdr.study.outlook import seen_by_coordinator, statistics
from fedsdr.study.privacy_cost import describe_cost, study_cost

PRIVACY = {"epsilon": 8.0, "delta": 1e-5, "radius": 0.3}
BOUNDED = {"type": "number", "range": [-5, 8]}
N_ROWS = 1500


@pytest.fixture(autouse=True)
def _same_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    seed_noise(monkeypatch, 5)


def draw_rows(n_rows: int = N_ROWS, *, classes: bool = False) -> pd.DataFrame:
    """Draw rows of four sites with different means, of which x0 and x2 matter."""
    rng = np.random.default_rng(5)
    frames = []
    for i, name in enumerate(NAMES):
        X = rng.normal(size=(n_rows, 4))
        y = X[:, 0] + X[:, 2] + 0.3 * rng.normal(size=n_rows)
        frame = pd.DataFrame(X + 0.5 * i, columns=[f"x{j}" for j in range(4)])
        frame["y"] = np.where(y > 0, "yes", "no") if classes else y
        frame.insert(0, "site", name)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def private_files(root: Path, **changes: Any) -> Files:
    classes = changes.pop("classes", False)
    rows = changes.pop("rows", None)
    target = {"name": "y", "type": "number", "range": [-5, 5]}
    if classes:
        target = {"name": "y", "type": "category", "levels": ["no", "yes"]}
    table = {
        "target": target,
        "columns": {f"x{j}": BOUNDED for j in range(4)},
        "privacy": PRIVACY,
        **changes,
    }
    rows = draw_rows(classes=classes) if rows is None else rows
    return Files(root, rows, **table)


@pytest.mark.parametrize("classes", [False, True])
def test_a_private_study_finds_the_variables(tmp_path: Path, classes: bool) -> None:
    files = private_files(tmp_path, classes=classes)
    transport = files.connect()
    result = files.run(transport)
    assert result.selected == ("x0", "x2")
    assert result.n_sites == 4
    # The count has noise too.
    assert abs(result.n_rows - 4 * N_ROWS) < 1000
    assert transport.transcript.rounds == 8
    assert result.settings["privacy"] == PRIVACY
    assert 0 < result.settings["noise"]["noise_sd_covariance"] < 0.1
    again = Result.from_json(files.coordinator / "run" / "result.json")
    assert again.settings["noise"] == result.settings["noise"]
    for name in NAMES:
        ledger = Ledger(files.root / name / "ledger")
        assert [one.spends for one in ledger.entries()] == [(8.0, 1e-5)] * 2
        assert {one.statistic for one in ledger.entries()} == {"private"}
        own = Result.from_json(files.root / name / "result.json")
        assert own.settings["privacy"] == PRIVACY
        assert own.selected == result.selected


def test_values_outside_their_range_are_moved_and_not_refused(tmp_path: Path) -> None:
    rows = draw_rows()
    rows.loc[rows.index[::500], "x1"] = 1e9
    files = private_files(tmp_path, rows=rows)
    assert dry_run(files.site_file("north")).ready
    assert files.run().selected == ("x0", "x2")


def test_no_other_sum_can_be_asked_for(tmp_path: Path) -> None:
    files = private_files(tmp_path)
    party = files.connect().parties["north"]
    digest = read_study(files.study_file).to_study().digest
    party.handle("secure.agree", {"study": digest})
    for statistic in ("moments", "powers", "spread", "means"):
        message = {"round": f"r-{statistic}", "statistic": statistic, "request": {}}
        with pytest.raises(Refusal) as caught:
            party.handle("secure.keys", message)
        assert caught.value.code == "MALFORMED"


def test_numbers_far_from_one_are_not_flagged(tmp_path: Path) -> None:
    rows = draw_rows(100)
    rows["x1"] *= 1e200
    files = private_files(tmp_path, rows=rows)
    party = files.connect().parties["north"]
    digest = read_study(files.study_file).to_study().digest
    assert party.handle("secure.agree", {"study": digest}) == {}


def test_a_spent_budget_stops_a_study(tmp_path: Path) -> None:
    files = private_files(tmp_path)
    files.run()
    for name in NAMES:
        site = files.site_file(name)
        site.write_text(site.read_text() + "policy = { yearly_epsilon = 12.0 }\n")
    files.write_study(name="second")
    with pytest.raises(IncompleteError):
        _run(files, "second")
    log = (files.root / "north" / "site.log").read_text()
    assert "epsilon 8 of the 12 of a year is spent, and the study needs 8" in log
    assert "raise yearly_epsilon" in log
    files.write_study(name="third", privacy={**PRIVACY, "epsilon": 4.0})
    assert _run(files, "third").n_sites == 4


def _run(files: Files, folder: str) -> Any:
    return conduct(files.study_file, files.connect(), files.coordinator / folder)


def test_a_coordinator_that_asks_again_gets_nothing(tmp_path: Path) -> None:
    """The average of two answers has less noise than the study promised."""
    files = private_files(tmp_path, rows=draw_rows(400))
    files.run()
    before = {name: _entries(files, name) for name in NAMES}
    with pytest.raises(IncompleteError):
        _run(files, "forgotten")
    for name in NAMES:
        own = _entries(files, name)
        added = own[len(before[name]) :]
        assert own[: len(before[name])] == before[name]
        assert [one.stage for one in added] == ["refused"]
        assert spent(own) == spent(before[name])
    assert "has had its answer" in (files.root / "north" / "site.log").read_text()


def _entries(files: Files, name: str) -> tuple[Any, ...]:
    return Ledger(files.root / name / "ledger").entries()


def test_a_lost_site_takes_its_noise_with_it(tmp_path: Path) -> None:
    files = private_files(tmp_path)
    transport = files.connect()
    del transport.parties["west"]
    result = files.run(transport, without=["west"])
    assert result.n_sites == 3
    assert result.selected == ("x0", "x2")


def test_a_site_with_a_budget_refuses_exact_sums(tmp_path: Path) -> None:
    files = Files(tmp_path, draw_rows(100))
    site = files.site_file("north")
    site.write_text(site.read_text() + "policy = { yearly_epsilon = 12.0 }\n")
    found = dry_run(site)
    assert [one.rule for one in found.violations or ()] == ["BUDGET"]
    assert not found.ready


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"columns": {"x0": {"type": "number"}}}, "declare range for 'x0'"),
        (
            {"columns": {"x0": {"type": "number", "range": [0, float("inf")]}}},
            "declare range for 'x0'",
        ),
        ({"target": {"name": "y", "type": "number"}}, "declare range for 'y'"),
        ({"missing": "mean"}, "no mean to fill gaps with"),
        ({"model": {"response": "classes"}}, "needs all classes"),
        ({"model": {"penalty": "moments"}}, "penalty"),
        ({"model": {"scores": "normal"}}, "scores"),
        ({"model": {"privacy": 1}}, "privacy"),
        ({"privacy": {"epsilon": 0, "delta": 1e-6}}, "privacy.epsilon"),
        ({"privacy": {"epsilon": 1}}, "privacy.delta"),
        ({"privacy": {"epsilon": 1, "delta": 1e-6, "raduis": 1}}, "raduis"),
    ],
)
def test_promises_that_cannot_be_kept(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    files = private_files(tmp_path, rows=draw_rows(60))
    files.write_study(**changes)
    with pytest.raises(CheckError, match=problem):
        read_study(files.study_file)


def test_the_promise_is_part_of_the_digest(tmp_path: Path) -> None:
    files = private_files(tmp_path, rows=draw_rows(60))
    digests = set()
    for changes in ({}, {"epsilon": 2.0}, {"delta": 1e-7}, {"radius": 0.2}):
        files.write_study(privacy={**PRIVACY, **changes})
        digests.add(read_study(files.study_file).digest)
    del files.study["privacy"]
    files.write_study()
    plain = read_study(files.study_file)
    digests.add(plain.digest)
    assert len(digests) == 5
    assert "privacy" not in plain.content()


def test_noise_is_enough_without_lost_and_colluding_sites(tmp_path: Path) -> None:
    """Of 4 sites one may be lost, and one of the others may collude: 2 are left."""
    files = private_files(tmp_path, rows=draw_rows(60))
    study = read_study(files.study_file).to_study()
    assert (study.agreed_threshold, study.agreement().tolerated) == (3, 1)
    assert study.terms.honest == 2


def test_the_cost_is_told_beforehand(tmp_path: Path) -> None:
    files = private_files(tmp_path, rows=draw_rows(60))
    study = read_study(files.study_file)
    assert list(statistics(study)) == ["private"]
    said = " ".join(seen_by_coordinator(study))
    assert "epsilon 8 and delta 1e-05" in said
    assert "covariance and kernel" not in said
    cost = study_cost(study, 6000)
    assert cost.effective_rows < 6000
    assert cost.penalty > cost.plain_penalty
    half = study_cost(study, cost.rows_for_half)
    assert half.covariance_noise == pytest.approx(half.sampling_noise / 2, rel=0.01)
    assert str(cost.rows_for_half) in describe_cost(cost)[-1]
    # What a study then has is near what was told, for columns as the radius expects.
    found = files_result_noise(private_files(tmp_path / "run"))
    assert 0.3 < found / cost.covariance_noise < 3.0


def files_result_noise(files: Files) -> float:
    return float(files.run().settings["noise"]["noise_sd_covariance"])


def test_json_of_a_check(tmp_path: Path) -> None:
    files = private_files(tmp_path, rows=draw_rows(60))
    outcome = CliRunner().invoke(
        app, ["study", "check", str(files.study_file), "--rows", "5000", "--json"]
    )
    assert outcome.exit_code == 0, outcome.output
    found = json.loads(outcome.stdout)
    assert found["privacy"]["epsilon"] == 8.0
    assert found["privacy"]["n_rows"] == 5000
    shown = CliRunner().invoke(app, ["study", "check", str(files.study_file)])
    assert "privacy costs" in shown.stdout


def test_a_steward_sees_what_is_spent(tmp_path: Path) -> None:
    files = private_files(tmp_path, rows=draw_rows(400))
    files.run()
    outcome = CliRunner().invoke(app, ["site", "ledger", str(tmp_path / "east/ledger")])
    assert "privacy spent in 365 days: epsilon 8, delta 1e-05" in outcome.output
