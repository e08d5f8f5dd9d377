"""Pages do what they say: every block of code on them is run.

The README has a test of its own, and so have the walkthroughs, whose steps go to and
fro between two pages. Blocks of other kinds are run elsewhere, see `RUN_ELSEWHERE`.
"""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from tests.page_blocks import (
    BLOCK,
    ROOT,
    assert_command_exists,
    assert_lines_are_in,
    assert_same_text,
    commands_in,
    run_python,
    run_shell,
)

from fedsdr import exceptions

PAGES = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")))
LINKED = (
    *PAGES,
    *(ROOT / "reproduction").rglob("*.md"),
    *(ROOT / "benchmarks").rglob("*.md"),
)
#: Kinds of blocks that are run here, or compared.
RUN_HERE = {"python", "text", "console", "sh"}

#: Who runs the others: in a prepared place, with nodes, at a site; or reads them.
RUN_ELSEWHERE = {
    "bash": "test_shown_commands.py",
    "sh nodes": "test_walkthrough.py",
    "sh north": "test_operations.py",
    "toml": "test_shown_tables.py",
}

#: Pages whose blocks are run by `test_readme` and `test_walkthrough`.
ELSEWHERE = ("README.md", "walkthrough-coordinator.md", "walkthrough-steward.md")


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def write_hospitals(folder: Path) -> None:
    """Write files of the form of the public heart-disease data, and another one."""
    rng = np.random.default_rng(0)
    for name in ("cleveland", "hungarian", "switzerland", "va"):
        rows = pd.DataFrame(rng.normal(5, 1, (80, 14)).round(1))
        rows[13] = np.clip(np.round(rows[0] - 4 + rng.normal(0, 0.5, 80)), 0, 4)
        rows.mask(rng.random(rows.shape) < 0.02).to_csv(
            folder / f"processed.{name}.data", header=False, index=False, na_rep="?"
        )
    rows = pd.DataFrame(rng.standard_normal((200, 3)), columns=["a", "b", "c"])
    rows["y"], rows["hospital"] = rows["a"] + rng.standard_normal(200), "north"
    rows.to_csv(folder / "patients.csv", index=False)


def link_examples(folder: Path) -> None:
    (folder / "examples").symlink_to(ROOT / "examples")


def link_heart_disease(folder: Path) -> None:
    for path in Path(os.environ[DATA_FOLDER]).rglob("processed.*.data"):
        (folder / path.name).symlink_to(path)


#: What a page expects to find in the folder of its commands.
FILES: dict[str, Callable[[Path], None]] = {
    "inference.md": link_heart_disease,
    "preparation.md": write_hospitals,
    "transports.md": link_examples,
}

#: Pages that load public data sets, and the variable that names their folder.
WITH_DATA, DATA_FOLDER = ("inference.md", "prediction.md"), "FEDSDR_DATA"

#: A page whose commands start processes.
WITH_PROCESSES = "transports.md"

RUN = [
    pytest.param(page, id=page.name)
    if page.name != WITH_PROCESSES
    else pytest.param(page, id=page.name, marks=pytest.mark.e2e)
    for page in PAGES
    if page.name not in ELSEWHERE
    and {kind for kind, _ in blocks(page)} & {"python", "sh", "console"}
]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", RUN)
def test_a_page_gives_what_it_shows(page, tmp_path, monkeypatch) -> None:
    if page.name in WITH_DATA and DATA_FOLDER not in os.environ:
        pytest.skip(f"{DATA_FOLDER} does not name the folder of the data sets")
    monkeypatch.chdir(tmp_path)
    # Who has a cluster installs this; test_shown_commands.py runs more of the block.
    monkeypatch.setitem(sys.modules, "distributed", ModuleType("distributed"))
    monkeypatch.setattr(sys.modules["distributed"], "Client", object, raising=False)
    FILES.get(page.name, lambda _: None)(tmp_path)
    before, printed, names = "", "", {}
    for kind, text in blocks(page):
        if kind == "python":
            printed = run_python(text, page.name, names)
        elif kind == "sh":
            printed = run_shell(text, tmp_path)
            for written in tmp_path.glob("*.toml"):
                printed += written.read_text(encoding="utf-8")
        elif kind == "text" and before == "python":
            assert_same_text(printed, text)
        elif kind == "text":
            assert_lines_are_in(text, printed)
        before = kind if kind != "text" else before


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_is_of_a_kind_that_is_run(page) -> None:
    for kind, text in blocks(page):
        assert kind in RUN_HERE or (ROOT / "tests" / RUN_ELSEWHERE[kind]).is_file()
        assert kind != "sh nodes" or page.name in ELSEWHERE
        # Also where the page is skipped for want of data.
        for line in commands_in(text) if kind in ("sh", "console") else ():
            if line.startswith("fedsdr"):
                assert_command_exists(line)


def test_text_is_output_of_something() -> None:
    for page in PAGES:
        kinds = [kind for kind, _ in blocks(page)]
        assert kinds[:1] != ["text"], page.name
        assert "console" not in kinds or page.name == "README.md", page.name


def test_the_page_of_warnings_has_every_warning() -> None:
    page = (ROOT / "docs" / "warnings.md").read_text(encoding="utf-8")
    sections = page.split("\n## ")[1:]
    for name in exceptions.__all__:
        if name.endswith("Warning"):
            assert any(f"`{name}`" in one for one in sections), name


def test_the_readme_has_the_ratios_of_the_reproductions() -> None:
    results = (ROOT / "reproduction" / "README.md").read_text(encoding="utf-8")
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    shown = re.search(
        r"is ([\d.]+) times the .*? is ([\d.]+) times\..*? is ([\d.]+) times:", readme
    )
    for name, ratio in zip(
        ("table1", "non-gaussian", "mixture"), shown.groups(), strict=True
    ):
        line = rf"^\| \[{name}\].*geometric mean.* \| ([\d.]+), \d+ runs per cell"
        measured = re.search(line, results, re.MULTILINE)[1]
        assert ratio == f"{float(measured):.2f}", name


def test_the_tutorial_takes_six_commands_at_most() -> None:
    page = ROOT / "docs" / "tutorial.md"
    commands = [
        line
        for kind, text in blocks(page)
        if kind == "sh"
        for line in commands_in(text)
    ]
    assert 3 <= len(commands) <= 6


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        assert target.startswith("http") or (page.parent / target).exists(), target
