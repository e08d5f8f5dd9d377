"""The page in a real browser, where one is installed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fedsdr.reporting import write_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--hide-scrollbars", "--virtual-time-budget=2000",
)  # fmt: skip


def browse(page: Path, folder: Path, *options: str) -> str:
    finished = subprocess.run(
        [str(CHROMIUM), *FLAGS, f"--user-data-dir={folder / 'browser'}", *options,
         page.as_uri()],
        capture_output=True, check=True, timeout=600,
        env={**os.environ, "HOME": str(folder)},
    )  # fmt: skip
    return finished.stdout.decode()


@pytest.mark.e2e
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_lays_the_page_out_within_its_width(model, tmp_path, width) -> None:
    page = tmp_path / "report.html"
    write_report(model.result_, page)
    # The page itself has no script; this copy measures itself.
    measure = (
        "<script>addEventListener('load', () => { const page ="
        " document.documentElement; document.title = 'wider by ' +"
        " (page.scrollWidth - page.clientWidth) + ', pictures ' +"
        " [...document.querySelectorAll('svg')].filter("
        "one => one.getBoundingClientRect().height > 100).length; });</script>"
    )
    copy = tmp_path / "measured.html"
    text = page.read_text(encoding="utf-8")
    policy = text.index('<meta http-equiv="Content-Security-Policy"')
    after = text.index(">", policy) + 1
    copy.write_text(text[:policy] + measure + text[after:], encoding="utf-8")
    shown = browse(copy, tmp_path, "--dump-dom", f"--window-size={width},900")
    assert "<title>wider by 0, pictures 4</title>" in shown


@pytest.mark.e2e
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_browser_draws_the_page(model, tmp_path) -> None:
    page, picture = tmp_path / "report.html", tmp_path / "page.png"
    write_report(model.result_, page)
    browse(page, tmp_path, f"--screenshot={picture}", "--window-size=1280,900")
    assert picture.stat().st_size > 20_000
