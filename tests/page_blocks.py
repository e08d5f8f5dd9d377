"""Blocks of code on pages of Markdown: finding them, running them, comparing output."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from fedsdr.cli import app

ROOT = Path(__file__).parents[1]

#: Kind and text of a block. ``python``, ``sh`` and ``console`` are run by the test of
#: the page, ``text`` is the output of the block before it; ``bash`` is run in a place
#: that is made for it (`test_shown_commands`), ``sh nodes`` with nodes
#: (`test_walkthrough`), ``sh north`` in the folder of a site (`test_operations`).
BLOCK = re.compile(r"^```([\w ]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")

# Seconds: two cores may be busy with something else.
PATIENCE = 600.0


def environment(columns: int) -> dict[str, str]:
    """Return variables with which our commands are found and have this width."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {
        **os.environ,
        "PATH": path,
        "COLUMNS": str(columns),
        "PYTHONIOENCODING": "utf-8",
    }


def run_shell(commands: str, folder: Path, *, columns: int = 88) -> str:
    """Run commands in a shell, which must succeed, and return what they print."""
    done = subprocess.run(
        ["sh", "-e", "-c", commands], cwd=folder, env=environment(columns),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode()
    return done.stdout.decode()


def run_here(commands: str, folder: Path) -> str:
    """Run commands of ours in this process, and the others in a shell.

    Starting Python for each would take longer than what they do.
    """
    printed, others = "", ""
    with contextlib.chdir(folder):
        for line in (*commands.replace("\\\n", " ").splitlines(), "fedsdr --version"):
            if not line.startswith("fedsdr"):
                others += f"{line}\n"
                continue
            printed += run_shell(others, folder) if others else ""
            others = ""
            words = shlex.split(line, comments=True)[1:]
            done = CliRunner(env={"COLUMNS": "88"}).invoke(app, words)
            assert done.exit_code == 0, done.output
            printed += done.stdout
    return printed


def run_python(code: str, page: str, names: dict[str, Any] | None = None) -> str:
    """Run Python with the names of the blocks before, and return what it prints."""
    printed = io.StringIO()
    names = {} if names is None else names
    names.setdefault("__name__", "page")
    with contextlib.redirect_stdout(printed):
        exec(compile(code, page, "exec"), names)
    return printed.getvalue()


def assert_same_text(found: str, shown: str) -> None:
    """Compare words exactly, numbers up to rounding, and ignore times."""
    texts = [re.sub(r"\(\d+\.\d s\)", "(time)", text) for text in (found, shown)]
    skeletons = [NUMBER.sub("#", text).split() for text in texts]
    assert skeletons[0] == skeletons[1]
    for new, old in zip(*(NUMBER.findall(text) for text in texts), strict=True):
        assert_same_number(new, old)


def assert_same_number(new: str, old: str) -> None:
    """Compare numbers; powers of ten are gaps: any that the solver accepts will do."""
    if "e" in new or "e" in old:
        assert float(new) < 1e-5
    else:
        assert float(new) == pytest.approx(float(old), rel=0.01, abs=0.002)


def assert_lines_are_in(shown: str, printed: str) -> None:
    """Check that every line that is shown is part of what was printed."""
    there = printed.split()
    for line in shown.splitlines():
        words = [word for word in line.split() if word.strip("─.")]
        starts = range(len(there) - len(words) + 1)
        assert any(_alike(words, there[k : k + len(words)]) for k in starts), line


def _alike(words: list[str], others: list[str]) -> bool:
    if [NUMBER.sub("#", one) for one in words] != [
        NUMBER.sub("#", one) for one in others
    ]:
        return False
    try:
        for new, old in zip(others, words, strict=True):
            for pair in zip(NUMBER.findall(new), NUMBER.findall(old), strict=True):
                assert_same_number(*pair)
    except AssertionError:
        return False
    return True


def commands_in(text: str) -> list[str]:
    """Return the commands of a block, without the lines that a command reads."""
    text = re.sub(r"<<'(\w+)'\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    joined = text.replace("\\\n", " ")
    lines = [line.split(" #")[0].strip() for line in joined.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line]


def assert_command_exists(line: str) -> None:
    """Check that a command of ours exists, with its options."""
    words = shlex.split(line)[1:]
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known, line
