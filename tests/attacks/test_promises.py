"""Promises of SECURITY.md name tests that exist; mutants are those of the sources."""

import re
from pathlib import Path

import pytest
from tools.mutant import Mutant
from tools.mutant_table import MUTANTS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "SECURITY.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="not a clone")

#: First cells of the tables whose lines are promises.
PROMISES = ("promise",)


def promises() -> list[list[str]]:
    """Return the cells of all lines in tables of promises."""
    found, inside = [], False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("|"):
            inside = False
        elif cells[0] in PROMISES:
            inside = True
        elif inside and not line.startswith("|--"):
            found.append(cells)
    return found


def test_every_promise_has_a_test() -> None:
    listed = promises()
    assert len(listed) > 30
    for cells in listed:
        assert "test" in cells[-1] or cells[-1].startswith("the same"), cells[0]


def test_tests_that_are_named_exist() -> None:
    text = PAGE.read_text(encoding="utf-8")
    paths = set(re.findall(r"`(tests/[\w/.]+)`", text))
    assert len(paths) > 25
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
    sources = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")
    )
    names = set(re.findall(r"`(test_\w+)`", text))
    assert names
    assert [name for name in sorted(names) if f"def {name}(" not in sources] == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
def test_defences_that_are_switched_off_are_in_the_sources(mutant: Mutant) -> None:
    for edit in mutant.edits:
        text = (ROOT / edit.file).read_text(encoding="utf-8")
        assert text.count(edit.old) == edit.count
