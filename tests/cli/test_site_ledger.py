import json
from pathlib import Path

import pytest
from tests.study.consortia import Files, simulate_rows

from fedsdr.disclosure import Ledger, Release
from fedsdr.spoken import in_words

STUDIES = ("5d" * 32, "77" * 32)


@pytest.fixture(name="path")
def ledger_of_three(tmp_path: Path) -> Path:
    """Write a ledger with three entries about two studies."""
    ledger = Ledger(tmp_path / "ledger")
    sites = ("east", "north", "[b]south")
    asked = Release(STUDIES[0], "moments", "ab" * 32, sites, 116, "r1")
    ledger.append(asked, "f0", stage="offered", columns={"age": "a1"})
    ledger.append(asked, "f0", columns={"age": "a1"})
    other = Release(STUDIES[1], "errors", "cd" * 32, sites, 20, "r2")
    ledger.append(other, "f1")
    return tmp_path / "ledger"


def test_the_table_lists_releases(run, path) -> None:
    outcome = run("site", "ledger", path)
    assert outcome.exit_code == 0
    lines = outcome.stdout.splitlines()
    (first,) = [line for line in lines if "offered" in line]
    time = Ledger(path).entries()[0].time[:19].replace("T", " ")
    for words in (time, STUDIES[0][:8], "moments", "[b]south, east", "116"):
        assert words in first
    (last,) = [line for line in lines if "errors" in line]
    assert last.split()[-1] == "20"
    assert outcome.stderr == ""


def test_json_has_every_field(run, path) -> None:
    outcome = run("site", "ledger", path, "--json")
    found = json.loads(outcome.stdout)
    assert found == [entry.to_mapping() for entry in Ledger(path).entries()]
    assert outcome.stderr == ""


def test_verify_prints_the_head(run, path) -> None:
    head = Ledger(path).verify().head
    outcome = run("site", "ledger", path, "--verify")
    assert outcome.exit_code == 0
    first, second, *words = outcome.stdout.splitlines()
    assert (first, second) == ("whole, 3 entries", f"head {head}")
    assert " . ".join(line.strip() for line in words) == in_words(head)
    outcome = run("site", "ledger", path, "--verify", "--json")
    assert json.loads(outcome.stdout) == {
        "whole": True,
        "entries": 3,
        "head": head,
        "head_file": "agrees",
        "key": "",
    }


@pytest.mark.parametrize("options", [(), ("--verify",)])
@pytest.mark.parametrize(
    ("damage", "line", "problem"),
    [
        (lambda rows: rows[1].replace(b"116", b"117"), 2, "was changed"),
        (lambda rows: b"", 2, "does not follow"),
    ],
)
def test_a_broken_ledger_names_its_first_bad_line(
    run, path, options, damage, line, problem
) -> None:
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(rows[0] + damage(rows) + rows[2])
    outcome = run("site", "ledger", path, *options)
    assert outcome.exit_code == 1
    assert outcome.stdout == ""
    (complaint,) = outcome.stderr.splitlines()
    assert complaint.startswith(f"Error: {path} is broken: line {line} {problem}")
    outcome = run("site", "ledger", path, *options, "--json")
    assert outcome.exit_code == 1
    found = json.loads(outcome.stdout)
    assert (found["whole"], found["line"]) == (False, line)
    assert found["problem"].startswith(problem)
    assert outcome.stderr == ""


def test_a_cut_or_lost_ledger_is_broken(run, path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    outcome = run("site", "ledger", path, "--verify")
    assert outcome.exit_code == 1
    assert "line 3 is missing" in outcome.stderr
    path.unlink()
    outcome = run("site", "ledger", path, "--verify")
    assert outcome.exit_code == 1
    assert "line 1 is missing" in outcome.stderr


def test_a_ledger_without_its_head_file_is_doubted(run, path) -> None:
    path.with_name("ledger.head").unlink()
    outcome = run("site", "ledger", path, "--verify")
    assert outcome.exit_code == 0
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("Warning:")
    assert "there is no head file" in line


def test_a_ledger_without_entries(run, tmp_path) -> None:
    (tmp_path / "empty").touch()
    outcome = run("site", "ledger", tmp_path / "empty")
    assert (outcome.exit_code, outcome.stdout) == (0, "nothing has been released\n")
    outcome = run("site", "ledger", tmp_path / "empty", "--verify")
    assert outcome.stdout.startswith("whole, 0 entries")


@pytest.mark.parametrize(
    ("name", "problem"), [("none", "does not exist"), (".", "is a folder")]
)
def test_bad_input_is_one_line(run, tmp_path, name, problem) -> None:
    outcome = run("site", "ledger", tmp_path / name)
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("Error: ")
    assert problem in line
    assert not (tmp_path / "none").exists()


def test_help_names_the_command(run) -> None:
    assert "ledger" in run("site", "--help").stdout
    assert "site" in run("--help").stdout


@pytest.fixture(name="files")
def broken_off(tmp_path: Path) -> Files:
    """Write a study of which north has offered numbers in a round."""
    files = Files(tmp_path / "study", simulate_rows())
    sites = ("east", "north", "[b]south")
    asked = Release(STUDIES[0], "moments", "ab" * 32, sites, 116, "r1")
    files.ledger("north").append(asked, "f0", stage="offered", columns={"age": "a1"})
    return files


def test_one_round_is_voided_and_stays_in_the_ledger(run, files) -> None:
    site_file = files.site_file("north")
    outcome = run("site", "void", site_file, "r1")
    assert outcome.exit_code == 0
    assert "Voided moments over [b]south, east, north" in outcome.stdout
    assert "fedsdr study void" in outcome.stdout
    entries = files.ledger("north").entries()
    assert [entry.stage for entry in entries] == ["offered", "voided"]
    assert (entries[-1].round, entries[-1].subject) == ("r1", "ab" * 32)
    assert entries[-1].key == entries[0].key != ""
    assert "voided" in run("site", "ledger", site_file).stdout


def test_rounds_that_are_not_there_are_not_voided(run, files) -> None:
    outcome = run("site", "void", files.site_file("north"), "r3")
    assert outcome.exit_code == 2
    assert "has no round r3" in outcome.stderr
    assert files.ledger("north").verify().n_entries == 1


def test_no_round_is_voided_without_the_ledger_of_the_site(run, files) -> None:
    path = files.root / "north" / "ledger"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"moments", b"momentS"))
    outcome = run("site", "void", files.site_file("north"), "r1")
    assert outcome.exit_code == 1
    assert "is broken" in outcome.stderr
    path.unlink()
    outcome = run("site", "void", files.site_file("north"), "r1")
    assert outcome.exit_code == 2
    assert "there is no ledger" in outcome.stderr
