"""Blocks of kind ``bash``: each is run, in a place that is made for it here.

What a block begins with says which place it needs (`RUN_BY`). A block for which there
is none fails, so that a page cannot show commands that nobody has run. What cannot be
run by a test is in `NOT_RUN`, with the reason and with what is tried instead.
"""

import dataclasses
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import joblib
import numpy as np
import pandas as pd
import pytest
from tests.page_blocks import (
    BLOCK,
    PATIENCE,
    ROOT,
    commands_in,
    environment,
    run_here,
)
from tests.reproduction.tiny import TINY
from tests.study.consortia import Files, simulate_rows

from fedsdr.result import Result
from reproduction import command as reproduction_command
from reproduction.experiment import Experiment

SITES = ("north", "south", "east", "west")

#: Targets of make whose recipe is only looked at, and why.
NOT_RUN = {
    "test": "it runs this test",
    "test-fast": "it runs this test",
    "test-slow": "minutes; its recipe is pytest with a marker",
    "test-random": "minutes; its recipe is pytest with a marker",
    "test-mutants": "it runs tests of its own, for ten minutes",
    "test-chaos": "hours; tests/chaos runs short campaigns",
    "check": "no test; every change passes it before it is merged",
    "docs": "a minute or two; tests/test_site.py has what its extensions promise",
    "dist": "it makes environments from an index of packages",
    "demo": "its recipe is `fedsdr demo`, which tests/e2e/test_demo.py runs",
    "walk": "its recipe is tools.walk, which tests/test_walk.py runs",
}


def shown_blocks() -> list:
    """Return all blocks of kind ``bash``, with the pages they are on."""
    pages = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    return [
        pytest.param(text, id=f"{page.stem}:{commands_in(text)[0][:40]}")
        for page in sorted(pages)
        for kind, text in BLOCK.findall(page.read_text(encoding="utf-8"))
        if kind == "bash"
    ]


# --- files of one analyst -------------------------------------------------------------


def write_files(folder: Path) -> None:
    """Write the files that pages name: patients, visits, heart disease, new rows."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.standard_normal((360, 5)), columns=list("abcde"))
    drawn = rows["a"] + rows["b"] + rng.standard_normal(len(rows))
    rows["hospital"] = np.resize(["north", "south", "east"], len(rows))
    rows.assign(y=drawn).to_csv(folder / "patients.csv", index=False)
    visits = rows.drop(columns="hospital").assign(y=drawn)
    visits["patient"] = np.arange(len(rows)) // 2
    visits.to_csv(folder / "visits.csv", index=False)
    ill = np.where(drawn > 0.0, "yes", "no")
    rows.assign(disease=ill).to_csv(folder / "heart.csv", index=False)
    rows.head(7).to_csv(folder / "new.csv", index=False)


def run_fits(text: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue("tmp_path")
    write_files(folder)
    run_here(text, folder)
    for word in shlex.split(text, comments=True):
        # Whatever a command was told to write is there.
        if re.fullmatch(r"[\w-]+\.(json|csv|html)", word):
            assert (folder / word).stat().st_size > 0, word
    if "predictions.csv" in text:
        assert len(pd.read_csv(folder / "predictions.csv")) == 7


# --- between institutions -------------------------------------------------------------


def run_study(text: str, request: pytest.FixtureRequest) -> None:
    """Do what the README shows: each line where it belongs, and at every site."""
    folder = request.getfixturevalue("tmp_path")
    write_files(folder)
    rows = pd.read_csv(folder / "patients.csv").drop(columns="hospital")
    rows.head(0).to_csv(folder / "header.csv", index=False)
    for number, name in enumerate(SITES):
        (folder / name).mkdir()
        rows[number::4].to_csv(folder / name / "rows.csv", index=False)
    printed = {}
    for line in commands_in(text):
        words = line.split()[1:3]
        if words[0] == "site":
            own = [re.sub(r"\bnorth\b", name, line) for name in SITES]
            for name, command in zip(SITES, own, strict=True):
                printed[*words] = run_here(command, folder / name)
            continue
        files = " ".join(f"{name}/site.toml" for name in SITES)
        printed[*words] = run_here(line.replace("*/site.toml", files), folder)
        if words == ["study", "init"]:
            roster = [(folder / name / "identity.pub").read_text() for name in SITES]
            study = (folder / "study.toml").read_text() + "".join(roster)
            for place in (".", *SITES):
                (folder / place / "study.toml").write_text(study)
    assert "coordinator sees" in printed["study", "check"]
    assert "Accepted" in printed["site", "accept"]
    assert "a rehearsal: no site has released anything" in printed["study", "simulate"]
    assert Result.from_json(folder / "rehearsal.json").selected == ("a", "b")
    assert "nothing has been released" in printed["site", "ledger"]


def predict_by_study(text: str, request: pytest.FixtureRequest) -> None:
    """Predict with the result of a study that has fitted a model."""
    folder = request.getfixturevalue("tmp_path")
    rows = simulate_rows(n_rows=120)
    files = Files(folder / "study", rows, prediction={}, model={"refit": "pooled"})
    result = files.run()
    assert "prediction" in result.settings
    result.to_json(folder / "result.json")
    rows.head(7).drop(columns=["site", "y"]).to_csv(folder / "new.csv", index=False)
    run_here(text, folder)
    assert len(pd.read_csv(folder / "predictions.csv")) == 7


# --- the paper's experiments ----------------------------------------------------------


def short_experiment(name: str) -> Experiment:
    """Stand in for an experiment, which would take hours: one that draws numbers."""
    return dataclasses.replace(TINY, name=name, methods={"default": 1})


def run_reproduction(text: str, request: pytest.FixtureRequest) -> None:
    folder, monkeypatch = map(request.getfixturevalue, ("tmp_path", "monkeypatch"))
    run_here("fedsdr reproduce list", folder)
    monkeypatch.setattr(reproduction_command, "find_experiment", short_experiment)
    # The page of all results wants the measures of the paper's tables.
    monkeypatch.setattr(reproduction_command, "write_overall", lambda out, _: out)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    run_here(text, folder)
    asked = pd.read_parquet(folder / "mine" / "table1" / "results.parquet")
    assert asked.run.nunique() == 20
    for name in reproduction_command.experiment_names():
        assert (folder / "reproduction" / name / "verdict.md").is_file()


def test_the_cluster_of_the_page_runs_the_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask's client and backend are stood in for: the runs go through joblib here."""
    page = (ROOT / "docs" / "reproducing.md").read_text(encoding="utf-8")
    (code,) = (text for kind, text in BLOCK.findall(page) if kind == "python")
    asked = []
    cluster = ModuleType("distributed")
    cluster.Client = asked.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "distributed", cluster)
    parallel = joblib.parallel_config
    monkeypatch.setattr(
        joblib, "parallel_config", lambda name: asked.append(name) or parallel("loky")
    )
    monkeypatch.setattr("reproduction.registry.find_experiment", short_experiment)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.py").write_text(code)
    runpy.run_path("cluster.py", run_name="__main__")
    assert asked == ["scheduler-address:8786", "dask"]
    found = pd.read_parquet(tmp_path / "reproduction" / "table1" / "results.parquet")
    assert found.run.nunique() == 200
    assert (tmp_path / "reproduction" / "table1" / "verdict.md").is_file()


# --- installing -----------------------------------------------------------------------


@pytest.fixture(name="clone", scope="module")
def small_clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what a wheel is made of, beside an empty environment.

    The environment sees the packages of this one, so that nothing is fetched but what
    builds the wheel. All of them have to be those that constraints.txt allows.
    """
    root = tmp_path_factory.mktemp("install")
    clone = root / "clone"
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", clone / "src", ignore=skip)
    for name in ("pyproject.toml", "constraints.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, clone)
    python = [sys.executable, "-m", "venv", "--without-pip", root / "env"]
    subprocess.run(python, check=True, timeout=PATIENCE)
    (library,) = (root / "env" / "lib").glob("python*/site-packages")
    (library / "lent.pth").write_text(str(Path(joblib.__file__).parents[1]) + "\n")
    pip = root / "env" / "bin" / "pip"
    pip.write_text('#!/bin/sh\nexec "$(dirname "$0")/python" -m pip "$@"\n')
    pip.chmod(0o700)
    return clone


_INSTALLED: set[str] = set()


def install(text: str, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("pip")
    clone = request.getfixturevalue("clone")
    programs = clone.parent / "env" / "bin"
    for line in commands_in(text):
        # Two pages show the same line.
        if line in _INSTALLED:
            continue
        known = environment(88)
        known["PATH"] = os.pathsep.join([str(programs), known["PATH"]])
        done = subprocess.run(
            ["sh", "-e", "-c", line], cwd=clone, env=known, timeout=PATIENCE,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if re.search("No matching distribution found for hatchling", done.stderr):
            pytest.skip("no index has hatchling, which builds the wheel")
        assert done.returncode == 0, done.stderr
        assert "does not provide the extra" not in done.stderr
        said = subprocess.run(
            [programs / "fedsdr", "--version"], capture_output=True, check=True
        )
        assert said.stdout.startswith(b"fedsdr ")
        _INSTALLED.add(line)


# --- make -----------------------------------------------------------------------------


def make(text: str, _: pytest.FixtureRequest) -> None:
    """Run `make help`; of the others show the recipe, whose programs must exist."""
    for line in commands_in(text):
        _, target = line.split()
        dry = [] if target == "help" else ["--dry-run"]
        assert not dry or NOT_RUN[target]
        done = subprocess.run(
            ["make", *dry, target], cwd=ROOT, capture_output=True, text=True, check=True
        )
        for name in re.findall(r"bin/python -m ([\w.]+)", done.stdout):
            assert find_spec(name) is not None, name
        if target == "help":
            assert set(NOT_RUN) <= set(done.stdout.split())


# --- all of them ----------------------------------------------------------------------

#: What runs a block that begins with these words. A demonstration over nodes is run,
#: with the words of the README, by tests/e2e/test_demo.py.
RUN_BY: dict[str, Callable[[str, pytest.FixtureRequest], None]] = {
    "fedsdr fit": run_fits,
    "fedsdr site": run_study,
    "fedsdr predict": predict_by_study,
    "fedsdr reproduce": run_reproduction,
    "fedsdr demo": lambda *_: None,
    "pip install": install,
    "make": make,
}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("text", shown_blocks())
def test_a_block_runs(text: str, request: pytest.FixtureRequest) -> None:
    first = commands_in(text)[0]
    (run,) = (RUN_BY[words] for words in RUN_BY if first.startswith(words))
    run(text, request)
