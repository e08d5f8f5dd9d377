"""Stories in which things fail end with a right result, and a campaign would notice."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import world as worlds
from tests.chaos.judging import judge
from tests.chaos.people import live
from tests.chaos.stories import Fault, Story, draw_story

from fedsdr.disclosure import Ledger
from fedsdr.protocols.secure import SecureSum

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

#: Stories that had no way forward, or no words, before something was mended.
FOUND = {
    # A void round went on to pin the means that followed from it.
    "means of a void round": Story(
        "gaps", (Fault("slow", "west", 7, late=True),), warm=True, choice="void"
    ),
    # And counted as the one question of its kind.
    "moments of a void round": Story(
        "gaps", (Fault("kill", "south", 12),), choice="void"
    ),
    "spread of a void round": Story(
        "default", (Fault("kill", "north", 18),), warm=True, choice="void"
    ),
    # A line of the ledger was torn, and no command and no log said what to do.
    "torn line of a ledger": Story(
        "gaps", (Fault("cut power", "east", 6, amount=2),), warm=True
    ),
    # A site that missed the opened sum was said to have broken the order.
    "opened sum that did not arrive": Story(
        "gaps", (Fault("cut", "west", 8, length=1),)
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_mended(tmp_path: Path, name: str) -> None:
    life = live(tmp_path / "world", FOUND[name])
    assert judge(life) == []
    assert life.world.struck == list(FOUND[name].faults)
    assert life.endings


@pytest.mark.parametrize("seed", range(12))
def test_a_drawn_story_ends_well(tmp_path: Path, seed: int) -> None:
    assert judge(live(tmp_path / "world", draw_story(seed))) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 62))
def test_many_drawn_stories_end_well(tmp_path: Path, seed: int) -> None:
    assert judge(live(tmp_path / "world", draw_story(seed))) == []


def test_a_missed_sum_is_not_called_a_broken_order(tmp_path: Path) -> None:
    life = live(tmp_path / "world", FOUND["opened sum that did not arrive"])
    assert "west has not answered in time (TIMEOUT)" in life.endings[0]
    assert "This was at 'secure.opened'" in life.endings[0]
    assert not any("ORDER" in ending for ending in life.endings)


# --- a campaign that cannot fail is worth nothing --------------------------------


def in_silence(patch: pytest.MonkeyPatch, root: Path) -> None:
    """Let the coordinator go on with the sites that are left."""
    agree = SecureSum.agree
    patch.setattr(SecureSum, "bind", lambda *_: None)
    patch.setattr(SecureSum, "agree", lambda self, *_: agree(self))


def twice(patch: pytest.MonkeyPatch, root: Path) -> None:
    """Let a site that is started again add its rows twice."""
    opened: list[Path] = []
    real = worlds.open_site

    def open_site(file: Path, **options: Any) -> Any:
        rows = file.with_name("rows.csv")
        if file in opened and rows.exists():
            head, *lines = rows.read_text().splitlines()
            rows.write_text("\n".join([head, *lines, *lines]) + "\n")
            opened.clear()
        opened.append(file)
        return real(file, **options)

    patch.setattr(worlds, "open_site", open_site)


def other_names(patch: pytest.MonkeyPatch, root: Path) -> None:
    """Let the result name all sites, whoever was left out."""
    patch.setattr(SecureSum, "counted", property(lambda self: self.study.sites))


def no_memory(patch: pytest.MonkeyPatch, root: Path) -> None:
    """Let sites write nothing down."""
    patch.setattr(Ledger, "_write", lambda _, entry: entry)


def no_words(patch: pytest.MonkeyPatch, root: Path) -> None:
    """Let an error of the operating system through as it is."""
    from contextlib import nullcontext

    from fedsdr.protocols.secure import saved_sums

    patch.setattr(saved_sums, "explained", lambda *_: nullcontext())


DEFECTS: dict[str, tuple[Callable[..., None], Story, str]] = {
    "goes on with the survivors": (
        in_silence,
        Story("gaps", (Fault("kill", "west", 10),)),
        "the result names",
    ),
    "answers twice": (
        twice,
        Story("moments", (Fault("restart", "west", 2),)),
        "the result is of",
    ),
    "names the wrong sites": (
        other_names,
        Story("moments", (Fault("kill", "west", 2),), choice="leave out"),
        "the result names",
    ),
    "has no memory": (no_memory, Story("moments", ()), "the ledger is empty"),
    "says nothing": (
        no_words,
        Story("moments", (Fault("full disk", "coordinator", 5, amount=2),)),
        "an ending without words",
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    plant, story, problem = DEFECTS[name]
    assert judge(live(tmp_path / "right", story)) == []
    plant(monkeypatch, tmp_path)
    found = judge(live(tmp_path / "wrong", story))
    assert any(problem in one for one in found), found
