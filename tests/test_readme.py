"""The README does what it says: its blocks are run, in order, in one folder.

``python -m tests.test_readme`` writes the output of its commands anew.
"""

import contextlib
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.page_blocks import (
    BLOCK,
    PATIENCE,
    ROOT,
    assert_same_text,
    environment,
    run_python,
)

README = (ROOT / "README.md").read_text(encoding="utf-8")


def run_command(command: str) -> str:
    # As in a folder of its own: a result that is there would be kept, with a note.
    Path("result.json").unlink(missing_ok=True)
    folder = Path(sys.executable).parent
    finished = subprocess.run(
        [folder / shlex.split(command)[0], *shlex.split(command)[1:]],
        env=environment(columns=80),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=True,
    )  # fmt: skip
    return finished.stdout.decode()


def run_blocks() -> list[tuple[str, str, str]]:
    """Return the kind of each block, its shown output, and its present output."""
    printed, found = "", []
    for kind, text in BLOCK.findall(README):
        now = text
        if kind == "python":
            printed = run_python(text, "README.md")
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


def refresh() -> None:
    """Replace the outputs in the README by the present ones."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        found = iter(run_blocks())

    def renew(_) -> str:
        kind, _, now = next(found)
        lines = "\n".join(line.rstrip() for line in now.rstrip().splitlines())
        return f"```{kind}\n{lines}\n```"

    (ROOT / "README.md").write_text(BLOCK.sub(renew, README), encoding="utf-8")


if __name__ == "__main__":
    refresh()
