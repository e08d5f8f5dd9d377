"""An interrupted sum is resumed with the same sites, or not at all."""

from pathlib import Path

import pytest
from tests.protocols.studies import Consortium, make_rows
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.disclosure import Ledger, Policy, ReleaseGate, void_round
from fedsdr.exceptions import InputError
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.lost_sites import LostSiteError
from fedsdr.protocols.secure import SecureSum, SumFolder
from fedsdr.study.membership import CHOSEN
from fedsdr.transports.in_process import Fault

# Too few stay: four sites, three of whom must.
LOST = ("south", "west")


@pytest.fixture(name="files")
def four_sites(tmp_path: Path) -> Files:
    return Files(tmp_path, simulate_rows(), model={"refit": "pooled"})


def losing(*sites: str, since: str = "secure.agree") -> Fault:
    """Return a fault that loses sites from a message on."""
    begun: list[str] = []

    def fault(name: str, site: str, packed: bytes) -> bytes | None:
        if name == since:
            begun.append(site)
        return None if begun and site in sites else packed

    return fault


def break_off(files: Files, message: str) -> None:
    fault = losing(*LOST, since=message)
    with pytest.raises(IncompleteError, match=message):
        files.run(files.connect(fault=fault))


def count_entries(files: Files) -> dict[str, int]:
    return {name: len(Ledger(files.root / name / "ledger").entries()) for name in NAMES}


@pytest.mark.parametrize(
    "message", ["secure.masked", "secure.confirm", "secure.unmask"]
)
def test_masked_numbers_bind_the_next_attempt(files: Files, message: str) -> None:
    break_off(files, message)
    before = count_entries(files)
    with pytest.raises(LostSiteError, match="west has not answered in time"):
        files.run(files.connect(fault=losing("west")))
    # South had offered nothing before "masked", and must not offer to fewer now.
    assert count_entries(files) == before
    assert files.run().settings["sites"] == list(NAMES)


@pytest.mark.parametrize("message", ["secure.keys", "secure.shares"])
def test_before_masked_numbers_leave_other_sites_may_resume(
    files: Files, message: str
) -> None:
    break_off(files, message)
    result = files.run(files.connect(fault=losing("west")), without=["west"])
    assert result.settings["sites"] == ["east", "north", "south"]
    assert result.provenance["left_out"] == {"west": CHOSEN}


def test_a_site_that_was_not_there_is_not_asked_later(files: Files) -> None:
    fault = losing("south", since="secure.unmask")
    with pytest.raises(IncompleteError, match=r"secure\.unmask"):
        files.run(files.connect(fault=fault), without=["west"])
    result = files.run()
    assert result.settings["sites"] == ["east", "north", "south"]
    assert result.provenance["left_out"] == {"west": CHOSEN}


def test_stewards_may_let_a_lost_site_go(files: Files) -> None:
    break_off(files, "secure.confirm")
    for name in NAMES:
        data = {"kind": "csv", "path": "rows.csv"}
        files.write_rows(name)
        files.write_site(name, data=data, policy={"same_sites_only": False})
    (left,) = (files.coordinator / "run").glob("moments-*.round")
    left.unlink()
    result = files.run(files.connect(fault=losing("west")), without=["west"])
    assert result.settings["sites"] == ["east", "north", "south"]


@pytest.mark.parametrize("stage", ["keys", "masked", "unmask"])
def test_a_site_that_is_lost_between_profiles_has_to_come_back(
    tmp_path: Path, stage: str
) -> None:
    """All profiles are sums over the same sites, since sites refuse others."""
    files = Files(tmp_path, simulate_rows())
    begun: list[str] = []

    def fault(name: str, site: str, packed: bytes) -> bytes | None:
        if name == f"secure.{stage}" and site == "west":
            begun.append(site)
        # Moments, spread and the first profile have been added.
        return None if len(begun) > 3 and site == "west" else packed

    with pytest.raises(LostSiteError, match="west has not answered in time"):
        files.run(files.connect(fault=fault))
    with pytest.raises(LostSiteError, match="west has not answered in time"):
        files.run(files.connect(fault=losing("west")))
    assert files.run().settings["sites"] == list(NAMES)


def broken_rounds(files: Files, without: str) -> tuple[str, ...]:
    """Return the rounds that the coordinator is told to void."""
    decides = f"the steward of {without} decides"
    with pytest.raises(InputError, match=decides) as caught:
        files.run(files.connect(fault=losing(without)), without=[without])
    begun = SumFolder(files.coordinator / "run").begun()
    rounds = tuple(name for saved in begun.values() for name in saved["rounds"])
    for name in rounds:
        assert name in str(caught.value)
    return rounds


@pytest.mark.parametrize(
    "message", ["secure.masked", "secure.confirm", "secure.unmask"]
)
def test_stewards_void_one_round_and_nothing_else(files: Files, message: str) -> None:
    break_off(files, message)
    (name,) = broken_rounds(files, "west")
    state = SumFolder(files.coordinator / "run")
    others = ("east", "north", "south")
    # The coordinator alone cannot: sites still refuse, and nothing has begun.
    assert state.void(name)
    with pytest.raises(LostSiteError, match="a rule of its own forbids"):
        files.run(files.connect(fault=losing("west")), without=["west"])
    for site in others:
        ledger = files.ledger(site)
        if any(entry.round == name for entry in ledger.entries()):
            void_round(ledger, name)
            assert ledger.entries()[-1].stage == "voided"
            ledger.verify()
    result = files.run(files.connect(fault=losing("west")), without=["west"])
    assert result.settings["sites"] == list(others)
    # The rule is in force again: the finished sum cannot be had over four sites.
    for path in (files.coordinator / "run").iterdir():
        path.unlink()
    with pytest.raises(LostSiteError, match="a rule of its own forbids"):
        files.run()


def test_a_voided_round_does_not_go_on(tmp_path: Path) -> None:
    ledgers = {}

    def gate(name: str) -> ReleaseGate:
        ledgers[name] = Ledger(tmp_path / name)
        return ReleaseGate(Policy(min_rows=20), ledgers[name])

    consortium = Consortium(make_rows(3), gate=gate)

    def fault(name: str, site: str, packed: bytes) -> bytes:
        if name == "secure.confirm" and site == "site-00":
            void_round(ledgers[site], ledgers[site].entries()[-1].round)
        return packed

    consortium.transport.fault = fault
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    with pytest.raises(IncompleteError, match=r"site-00: a disclosure rule"):
        add.add("moments", {}, consortium.n_values)
    assert [e.stage for e in ledgers["site-00"].entries()] == ["offered", "voided"]


def test_only_rounds_that_are_there_can_be_voided(files: Files) -> None:
    break_off(files, "secure.confirm")
    ledger = files.ledger("east")
    name = ledger.entries()[-1].round
    with pytest.raises(InputError, match=f"no round other; .*{name}"):
        void_round(ledger, "other")
    void_round(ledger, name)
    with pytest.raises(InputError, match="voided already"):
        void_round(ledger, name)
    state = SumFolder(files.coordinator / "run")
    for wrong in ("other", f"{name[:-1]}x", "../journal-1", ""):
        with pytest.raises(InputError, match="left unfinished"):
            state.void(wrong)


def test_a_finished_sum_cannot_be_voided_at_the_coordinator(files: Files) -> None:
    files.run()
    name = Ledger(files.root / "east" / "ledger").entries()[-1].round
    with pytest.raises(InputError, match="left unfinished"):
        SumFolder(files.coordinator / "run").void(name)


@pytest.mark.parametrize("kind", ["tested_spread", "split_tests", "moments.2"])
def test_rounds_of_all_sums_can_be_voided(kind: str, tmp_path: Path) -> None:
    """Also of those with a longer name, or without a fold."""
    name = f"{kind}-{'0a' * 8}-{'1b' * 8}"
    begun = f"{name}-{'2c' * 8}"
    SumFolder(tmp_path).save(name, {"sites": ["east"], "rounds": [begun]})
    assert SumFolder(tmp_path).void(begun)
    assert SumFolder(tmp_path).load(name) is None
