"""All sums of a result are over the same sites, or there is no result."""

from pathlib import Path
from typing import Any

import pytest
from tests.study.consortia import FILLED, NAMES, Files, simulate_rows, write_toml

from fedsdr.exceptions import CODES, InputError
from fedsdr.protocols.lost_sites import SILENT, LostSiteError, explain_lost
from fedsdr.protocols.secure import SumFolder
from fedsdr.study import read_study
from fedsdr.study.checked_files import CheckError
from fedsdr.study.membership import CHOSEN
from fedsdr.transports.in_process import Fault

POOLED = {"refit": "pooled"}


def sleeping(site: str, message: str, statistic: int, *, until: int = 99) -> Fault:
    """Lose a site at a message of the sum with this number, and wake it up later."""
    seen: list[str] = []

    def fault(name: str, asked: str, packed: bytes) -> bytes | None:
        if name == "secure.keys" and asked == site:
            seen.append(name)
        asleep = statistic <= len(seen) < until
        at = len(seen) > statistic or name == message or until < 99
        return None if asked == site and asleep and at else packed

    return fault


def with_gaps(root: Path) -> Files:
    """Make a study with two sums: means for gaps, and moments."""
    rows = simulate_rows()
    rows.loc[::5, "x1"] = float("nan")
    columns = {f"x{j}": {"type": "number"} for j in range(6)} | {"x1": FILLED}
    return Files(root, rows, columns=columns, model=POOLED)


def sums_of(files: Files) -> dict[str, Any]:
    return SumFolder(files.coordinator / "run").begun()


def test_a_lost_site_stops_the_sum_and_comes_back(tmp_path: Path) -> None:
    files = Files(tmp_path, simulate_rows(), model=POOLED)
    with pytest.raises(LostSiteError) as caught:
        files.run(files.connect(fault=sleeping("west", "secure.keys", 1)))
    assert "west has not answered in time (TIMEOUT): its steward looks" in str(
        caught.value
    )
    assert not (files.coordinator / "run" / "result.json").exists()
    result = files.run()
    assert result.settings["sites"] == list(NAMES)
    assert result.provenance["left_out"] == {}
    assert result.provenance["sums"] == [
        {"sum": "moments", "sites": list(NAMES), "n_rows": len(files.rows)}
    ]


def test_means_and_moments_are_over_the_same_sites(tmp_path: Path) -> None:
    """A site that slept through the means used to be in the moments only."""
    files = with_gaps(tmp_path)
    asleep = sleeping("west", "secure.keys", 1, until=2)
    with pytest.raises(LostSiteError, match="west has not answered"):
        files.run(files.connect(fault=asleep))
    result = files.run()
    sums = result.provenance["sums"]
    assert [one["sum"] for one in sums] == ["means", "moments"]
    assert all(one["sites"] == list(NAMES) for one in sums)
    assert result.n_rows == len(files.rows)


@pytest.mark.parametrize("message", ["secure.keys", "secure.masked", "secure.confirm"])
def test_resume_asks_all_sites_of_the_first_sum(tmp_path: Path, message: str) -> None:
    """After means over four sites, three survivors used to be asked for ever."""
    files = with_gaps(tmp_path)
    fault = sleeping("west", message, 2)
    if message == "secure.confirm":
        # Its numbers are in the sum, which is opened without its signature.
        files.run(files.connect(fault=fault))
    else:
        with pytest.raises(LostSiteError, match="west has not answered"):
            files.run(files.connect(fault=fault))
        assert all(tuple(one["sites"]) == NAMES for one in sums_of(files).values())
    assert files.run().settings["sites"] == list(NAMES)


def test_who_decides_is_named_once_numbers_have_left(tmp_path: Path) -> None:
    files = with_gaps(tmp_path)
    with pytest.raises(LostSiteError):
        files.run(files.connect(fault=sleeping("west", "secure.keys", 2)))
    with pytest.raises(InputError, match="So the steward of west decides") as caught:
        files.run(without=["west"])
    (saved,) = sums_of(files).values()
    for words in ("fedsdr site join", "fedsdr site void", *saved["rounds"]):
        assert words in str(caught.value)


def test_an_edited_study_file_stops_the_study(tmp_path: Path) -> None:
    """Its site used to be left out in silence, and to say ORDER to the result."""
    files = Files(tmp_path, simulate_rows(), model=POOLED)
    write_toml(tmp_path / "west" / "study.toml", {**files.study, "purpose": "other"})
    steps: list[Any] = []
    with pytest.raises(LostSiteError) as caught:
        files.run(progress=steps.append)
    assert caught.value.failures == {"west": "TERMS"}
    assert caught.value.refusing == ("west",)
    assert [step.name for step in steps] == ["secure.agree"]
    result = files.run(without=["west"], progress=steps.append)
    assert result.provenance["left_out"] == {"west": CHOSEN}
    # Nobody who has not agreed is sent anything.
    assert all(not step.failures for step in steps[1:])
    files.write_study()
    assert files.run().settings["sites"] == ["east", "north", "south"]


def test_a_study_names_the_sites_that_it_needs(tmp_path: Path) -> None:
    files = Files(tmp_path, simulate_rows(), model=POOLED)
    before = read_study(files.study_file).digest
    files.write_study(sites={**files.study["sites"], "required": "all"})
    assert read_study(files.study_file).digest == before
    needed = ["east", "north"]
    files.write_study(sites={**files.study["sites"], "required": needed})
    assert read_study(files.study_file).digest != before
    with pytest.raises(LostSiteError, match="north has not answered"):
        files.run(files.connect(fault=sleeping("north", "secure.agree", 0)))
    result = files.run(files.connect(fault=sleeping("west", "secure.agree", 0)))
    assert result.provenance["left_out"] == {"west": "TIMEOUT"}
    files.write_study(sites={**files.study["sites"], "required": ["nobody"]})
    with pytest.raises(CheckError, match="the roster has no site 'nobody'"):
        read_study(files.study_file)


def test_a_choice_is_checked(tmp_path: Path) -> None:
    files = Files(tmp_path, simulate_rows(), model=POOLED)
    with pytest.raises(InputError, match="no site 'vest' that could be left out"):
        files.run(without=["vest"])
    with pytest.raises(InputError, match="2 sites are left, and the study needs 3"):
        files.run(without=["west", "south"])


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_has_words_and_a_remedy(code: str) -> None:
    text = explain_lost({"north": code})
    assert text.startswith("north ")
    assert f"({code}): its steward " in text
    assert set(CODES) >= SILENT
