"""The README does what it says: its blocks are run, in order, in one folder.

``python tests/test_readme.py`` writes the output of its commands anew.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import typer

from fedsdr.cli import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")


BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks() -> list[tuple[str, str]]:
    return BLOCK.findall(README)


def run_python(code: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    return printed.getvalue()


def run_command(command: str) -> str:
    folder = Path(sys.executable).parent
    finished = subprocess.run(
        [folder / shlex.split(command)[0], *shlex.split(command)[1:]],
        env={**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=True,
    )  # fmt: skip
    return finished.stdout.decode()


def assert_same_text(found: str, shown: str) -> None:
    """Compare words exactly, numbers up to rounding, and ignore times."""
    texts = [re.sub(r"\(\d+\.\d s\)", "(time)", text) for text in (found, shown)]
    skeletons = [NUMBER.sub("#", text).split() for text in texts]
    assert skeletons[0] == skeletons[1]
    for new, old in zip(*(NUMBER.findall(text) for text in texts), strict=True):
        # Powers of ten are gaps: any that the solver is content with will do.
        if "e" in new or "e" in old:
            assert float(new) < 1e-5
        else:
            assert float(new) == pytest.approx(float(old), rel=0.01, abs=0.002)


def run_blocks() -> list[tuple[str, str, str]]:
    """Return the kind of each block, its shown output, and its present output."""
    printed, found = "", []
    for kind, text in blocks():
        now = text
        if kind == "python":
            printed = run_python(text)
        elif kind == "text":
            now = printed
        elif kind == "console":
            prompt = text.splitlines()[0]
            now = f"{prompt}\n{run_command(prompt.removeprefix('$ '))}"
        found.append((kind, text, now))
    return found


@pytest.mark.e2e
def test_every_block_gives_what_is_shown(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = run_blocks()
    assert {kind for kind, *_ in found} == {"bash", "python", "text", "console"}
    for _, shown, now in found:
        assert_same_text(now, shown)


def assert_command_exists(words: list[str]) -> None:
    """Check that the command of a line exists, with its options."""
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_the_commands_to_install_exist() -> None:
    lines = [
        line.split("#")[0].split()
        for kind, text in blocks()
        if kind == "bash"
        for line in text.splitlines()
    ]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for words in lines:
        if words[0] == "make":
            assert words[1] in targets
        elif words[0] == "fedsdr":
            assert_command_exists(words[1:])
        else:
            assert words == ["pip", "install", "-c", "constraints.txt", "."]


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (ROOT / target).exists()


def refresh() -> None:
    """Replace the outputs in the README by the present ones."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        found = iter(run_blocks())

    def renew(_: re.Match[str]) -> str:
        kind, _, now = next(found)
        lines = "\n".join(line.rstrip() for line in now.rstrip().splitlines())
        return f"```{kind}\n{lines}\n```"

    (ROOT / "README.md").write_text(BLOCK.sub(renew, README), encoding="utf-8")


if __name__ == "__main__":
    refresh()
