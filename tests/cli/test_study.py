import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.disclosure import RULES, Ledger
from fedsdr.questions import AgreementOf, MomentsOf, ProfileOf
from fedsdr.result import Result
from fedsdr.secure_sum import Identity
from fedsdr.study import read_site, read_study
from fedsdr.study.templates import PURPOSE


@pytest.fixture(name="files")
def four_sites(tmp_path: Path) -> Files:
    """Write a study of four sites, with one sum."""
    rows = simulate_rows(n_rows=60)
    return Files(tmp_path / "consortium", rows, model={"refit": "pooled"})


@pytest.fixture(name="default_files")
def four_sites_by_default(tmp_path: Path) -> Files:
    """Write a study of four sites, with a second stage."""
    return Files(tmp_path / "consortium", simulate_rows(n_rows=60))


def errors(outcome: Any) -> list[str]:
    lines = outcome.stderr.splitlines()
    return [line for line in lines if line.startswith("Error: ")]


# --- keygen ---------------------------------------------------------------------------


def test_keygen_writes_a_key_and_prints_the_public_half(run, tmp_path) -> None:
    outcome = run("keygen", "--site", "north")
    assert outcome.exit_code == 0
    identity = Identity.load(tmp_path / "identity.key")
    assert f'north = "{identity.public.hex()}"' in outcome.stdout
    assert (tmp_path / "identity.key").stat().st_mode & 0o777 == 0o600
    private = (tmp_path / "identity.key").read_text().strip()
    assert private not in outcome.output
    line = (tmp_path / "identity.pub").read_text()
    assert line == f'north = "{identity.public.hex()}"\n'


def test_keygen_never_overwrites(run, tmp_path) -> None:
    found = json.loads(run("keygen", "--out", "a.key", "--json").stdout)
    assert Identity.load(tmp_path / "a.key").public.hex() == found["public"]
    outcome = run("keygen", "--out", "a.key")
    assert outcome.exit_code == 2
    assert "a.key exists; a key is never overwritten" in outcome.stderr
    (tmp_path / "a.key").rename(tmp_path / "kept")
    outcome = run("keygen", "--out", "a.key")
    assert "a.pub exists; a key is never overwritten" in outcome.stderr
    (tmp_path / "kept").rename(tmp_path / "a.key")
    (tmp_path / "a.pub").unlink()
    outcome = run("keygen", "--out", "a.key")
    assert outcome.exit_code == 2
    assert "never overwritten" in outcome.stderr
    assert run("keygen", "--out", "b.pub").exit_code == 2
    assert not (tmp_path / "b.pub").exists()
    assert Identity.load(tmp_path / "a.key").public.hex() == found["public"]


# --- study init and check -------------------------------------------------------------


def test_from_nothing_to_a_study_that_runs(run, tmp_path, csv, hospitals) -> None:
    """Follow the hints that the commands print."""
    lines = []
    for name in ("north", "south", "east", "west"):
        (tmp_path / name).mkdir()
        outcome = run("site", "init", "--name", name, "--out", f"{name}/site.toml",
                      "--study", "../study.toml")  # fmt: skip
        assert outcome.exit_code == 0
        lines.append((tmp_path / name / "identity.pub").read_text().strip())
        assert lines[-1] in outcome.stdout
        rows = hospitals[hospitals["hospital"] == name].drop(columns="hospital")
        rows.to_csv(tmp_path / name / "rows.csv", index=False)
    hospitals.drop(columns="hospital").to_csv(csv, index=False)
    outcome = run("study", "init", "--from-csv", csv)
    assert outcome.stdout.splitlines()[-1].strip() == "fedsdr study check study.toml"
    with (tmp_path / "study.toml").open("a") as stream:
        stream.write("\n".join(lines) + "\n")
    outcome = run("study", "check", "study.toml")
    assert outcome.exit_code == 0
    digest = read_study(tmp_path / "study.toml").digest
    assert f"digest {digest}" in outcome.stdout
    outcome = run("site", "check", "north/site.toml")
    assert outcome.exit_code == 0, outcome.output
    assert digest in outcome.stdout
    assert "coordinator sees" in outcome.stdout
    last = outcome.stdout.splitlines()[-1].strip()
    assert last == "fedsdr site accept north/site.toml north/../study.toml --partners"
    words = last.split()[1:]
    # Nobody becomes a partner by the way.
    outcome = run(*words[:-1])
    assert outcome.exit_code == 2
    assert "Let their stewards read their words to you" in outcome.stderr
    assert not (tmp_path / "north" / "peers.json").exists()
    assert run(*words).exit_code == 0
    outcome = run("site", "check", "north/site.toml")
    assert outcome.exit_code == 0, outcome.output
    assert "--partners" not in outcome.stdout
    sites = [f"{name}/site.toml" for name in ("north", "south", "east", "west")]
    outcome = run("study", "simulate", "study.toml", *sites)
    assert outcome.exit_code == 0, outcome.output
    assert Result.from_json(tmp_path / "rehearsal.json").selected == ("lab1", "lab3")


def test_check_says_what_will_happen(run, files) -> None:
    outcome = run("study", "check", files.study_file, "--json")
    found = json.loads(outcome.stdout)
    agreed = read_study(files.study_file).to_study()
    assert found["digest"] == agreed.digest
    assert found["sums"] == {"moments": MomentsOf(agreed.terms).n_values}
    assert (found["rounds"], found["max_profiles"]) == (8, 0)
    assert found["features"] == [f"x{j}" for j in range(6)]
    assert any("covariance" in line for line in found["coordinator_sees"])
    assert outcome.stderr == ""


def test_check_says_that_there_is_a_second_stage(run, default_files) -> None:
    outcome = run("study", "check", default_files.study_file, "--json")
    found = json.loads(outcome.stdout)
    agreed = read_study(default_files.study_file).to_study()
    # A profile of six variables and two directions, whose need is counted at 5 levels.
    assert found["sums"] == {
        "moments": MomentsOf(agreed.terms).n_values,
        "spread": 3 + 2 * 6,
        "profile": ProfileOf.length(6, 2),
        "remainder": 6 + 3,
        "agreement": 7 + 5 * 6 + 5 * 3 + 2,
    }
    assert (found["rounds"], found["max_profiles"]) == (32, 30)
    assert any("30 sets of directions" in line for line in found["coordinator_sees"])
    assert any("selected variables" in line for line in found["sites_see"])
    assert any("usual variance of every" in line for line in found["sites_see"])
    for said in ("of each of the 6 columns at how many sites it varies", "SECURITY.md"):
        assert any(said in line for line in found["coordinator_sees"])
    shown = run("study", "check", default_files.study_file).stdout
    assert "32 with one profile of at most 30" in shown
    leaves = run("site", "check", default_files.site_file("north")).stdout
    assert "bytes with one profile, of at most 30:" in leaves


def test_what_leaves_in_a_second_stage_is_what_is_said(run, default_files) -> None:
    """Each profile is as large as announced, or smaller if less is selected."""
    files = default_files
    said = json.loads(run("site", "check", files.site_file("north"), "--json").stdout)
    masked = {
        one["statistic"]: one["n_bytes"]
        for one in said["leaves"]
        if one["field"] == "masked"
    }
    transport = files.connect()
    result = files.run(transport)
    transcript = transport.transcript.messages
    statistics = {
        m.payload["round"]: m.payload["statistic"]
        for m in transcript
        if m.name == "secure.keys" and m.receiver == "north"
    }
    sent: dict[str, list[int]] = {}
    asked = [m for m in transcript if m.name == "secure.masked"]
    requests = [m for m in asked if m.receiver == "north"]
    replies = [m for m in asked if m.sender == "north"]
    for request, reply in zip(requests, replies, strict=True):
        statistic = statistics[request.payload["round"]]
        sent.setdefault(statistic, []).append(reply.payload["masked"].nbytes)
    assert list(sent) == ["moments", "spread", "profile", "agreement"]
    # Asked for only where covariances differ.
    assert set(masked) - set(sent) == {"remainder"}
    for once in ("moments", "spread"):
        assert sent[once] == [masked[once]]
    # Directions are tried one by one, the last one in vain.
    k, s = result.n_directions, len(result.selected)
    assert (k, s) == (1, 2)
    assert {16 * ProfileOf.length(s, one) for one in (1, 2)} >= set(sent["profile"])
    assert max(sent["profile"]) <= masked["profile"]
    assert sent["agreement"] == [16 * AgreementOf.length(6, k)]
    assert sent["agreement"][0] <= masked["agreement"]
    assert len(sent["profile"]) <= said["max_profiles"]


def test_what_leaves_is_what_is_said(run, files) -> None:
    """Compare the announced bytes with those that a run sends."""
    found = json.loads(run("study", "check", files.study_file, "--json").stdout)
    transport = files.connect()
    files.run(transport)
    sent = transport.transcript.sent["north"]
    # Names of fields and of sites are not counted.
    assert found["bytes_from_each_site"] < sent < found["bytes_from_each_site"] + 600
    rounds = {m.name for m in transport.transcript.messages}
    assert len(rounds) == found["rounds"]


def test_every_mistake_has_a_line(run, files) -> None:
    files.write_study(purpose="", model={"penalty": "lasso"})
    outcome = run("study", "check", files.study_file)
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    first, second = errors(outcome)
    assert first.startswith(f"Error: {files.study_file}: purpose: ")
    assert second.startswith(f"Error: {files.study_file}: model.penalty: must be")


def test_init_never_overwrites(run, tmp_path) -> None:
    assert run("study", "init").exit_code == 0
    before = (tmp_path / "study.toml").read_text()
    assert run("study", "init", "--name", "other").exit_code == 2
    assert (tmp_path / "study.toml").read_text() == before
    assert run("site", "init", "--name", "a").exit_code == 0
    assert read_site(tmp_path / "site.toml").name == "a"
    assert run("site", "init", "--name", "b").exit_code == 2


def test_init_begins_no_ledger_in_place_of_a_lost_one(run, tmp_path) -> None:
    assert run("site", "init", "--name", "a").exit_code == 0
    assert (tmp_path / "ledger").read_bytes() == b""
    key = (tmp_path / "identity.key").read_bytes()
    for lost in ("site.toml", "ledger", "ledger.head"):
        (tmp_path / lost).unlink(missing_ok=True)
    outcome = run("site", "init", "--name", "a")
    assert outcome.exit_code == 0
    assert "fedsdr site ledger init site.toml" in outcome.stdout
    assert not (tmp_path / "ledger").exists()
    assert (tmp_path / "identity.key").read_bytes() == key


def test_init_reads_the_header_only(run, tmp_path) -> None:
    (tmp_path / "rows.csv").write_bytes(b'\xef\xbb\xbfage,"a ""b""",,y\n1,2,3,4\n')
    outcome = run("study", "init", "--from-csv", "rows.csv", "--json")
    assert json.loads(outcome.stdout)["columns"] == ["age", 'a "b"']
    outcome = run("study", "init", "--from-csv", "rows.csv", "--target", "z")
    assert outcome.exit_code == 2
    assert "no column 'z'" in outcome.stderr


# --- site check -----------------------------------------------------------------------


def test_a_site_that_could_take_part(run, files) -> None:
    outcome = run("site", "check", files.site_file("north"), "--json")
    assert outcome.exit_code == 0
    found = json.loads(outcome.stdout)
    assert found["ready"]
    assert found["rows"] == {"read": 65, "dropped": 0, "used": 65}
    assert all(rule["passed"] for rule in found["rules"])
    # Two rules are about questions and sums that are not known before.
    known = set(RULES) - {"QUESTIONS", "FILLS"}
    assert {rule["rule"] for rule in found["rules"]} == known
    masked = [one for one in found["leaves"] if one["field"] == "masked"]
    n_values = MomentsOf(read_study(files.study_file).to_study().terms).n_values
    assert [one["n_bytes"] for one in masked] == [16 * n_values]
    folder = files.root / "north"
    assert (folder / "ledger").read_bytes() == b""
    assert not (folder / "result.json").exists()


def test_rules_that_forbid_are_explained(run, files) -> None:
    rows = files.rows[files.rows["site"] == "north"].drop(columns="site")
    files.write_rows("north", "csv", rows.head(30))
    outcome = run("site", "check", files.site_file("north"))
    assert outcome.exit_code == 1
    assert "forbids" in outcome.stdout
    assert "What would leave" not in outcome.stdout
    found = json.loads(run("site", "check", files.site_file("north"), "--json").stdout)
    (broken,) = [rule for rule in found["rules"] if not rule["passed"]]
    assert broken["rule"] == "ROWS"
    assert "30 rows" in broken["explanation"]


def test_data_that_do_not_fit_are_counted(run, files) -> None:
    rows = files.rows[files.rows["site"] == "north"].drop(columns="site")
    rows.iloc[3, 0] = np.nan
    files.write_rows("north", "csv", rows)
    outcome = run("site", "check", files.site_file("north"))
    assert outcome.exit_code == 1
    (line,) = errors(outcome)
    assert "column 'x0': 1 missing value(s)" in line
    found = json.loads(run("site", "check", files.site_file("north"), "--json").stdout)
    assert found["rules"] is None
    assert found["columns"]["x0"]["gaps"] == 1


def test_a_check_looks_into_the_ledger(run, files) -> None:
    files.run()
    before = Ledger(files.root / "north" / "ledger").verify()
    assert run("site", "check", files.site_file("north")).exit_code == 0
    rows = files.rows[files.rows["site"] == "north"].drop(columns="site")
    files.write_rows("north", "csv", rows.tail(60))
    found = json.loads(run("site", "check", files.site_file("north"), "--json").stdout)
    broken = [rule["rule"] for rule in found["rules"] if not rule["passed"]]
    assert broken == ["CHANGED"]
    path = files.root / "north" / "ledger"
    assert Ledger(path).verify() == before
    path.write_bytes(path.read_bytes().replace(b"moments", b"momentz", 1))
    outcome = run("site", "check", files.site_file("north"))
    assert outcome.exit_code == 1
    assert "is broken" in outcome.stderr


def test_a_check_fails_without_the_ledger(run, files) -> None:
    """It used to pass, and to begin another ledger."""
    path = files.root / "north" / "ledger"
    for file in path.parent.glob("ledger*"):
        file.unlink()
    outcome = run("site", "check", files.site_file("north"))
    assert outcome.exit_code == 1
    assert "there is no ledger" in outcome.output
    assert not path.exists()


def test_units_that_cannot_be_added_are_found(run, files) -> None:
    rows = files.rows[files.rows["site"] == "north"].drop(columns="site")
    files.write_rows("north", "csv", rows.assign(x0=rows["x0"] * 1e-9))
    assert run("site", "check", files.site_file("north")).exit_code == 0
    files.write_study(model={"standardize": False})
    outcome = run("site", "check", files.site_file("north"))
    assert outcome.exit_code == 1
    assert "smaller units" in outcome.stderr


def test_bad_files_are_another_exit_code(run, files) -> None:
    files.write_site("north", data={"kind": "csv", "path": "none.csv"})
    outcome = run("site", "check", files.site_file("north"))
    assert outcome.exit_code == 2
    (line,) = errors(outcome)
    assert "none.csv" in line


# --- simulate -------------------------------------------------------------------------


def test_a_rehearsal_is_the_study_and_leaves_no_trace(run, files) -> None:
    sites = [files.site_file(name) for name in NAMES]
    outcome = run("study", "simulate", files.study_file, *sites, "--json")
    assert outcome.exit_code == 0
    found = Result.from_json(outcome.stdout)
    for name in NAMES:
        left = {path.stem for path in (files.root / name).iterdir()}
        assert left == {"identity", "site", "study", "rows", "ledger", "peers"}
        assert (files.root / name / "ledger").read_bytes() == b""
    real = files.run()
    np.testing.assert_array_equal(found.directions, real.directions)


def test_too_few_sites_are_a_failure(run, files) -> None:
    sites = [files.site_file(name) for name in NAMES[:2]]
    outcome = run("study", "simulate", files.study_file, *sites)
    assert outcome.exit_code == 2
    (line,) = errors(outcome)
    assert "without south, west 2 sites are left, and the study needs 3" in line


def test_a_rehearsal_says_why_a_site_refuses(run, files) -> None:
    rows = files.rows[files.rows["site"] == "north"].drop(columns="site")
    files.write_rows("north", "csv", rows.head(30))
    sites = [files.site_file(name) for name in NAMES]
    outcome = run("study", "simulate", files.study_file, *sites)
    assert outcome.exit_code == 2
    assert "site 'north' refuses: ROWS: the site has 30 rows" in outcome.stderr
    outcome = run("study", "simulate", files.study_file, *sites, sites[0])
    assert outcome.exit_code == 2
    assert "two site files have the name 'east'" in outcome.stderr


def test_a_new_study_file_says_what_it_lacks(run, csv) -> None:
    assert run("study", "init", "--from-csv", csv).exit_code == 0
    (line,) = errors(run("study", "check", "study.toml"))
    assert "sites.roster: has no sites" in line


def test_a_purpose_that_nobody_wrote_is_noticed(run, files) -> None:
    files.write_study(purpose=PURPOSE)
    outcome = run("study", "check", files.study_file)
    assert outcome.exit_code == 0
    assert "Warning: " in outcome.stderr
    assert run("study", "init", "--purpose", "To know.", "--out", "b").exit_code == 0
    assert 'purpose = "To know."' in Path("b").read_text()
