"""Blocks of kind ``console`` on the pages about services and containers.

A test is no root of a machine: files are installed and units enabled below a folder,
and what runs inside a container are commands that other tests run. `NOT_RUN` has what
is left, with the reason.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.page_blocks import BLOCK, ROOT, commands_in

DOCS = ROOT / "docs"

#: First words of commands that are not run, and why.
NOT_RUN = {
    "useradd": "it makes a user of the machine",
    "systemctl daemon-reload": "it speaks to the first process of the machine",
    "journalctl": "it reads the machine's journal",
    "podman build": "it fetches an image; test_deploy.py reads the file",
    "podman compose": "it starts containers; test_deploy.py reads the file",
    "podman run": "it starts a container; what runs inside is run by other tests",
}


def console_lines(page: str) -> list[str]:
    """Return the commands of a page, without prompts."""
    text = (DOCS / "operations" / f"{page}.md").read_text(encoding="utf-8")
    inner = [text for kind, text in BLOCK.findall(text) if kind == "console"]
    lines = [re.sub(r"^[#$] ", "", line) for one in inner for line in one.splitlines()]
    return [part for line in lines for part in line.split(" && ")]


def lines_that_are_run() -> set[str]:
    """Return the commands that tests of the walkthroughs and of pages run."""
    kinds = {"sh", "sh nodes", "sh north", "sh coordinator", "bash"}
    return {
        line
        for page in DOCS.rglob("*.md")
        for kind, text in BLOCK.findall(page.read_text(encoding="utf-8"))
        if kind in kinds
        for line in commands_in(text)
    }


def run_below(root: Path, program: str, *words: str) -> None:
    """Run a command with the paths of the machine below a folder, as this user."""
    user, group = str(os.getuid()), str(os.getgid())
    line = shlex.join(words).replace("-o fedsdr -g fedsdr", f"-o {user} -g {group}")
    line = line.replace("10001:10001", f"{user}:{group}")
    own = [f"{root}{one}" if one[0] == "/" else one for one in shlex.split(line)]
    for one in own:
        if one.startswith(str(root)):
            Path(f"{one}file").parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([program, *own], cwd=ROOT, check=True, timeout=600)


def enable_below(root: Path, unit: str) -> None:
    """Enable a unit in a folder, as systemd does without being there."""
    if shutil.which("systemctl") is None:
        pytest.skip("systemd is not installed")
    template = re.sub("@.*", "@.service", unit)
    units = root / "etc" / "systemd" / "system"
    if "coordinator" in unit:
        shutil.copy(ROOT / "deploy" / "systemd" / template, units)
    words = ["systemctl", f"--root={root}", "enable", unit]
    subprocess.run(words, check=True, capture_output=True, timeout=600)
    wanted = units / "multi-user.target.wants" / f"{unit}.service"
    assert wanted.readlink().name == template


def test_a_service_is_installed_and_enabled(tmp_path: Path) -> None:
    for line in console_lines("services"):
        words = shlex.split(line)
        if words[0] == "install":
            run_below(tmp_path, *words)
        elif words[:3] == ["python3.11", "-m", "venv"]:
            run_below(tmp_path, sys.executable, *words[1:3], "--without-pip", words[3])
        elif words[0].endswith("/pip"):
            assert shlex.join(["pip", *words[1:]]) in lines_that_are_run()
        elif words[:3] == ["systemctl", "enable", "--now"]:
            enable_below(tmp_path, words[3])
        else:
            assert any(line.startswith(first) for first in NOT_RUN), line
    assert (tmp_path / "etc/systemd/system/fedsdr-site@.service").is_file()
    assert (tmp_path / "etc/logrotate.d/fedsdr").is_file()
    assert (tmp_path / "var/lib/fedsdr/north").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "opt/fedsdr/bin/python").exists()


def test_what_runs_in_a_container_is_run_outside(tmp_path: Path) -> None:
    (tmp_path / "north").mkdir()
    inside = []
    for line in console_lines("containers"):
        words = shlex.split(line)
        if words[0] in ("chown", "chmod"):
            run_below(tmp_path, *words[:-1], f"/{words[-1]}")
            continue
        assert any(line.startswith(first) for first in NOT_RUN), line
        for mark in ("fedsdr:0.2", "coordinator"):
            if mark in words[2:] and "--tag" not in words:
                after = [
                    one for one in words[words.index(mark) + 1 :] if one != "fedsdr"
                ]
                inside.append(shlex.join(["fedsdr", *after]))
    assert (tmp_path / "north").stat().st_mode & 0o777 == 0o700
    assert len(inside) == 3
    assert set(inside) <= lines_that_are_run()
