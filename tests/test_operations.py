"""The pages in docs/operations: their commands are run, in the folders they name."""

import re
import shutil
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.test_walkthrough import here

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)
pytest.importorskip(
    "rocrate.rocrate", reason="the extra fedsdr[evidence] is not installed"
)

from tests.cli.test_site_doctor import ADDRESS, answering

from fedsdr.cli.nodes import find_place
from fedsdr.study import conduct, example, open_site
from fedsdr.transports import InProcess
from fedsdr.transports.nvflare.loopback import enrol
from fedsdr.transports.nvflare.ports import free_port
from fedsdr.transports.nvflare.progress import FINISHED, NodeProgress
from fedsdr.transports.nvflare.provision import Kits, Network, provision

FOLDER = Path(__file__).parents[1] / "docs" / "operations"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))
BLOCK = re.compile(
    r"^( *)```(sh|text|console|toml|sql)(?: (\w+))?\n(.*?)^ *```$", re.DOTALL | re.M
)


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


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run(
    page: str, finished: Path, tmp_path: Path, port: int
) -> None:
    folder = tmp_path / "machines"
    shutil.copytree(finished, folder)
    kits = find_place(folder / "coordinator" / "study.toml", None).kits
    printed = ""
    with answering(Kits(kits.folder), port, datetime.now(UTC)):
        for kind, place, text in blocks(page):
            if kind == "sh":
                assert place in ("north", "coordinator"), page
                printed = here(text, folder / place)
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
    if page == "evidence":
        assert (folder / "coordinator" / "study-bundle.zip").exists()
        assert (folder / "coordinator" / "statement.html").exists()


def test_every_page_is_listed_and_every_link_leads_somewhere() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    for page in PAGES:
        assert page == "README" or f"({page}.md)" in index
        text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
        for link in re.findall(r"\]\(((?!http)[^)#]+)\)", text):
            assert (FOLDER / link).exists(), (page, link)
