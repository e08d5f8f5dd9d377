"""Validate the docstring of every public object with numpydoc.

``numpydoc lint`` reads the source only, and so takes properties for functions and
finds no constructor in a dataclass; here the objects themselves are looked at.
"""

import importlib
import inspect
import pkgutil
import sys
import tomllib
from collections.abc import Iterator
from enum import EnumType
from pathlib import Path
from types import ModuleType

from numpydoc.validate import validate

ROOT = Path(__file__).parents[1]

#: Packages that are looked at; the second one is not installed.
PACKAGES = ("fedsdr", "reproduction")

#: The command line's docstrings are its help texts, in the words of that library.
SKIPPED = ("fedsdr.cli",)


def modules() -> Iterator[ModuleType]:
    """Import every module of the packages."""
    sys.path.insert(0, str(ROOT))
    for name in PACKAGES:
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not found.name.startswith(SKIPPED):
                yield importlib.import_module(found.name)


def public_objects(module: ModuleType) -> Iterator[str]:
    """Name the public functions, classes and members that a module defines."""
    for name, item in vars(module).items():
        if name.startswith("_") or getattr(item, "__module__", None) != module.__name__:
            continue
        # The constructors of protocols and enumerations are not their own.
        foreign = getattr(item, "_is_protocol", False) or isinstance(item, EnumType)
        if inspect.isfunction(item) or (inspect.isclass(item) and not foreign):
            yield f"{module.__name__}.{name}"
        if inspect.isclass(item):
            for member, value in vars(item).items():
                written = inspect.isfunction(value) or isinstance(
                    value, property | classmethod | staticmethod
                )
                if written and not member.startswith("_") and not inherits(value):
                    yield f"{module.__name__}.{name}.{member}"


def inherits(member: object) -> bool:
    """Tell whether a member has the docstring of its base class, and says so."""
    method = member.fget if isinstance(member, property) else member
    return getattr(method, "__override__", False) and not method.__doc__


def main() -> int:
    """Print every complaint; return 1 if there is one."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
        "numpydoc_validation"
    ]
    ignored = set(options["ignore"])
    names = [name for module in modules() for name in public_objects(module)]
    complaints = [
        f"{found['file']}:{found['file_line']}: {name}: {code} {message}"
        for name in names
        for found in [validate(name)]
        for code, message in found["errors"]
        if code not in ignored
    ]
    print(*complaints, sep="\n", end="\n" if complaints else "")
    print(f"{len(names)} docstrings, {len(complaints)} complaints")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
