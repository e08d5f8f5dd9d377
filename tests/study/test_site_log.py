"""A steward finds in the site's own log why the site does not answer."""

from pathlib import Path

import pytest
from tests.study.consortia import NAMES, Files, simulate_rows
from typer.testing import CliRunner

from fedsdr.cli import app
from fedsdr.disclosure import LedgerError
from fedsdr.exceptions import Refusal
from fedsdr.study import open_site, read_study
from fedsdr.study.checked_files import CheckError


@pytest.fixture(name="files")
def four_sites(tmp_path: Path) -> Files:
    return Files(tmp_path, simulate_rows(), model={"refit": "pooled"})


def test_a_site_that_cannot_be_opened_says_why(files: Files) -> None:
    """The coordinator heard INTERNAL, with the advice to read a log without a word."""
    files.run()
    digest = read_study(files.study_file).digest
    folder = files.root / "west"
    with (folder / "ledger").open("ab") as stream:
        stream.write(b'{"torn')
    site = files.site_file("west")
    with pytest.raises(LedgerError, match="is incomplete"):
        open_site(site).handle("secure.agree", {"study": digest})
    site.write_text("name = 3\n")
    with pytest.raises(CheckError):
        open_site(site)
    log = (folder / "site.log").read_text()
    assert "opening the site INTERNAL" in log
    assert "'fedsdr site ledger mend SITE.toml' drops it" in log
    assert "opening the site INPUT" in log


def test_a_torn_line_is_dropped_by_a_command(files: Files) -> None:
    files.run()
    folder = files.root / "west"
    before = (folder / "ledger").read_bytes()
    (folder / "ledger").write_bytes(before + b'{"torn')
    done = CliRunner().invoke(
        app, ["site", "ledger", "mend", str(folder / "site.toml")]
    )
    assert done.exit_code == 0, done.output
    assert "Dropped 6 bytes" in done.output
    assert (folder / "ledger").read_bytes() == before
    # An entry that is gone, or changed, is another matter.
    lines = before.splitlines(keepends=True)
    for broken in (b"".join(lines[:-1]), before.replace(b"moments", b"mements", 1)):
        (folder / "ledger").write_bytes(broken)
        done = CliRunner().invoke(
            app, ["site", "ledger", "mend", str(folder / "site.toml")]
        )
        assert done.exit_code == 1, done.output
        assert (folder / "ledger").read_bytes() == broken


def test_a_log_that_cannot_be_written_hides_no_refusal(files: Files) -> None:
    """A full disk used to turn every refusal into INTERNAL."""
    site = open_site(files.site_file(NAMES[0]))
    (files.root / NAMES[0] / "site.log").mkdir()
    with pytest.raises(Refusal, match="not the one agreed on"):
        site.handle("secure.agree", {"study": "0" * 64})
