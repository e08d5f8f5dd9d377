"""Rules on names that the whole package follows."""

import ast
import importlib
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

import fedsdr

ROOT = Path(fedsdr.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
PACKAGES = [path for path in FILES if path.name == "__init__.py"]


def dotted(path: Path) -> str:
    parts = ("fedsdr", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(part for part in parts if part != "__init__")


def more_than_one(places: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: where for name, where in places.items() if len(where) > 1}


def test_no_two_modules_have_the_same_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in FILES:
        if path.name != "__init__.py":
            places[path.stem].append(dotted(path))
    assert more_than_one(places) == {}


def test_no_two_classes_have_the_same_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(dotted(path))
    assert more_than_one(places) == {}


@pytest.mark.parametrize("path", PACKAGES, ids=dotted)
def test_no_public_name_hides_a_module(path: Path) -> None:
    package, folder = importlib.import_module(dotted(path)), path.parent
    inside = {one.stem for one in folder.glob("*.py")} - {"__init__"}
    inside |= {one.parent.name for one in folder.glob("*/__init__.py")}
    public = set(getattr(package, "__all__", ())) | set(vars(package))
    hidden = {
        name
        for name in inside & public
        if not isinstance(getattr(package, name), ModuleType)
    }
    assert hidden == set()


def test_warnings_point_at_the_line_of_the_user() -> None:
    places = [
        f"{dotted(path)}:{node.lineno}"
        for path in FILES
        if path != ROOT / "exceptions.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "stacklevel"
    ]
    assert places == []
