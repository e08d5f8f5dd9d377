"""The walkthrough is done word for word: its ``sh`` blocks are run, in their order.

Steps are numbered across the coordinator's and the steward's page. Blocks marked
``sh nodes`` need nodes; their commands run in terminals of their own.
"""

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.page_blocks import (
    PATIENCE,
    assert_command_exists,
    assert_lines_are_in,
    commands_in,
    environment,
    run_here,
    run_shell,
)

from fedsdr.result import Result

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {
    role: (DOCS / f"walkthrough-{role}.md").read_text(encoding="utf-8")
    for role in ("coordinator", "steward")
}
SITES = ("north", "south", "east", "west")
HEADING = re.compile(r"^## (?:Step (\d+)\. )?.*$", re.MULTILINE)
BLOCK = re.compile(r"^```(sh|sh nodes|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LAST_WITHOUT_NODES = 5


def sections(page: str) -> Iterator[tuple[int, str]]:
    """Return the number of each step, and the text under its heading."""
    marks = list(HEADING.finditer(page))
    ends = [mark.start() for mark in marks[1:]] + [len(page)]
    for mark, end in zip(marks, ends, strict=True):
        if mark[1] is not None:
            yield int(mark[1]), page[mark.end() : end]


def steps(kind: str) -> list[tuple[int, str, str]]:
    """Return step, role and commands of all blocks of a kind, in order."""
    found = [
        (number, role, text)
        for role, page in PAGES.items()
        for number, section in sections(page)
        for one, text in BLOCK.findall(section)
        if one == kind
    ]
    return sorted(found, key=lambda step: step[0])


def places(number: int, role: str, text: str) -> list[tuple[str, str]]:
    """Return the folders in which a block is run, with its text for each."""
    if number == 1:
        return [(".", text)]
    if role == "coordinator":
        return [("coordinator", text)]
    return [(site, re.sub(r"\bnorth\b", site, text)) for site in SITES]


def prepare(folder: Path, **changes: str) -> dict[tuple[int, str], str]:
    """Run all steps that need no nodes; return the output by step and folder."""
    printed: dict[tuple[int, str], str] = {}
    for number, role, text in steps("sh"):
        for old, new in changes.items():
            text = text.replace(f"study {old} study.toml", new)
        for place, commands in places(number, role, text):
            key = (number, place)
            printed[key] = printed.get(key, "") + run_here(commands, folder / place)
    return printed


def without_names(text: str) -> str:
    """Return the lines of an output that have no keys, digests or paths in them."""
    chance = re.compile(r"\.\.\.|[0-9a-f]{64}")
    return "\n".join(line for line in text.splitlines() if not chance.search(line))


def test_what_needs_no_nodes(tmp_path: Path) -> None:
    # Making kits needs the extra, even if running them is another test.
    pytest.importorskip("nvflare", exc_type=ImportError)
    printed = prepare(tmp_path)
    assert max(number for number, _ in printed) == LAST_WITHOUT_NODES
    digests = {
        re.search(r"^digest ([0-9a-f]{64})$", printed[key], re.MULTILINE)[1]
        for key in printed
        if key[0] in (3, 4)
    }
    assert len(digests) == 1
    rehearsed = Result.from_json(tmp_path / "coordinator" / "rehearsal.json")
    assert rehearsed.selected == ("lab1", "lab2", "lab3", "lab4", "lab5")
    assert (tmp_path / "north" / "ledger").read_bytes() == b""
    for site in SITES:
        assert (tmp_path / site / f"{site}.kit").is_file()
        # What the coordinator has of a site is what the site has sent.
        assert not list((tmp_path / "coordinator").rglob(f"{site}*.key"))
    # What the pages show is what is printed, but for keys and what is left out.
    for number, role, shown in steps("text"):
        if number <= LAST_WITHOUT_NODES:
            (place, _), *_ = places(number, role, "")
            assert_lines_are_in(without_names(shown), printed[number, place])


def test_every_command_exists() -> None:
    for kind in ("sh", "sh nodes"):
        for _, _, text in steps(kind):
            for line in commands_in(text):
                if line.startswith("fedsdr"):
                    assert_command_exists(line)


@contextmanager
def terminal(commands: str, folder: Path, log: Path) -> Iterator[subprocess.Popen]:
    """Run commands in a terminal of their own, and send Ctrl-C at the end."""
    with log.open("wb") as stream:
        process = subprocess.Popen(
            ["sh", "-c", f"exec {commands.strip()}"], cwd=folder, env=environment(88),
            stdout=stream, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)


def wait_for(text: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while text not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)


@pytest.mark.e2e
def test_with_nodes(tmp_path: Path) -> None:
    pytest.importorskip("nvflare", exc_type=ImportError)
    from fedsdr.transports.nvflare.ports import free_port

    provision = f"study provision study.toml --port {free_port()}"
    prepare(tmp_path, provision=provision)
    with ExitStack() as stack:
        printed: dict[int, str] = {}
        for number, role, text in steps("sh nodes"):
            logs = []
            for place, commands in places(number, role, text):
                if number in (7, 8):
                    logs.append(tmp_path / f"{place}.log")
                    started = terminal(commands, tmp_path / place, logs[-1])
                    stack.enter_context(started)
                else:
                    now = run_shell(commands, tmp_path / place)
                    printed[number] = printed.get(number, "") + now
            for log in logs:
                wait_for("listens on" if number == 7 else "Joined", log)
    assert "The study is finished." in printed[9]
    assert "Wrote result.json." in printed[9]
    # Two entries per sum; how many sums there are depends on the rows.
    entries = re.findall(r"whole, (\d+) entries", printed[10])
    assert len(entries) == len(SITES)
    assert len(set(entries)) == 1
    assert int(entries[0]) >= 2 * 4
    for words in ("export site.toml --out north.jsonl", "audit north.jsonl"):
        audited = run_shell(f"fedsdr site ledger {words}", tmp_path / "north")
    # The second study has come after they were shown.
    whole = re.search(r"whole, (\d+) entries, stated by north", audited)
    assert int(whole[1]) > int(entries[0])
    assert "Stopped." in (tmp_path / "coordinator.log").read_text()
    rehearsed = Result.from_json(tmp_path / "coordinator" / "rehearsal.json")
    for place in ("coordinator", *SITES):
        result = Result.from_json(tmp_path / place / "result.json")
        assert result.selected == rehearsed.selected
    second = Result.from_json(tmp_path / "coordinator" / "result2.json")
    assert second.settings["study"]["name"] == "labs"
