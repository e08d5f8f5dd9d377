"""The pages in docs/operations: their commands are run, in the folders they name."""

import re
import shutil
import textwrap
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen

import pytest
from tests.page_blocks import run_here

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)
pytest.importorskip(
    "rocrate.rocrate", reason="the extra fedsdr[evidence] is not installed"
)

from tests.cli.test_site_doctor import ADDRESS, answering

from fedsdr.cli import watch_loop
from fedsdr.cli.nodes import find_place
from fedsdr.secure_sum import Identity
from fedsdr.study import conduct, example, open_site
from fedsdr.transports import InProcess
from fedsdr.transports.nvflare.loopback import enrol
from fedsdr.transports.nvflare.ports import free_port
from fedsdr.transports.nvflare.progress import FINISHED, NodeProgress
from fedsdr.transports.nvflare.provision import Kits, Network, provision

FOLDER = Path(__file__).parents[1] / "docs" / "operations"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))

#: Another page with commands of a steward.
INFERENCE = "../inference"
BLOCK = re.compile(r"^( *)```(\w+)(?: (\w+))?\n(.*?)^ *```$", re.DOTALL | re.M)


def words(text: str) -> set[str]:
    """Return the words of an output, without numbers and digests."""
    return {word for word in text.split() if re.fullmatch(r"[a-z]{3,}[.,:]?", word)}


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Return kind, folder and text of all blocks of a page."""
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    found = BLOCK.findall(text)
    return [(kind, place, textwrap.dedent(inner)) for _, kind, place, inner in found]


@pytest.fixture(name="port", scope="module")
def unused_port() -> int:
    return free_port()


@pytest.fixture(name="finished", scope="module")
def finished_study(tmp_path_factory, port: int) -> Path:
    """Write a study that has been run, with kits, as after both walkthroughs."""
    folder = tmp_path_factory.mktemp("operations")
    truth = example.simulate_example(n_rows=200, n_features=12)
    made = example.write_example(folder, truth)
    place = find_place(made.study_file, None, made=False)
    network = Network("demo", tuple(made.site_files), ADDRESS, port)
    kits = provision(network, place.kits.folder)
    enrol(kits, made.study_file, made.site_files)
    parties = {name: open_site(file) for name, file in made.site_files.items()}
    conduct(made.study_file, InProcess(parties), place.state).to_json(
        place.state / "result.json"
    )
    progress = NodeProgress(place.state)
    progress.asked("secure.result", dict.fromkeys(made.site_files, 1))
    progress.end(FINISHED)
    for name, file in made.site_files.items():
        shutil.copyfile(kits.site(name), file.with_name(f"{name}.kit"))
    return folder


def add_a_hospital(folder: Path) -> None:
    """Write the study of the page about growing, with a fifth site that joins."""
    old = (folder / "coordinator" / "study.toml").read_text(encoding="utf-8")
    (line,) = re.findall(r"^joining = .*$", (FOLDER / "growing.md").read_text(), re.M)
    new = old.replace("[sites]\n", f"[sites]\n{line.replace('west', 'centre')}\n")
    new = re.sub(r"^name = .*$", 'name = "second"', new, count=1, flags=re.M)
    new += f'centre = "{Identity.generate().public.hex()}"\n'
    (folder / "north" / "study2.toml").write_text(new, encoding="utf-8")


@pytest.fixture(name="pages_seen")
def reading_browser(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand in for a browser: read the page that was opened, and press Ctrl-C."""
    seen: list[str] = []

    def read(address: str) -> None:
        leads = Path(address.removeprefix("file://")).read_text()
        with urlopen(re.search(r"url=(http[^\"]+)", leads)[1]) as answer:
            seen.append(answer.read().decode())

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(watch_loop.webbrowser, "open", read)
    clock = SimpleNamespace(sleep=interrupt, monotonic=time.monotonic)
    monkeypatch.setattr(watch_loop, "time", clock)
    return seen


@pytest.mark.parametrize("page", [*PAGES, INFERENCE])
def test_the_commands_of_a_page_run(
    page: str, finished: Path, tmp_path: Path, port: int, pages_seen: list[str]
) -> None:
    folder = tmp_path / "machines"
    shutil.copytree(finished, folder)
    if page == "growing":
        add_a_hospital(folder)
    kits = find_place(folder / "coordinator" / "study.toml", None).kits
    printed = ""
    with answering(Kits(kits.folder), port, datetime.now(UTC)):
        for kind, place, text in blocks(page):
            if page == INFERENCE and place != "north":
                continue
            if kind == "sh":
                assert place in ("north", "coordinator"), page
                printed = run_here(text, folder / place)
            elif kind == "text":
                assert words(text) <= set(printed.split()), page
    if page == "certificates":
        # Revoked in the end, and renewed before that.
        assert (folder / "north" / "tls.key.old").exists()
        assert not kits.site("north").exists()
    if page == "backups":
        assert (folder / "north" / "ledger").read_bytes() == (
            finished / "north" / "ledger"
        ).read_bytes()
    if page == "growing":
        assert "Accepted these partners" in printed
    if page == "watching":
        study, site = pages_seen
        assert "The study is finished, and its result is here." in study
        assert "Releases, from the ledger" in site
    if page == INFERENCE:
        assert "agrees" in (folder / "north" / "page.html").read_text()
    if page == "evidence":
        assert (folder / "coordinator" / "study-bundle.zip").exists()
        assert (folder / "coordinator" / "statement.html").exists()


def test_every_block_is_of_a_kind_that_is_run() -> None:
    """Others are run by test_deploy.py, test_shown_tables.py and study/test_omop.py."""
    for page in PAGES:
        for kind, place, _ in blocks(page):
            assert kind in ("sh", "text", "console", "toml", "sql"), page
            assert kind != "console" or page in ("services", "containers")
            assert kind != "sql" or page == "omop"
            assert kind != "sh" or place


def test_every_page_is_listed_and_every_link_leads_somewhere() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    for page in PAGES:
        assert page == "README" or f"({page}.md)" in index
        text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
        for link in re.findall(r"\]\(((?!http)[^)#]+)\)", text):
            assert (FOLDER / link).exists(), (page, link)
