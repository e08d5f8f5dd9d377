import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import fedsdr
from fedsdr import extras
from fedsdr.cli.reproduce import find_clone
from fedsdr.exceptions import InputError
from reproduction import requirements

ROOT = Path(__file__).parents[2]
FAST = ("--methods", "default,oracle-smooth", "--jobs", 1)


def test_table1_in_short(run, tmp_path) -> None:
    outcome = run("reproduce", "table1", "--runs", 1, *FAST)
    assert outcome.exit_code == 0
    assert "24 new runs" in outcome.stderr
    assert "geometric mean of our Dist over the paper's" in outcome.stdout
    folder = tmp_path / "reproduction" / "table1"
    assert {file.name for file in folder.iterdir()} == {
        "config.json", "results.parquet", "verdict.md", "picture.png",
    }  # fmt: skip
    results = pd.read_parquet(folder / "results.parquet")
    assert len(results) == 24
    easy = results[results.setting.isin(("1", "2", "5"))]
    assert (easy.Dist < 0.4).all()
    assert (easy.TPR == 1).all()
    overall = (tmp_path / "reproduction" / "README.md").read_text()
    assert "[table1](table1/verdict.md)" in overall
    assert "| clients | Figure 7" in overall

    again = run("reproduce", "table1", "--runs", 1, *FAST)
    assert "0 new runs" in again.stderr


def test_the_list_names_experiments_and_methods(run) -> None:
    lines = run("reproduce", "list").stdout
    for word in ("table1:", "error-rate:", "dimension:", "ssir-shipped (3)"):
        assert word in lines


def test_a_verdict_can_be_written_anew(run, tmp_path) -> None:
    options = ("--methods", "votes", "--jobs", 1, "--out", "there")
    assert run("reproduce", "dimension", "--runs", 1, *options).exit_code == 0
    page = tmp_path / "there" / "dimension" / "verdict.md"
    page.unlink()
    outcome = run("reproduce", "dimension", "--runs", 0, "--out", "there")
    assert outcome.exit_code == 0
    assert "the sites' votes" in page.read_text()


def test_fresh_leaves_what_an_experiment_builds_on(run, tmp_path) -> None:
    own = ("--methods", "votes,oracle-slices", "--runs", 1, "--jobs", 1)
    first = run("reproduce", "dimension", *own)
    assert "dimension: 36 new runs" in first.stderr
    table1 = tmp_path / "reproduction" / "table1" / "results.parquet"
    below = table1.read_bytes()
    again = run("reproduce", "dimension", "--fresh", *own)
    assert "table1: 0 new runs" in again.stderr
    assert "dimension: 36 new runs" in again.stderr
    assert table1.read_bytes() == below


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("tabel1",), "there is no experiment 'tabel1'"),
        (("table1", "--methods", "magic"), "table1 has no method magic"),
        (("table1", "--fresh", "--runs", 0), "--fresh with --runs 0 would only drop"),
    ],
)
def test_what_there_is_not_is_one_line(run, tmp_path, words, complaint) -> None:
    outcome = run("reproduce", *words)
    assert outcome.exit_code == 2
    assert f"Error: {complaint}" in outcome.stderr
    assert not (tmp_path / "reproduction").exists()


def test_the_clone_is_found_from_its_folders_and_no_other_project_is_taken(
    tmp_path,
) -> None:
    clone, other = tmp_path / "clone", tmp_path / "clone" / "docs" / "other"
    for folder in (clone / "src" / "fedsdr" / "cli", other / "reproduction"):
        folder.mkdir(parents=True)
    (other / "reproduction" / "__init__.py").touch()
    with pytest.raises(InputError, match="clone the repository"):
        find_clone(clone / "docs", other)
    (clone / "reproduction").mkdir()
    (clone / "reproduction" / "__init__.py").touch()
    for start in (clone, clone / "docs", other / "reproduction", clone / "src"):
        assert find_clone(start) == clone
    assert find_clone(tmp_path, clone / "src" / "fedsdr" / "cli") == clone


def test_outside_a_clone_one_sentence_says_what_to_do(tmp_path) -> None:
    """Run a copy of the installed package, from a folder without a clone above it."""
    package = tmp_path / "installed" / "fedsdr"
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(fedsdr.__file__).parent, package, ignore=skip)
    program = "from fedsdr.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "reproduce", "list"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(package.parent), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "Error: the code of the experiments is not part of the installed package: "
        "clone the repository of fedsdr and run this command in the clone\n"
    )


def test_a_library_that_is_missing_is_named_with_its_extra(monkeypatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"experiments needs .*fedsdr\[reproduction\]"):
        requirements.check_requirements()


def test_processes_started_from_another_folder_find_the_experiments(tmp_path) -> None:
    """As the installed command does: without the clone on the path."""
    program = f"""\
import sys
sys.path = [entry for entry in sys.path if entry not in ("", {str(ROOT)!r})]
from fedsdr.cli import main
main()
"""
    words = ("reproduce", "dimension", "--runs", "1", "--methods", "bic", "--jobs", "2")
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(fedsdr.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = pd.read_parquet(tmp_path / "reproduction/dimension/results.parquet")
    assert len(results) == 36
    assert (results.failed == "").all()
