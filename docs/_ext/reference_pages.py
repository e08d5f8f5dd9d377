"""Reference of everything public, written from the package itself before a build.

Names are those in ``__all__``, so that none can be forgotten; the commands and their
options are asked of the command line.
"""

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import typer
from sphinx.application import Sphinx

import fedsdr
from fedsdr.cli import app as command_line

FOLDER = Path(__file__).parents[1] / "reference"

#: Public modules beside ``fedsdr`` itself.
ROOMS = sorted(
    name for name in fedsdr.__all__ if inspect.ismodule(getattr(fedsdr, name))
)

#: Sections of the names of ``fedsdr``, each with what belongs to it.
SECTIONS = {
    "Estimators": lambda one: hasattr(one, "fit"),
    "Warnings and errors": lambda one: issubclass(one, Exception),
    "Ways of choosing, and results": lambda _: True,
}


def heading(text: str, sign: str = "=") -> str:
    """Return a heading of reStructuredText."""
    return f"{text}\n{sign * len(text)}\n"


def summary_of(names: list[str], module: str) -> str:
    """Return a table of names, each with a page of its own."""
    lines = "\n".join(f"   {name}" for name in names)
    table = f".. autosummary::\n   :toctree: generated\n\n{lines}\n"
    return f".. currentmodule:: {module}\n\n{table}"


def public_names(module: ModuleType) -> list[str]:
    """Return the public names of a module that are classes or functions."""
    return [
        name
        for name in module.__all__
        if callable(getattr(module, name)) and not name.startswith("_")
    ]


def top_level_page() -> str:
    """Return the page of the names of ``fedsdr``."""
    left = public_names(fedsdr)
    parts = [heading("fedsdr")]
    for title, belongs in SECTIONS.items():
        chosen = [name for name in left if belongs(getattr(fedsdr, name))]
        left = [name for name in left if name not in chosen]
        parts.append(f"{heading(title, '-')}\n{summary_of(chosen, 'fedsdr')}")
    return "\n".join(parts)


def room_page(room: str) -> str:
    """Return the page of a public module; what ``fedsdr`` has itself is named only."""
    module = importlib.import_module(f"fedsdr.{room}")
    names = public_names(module)
    top = [name for name in names if name in fedsdr.__all__]
    own = [name for name in names if name not in top]
    parts = [heading(module.__name__), inspect.getdoc(module) or "", ""]
    if own:
        parts.append(summary_of(own, module.__name__))
    if top:
        links = ", ".join(f":class:`fedsdr.{name}`" for name in top)
        parts.append(f"Also here: {links}.\n")
    return "\n".join(parts)


def commands(group: Any, words: tuple[str, ...]) -> list[tuple[str, Any]]:
    """Return all commands under a group, by the words that call them."""
    if not hasattr(group, "commands"):
        return [(" ".join(words), group)]
    return [
        pair
        for name, command in group.commands.items()
        if not command.hidden
        for pair in commands(command, (*words, name))
    ]


def in_one_line(text: str | None) -> str:
    """Return help as one line of reStructuredText."""
    plain = re.sub(r"\s+", " ", text or "").strip()
    return re.sub(r"([*`|_\\])", r"\\\1", plain)


def command_section(words: str, command: Any) -> str:
    """Return what a command does, and its options."""
    lines = [heading(words, "-"), in_one_line(command.help).split("\\f")[0], ""]
    for parameter in command.params:
        if parameter.name == "help":
            continue
        if parameter.param_type_name == "argument":
            name = (parameter.metavar or parameter.name or "").upper()
        else:
            name = ", ".join((*parameter.opts, *parameter.secondary_opts))
        lines += [f"``{name}``", f"    {in_one_line(parameter.help) or '...'}", ""]
    return "\n".join(lines)


def command_page() -> str:
    """Return the page of all commands."""
    root = typer.main.get_command(command_line)
    sections = [command_section(*pair) for pair in commands(root, ("fedsdr",))]
    return "\n".join([heading("Commands"), *sections])


def pages() -> dict[str, str]:
    """Return the text of every page, by its name."""
    names = ["fedsdr", *(f"fedsdr.{room}" for room in ROOMS), "commands"]
    tree = "\n".join(f"   {name}" for name in names)
    first = (
        f"{heading('Reference')}\nEverything public: classes, functions and commands, "
        "as the code describes them. What is not listed here may change without "
        f"notice.\n\n.. toctree::\n   :maxdepth: 1\n\n{tree}\n"
    )
    rooms = {f"fedsdr.{room}": room_page(room) for room in ROOMS}
    return {
        "index": first,
        "fedsdr": top_level_page(),
        "commands": command_page(),
        **rooms,
    }


def write_pages(*_: Any) -> None:
    """Write the pages; one that has not changed is not read again."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        path = FOLDER / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before Sphinx looks which ones there are."""
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
