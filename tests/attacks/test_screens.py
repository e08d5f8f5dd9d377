"""Text of another party cannot forge what a steward reads."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text
from tests.study.consortia import Files, simulate_rows
from typer.testing import CliRunner

from fedsdr.cli import app
from fedsdr.cli.screen import SafeConsole
from fedsdr.study import open_site, read_study
from fedsdr.study.checked_files import CheckError

#: Moves the cursor up, deletes a line, and prints another digest in its place.
FORGERY = "\x1b[1A\x1b[2Kdigest " + 64 * "0" + "\x1b[8m"


def printed(kind: type[Console]) -> str:
    stream = io.StringIO()
    console = kind(file=stream, highlight=False, width=200)
    console.print(Text(f"purpose {FORGERY}"), soft_wrap=True)
    return stream.getvalue()


def test_a_plain_console_prints_what_a_terminal_obeys() -> None:
    assert "\x1b[1A" in printed(Console)


def test_our_console_prints_codes() -> None:
    assert "\x1b" not in printed(SafeConsole)
    assert r"\x1b[1A" in printed(SafeConsole)


@pytest.mark.parametrize(
    "changes",
    [
        {"purpose": f"harmless{FORGERY}"},
        {"purpose": "harmless\u202e"},
        {"purpose": "harmless\x85digest 0000"},
        {"target": {"name": "y", "type": "number", "unit": FORGERY}},
        {"target": {"name": "y\n", "type": "number"}},
        {"columns": {"x0": {"type": "number", "unit": "a\nb"}}},
        {"columns": {f"x0{FORGERY}": {"type": "number"}}},
    ],
)
def test_a_study_file_cannot_hold_control_characters(
    tmp_path: Path, changes: dict
) -> None:
    files = Files(tmp_path / "study", simulate_rows())
    files.write_study(**changes)
    with pytest.raises(CheckError, match="cannot be printed") as caught:
        read_study(files.study_file)
    assert str(caught.value).replace("\n", "").isprintable()
    file = files.site_file("north")
    for command in (("study", "check", files.study_file), ("site", "check", file)):
        done = CliRunner().invoke(app, [str(word) for word in command])
        assert done.exit_code == 2
        assert "\x1b" not in done.output


def test_lines_of_a_purpose_cannot_pass_for_ours(tmp_path: Path) -> None:
    files = Files(tmp_path / "study", simulate_rows())
    forged = f"digest {64 * '0'}"
    files.write_study(purpose=f"To see.\n{forged}\n")
    files.prepare()
    for command in (
        ("study", "check", files.study_file),
        ("site", "check", files.site_file("north")),
    ):
        done = CliRunner().invoke(app, [str(word) for word in command])
        assert done.exit_code == 0, done.output
        lines = [line.strip() for line in done.stdout.splitlines()]
        digests = [line for line in lines if line.startswith("digest ")]
        assert digests == [f"digest {read_study(files.study_file).digest}"]


def test_names_of_messages_cannot_forge_the_log(tmp_path: Path) -> None:
    files = Files(tmp_path / "study", simulate_rows())
    site = open_site(files.site_file("north"))
    with pytest.raises(Exception, match="message"):
        site.handle(f"secure{FORGERY}\n2026 all is well", {})
    log = (files.root / "north" / "site.log").read_text()
    assert "\x1b" not in log
    assert not any(line.startswith("2026 all") for line in log.splitlines())
