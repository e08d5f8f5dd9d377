"""The rules prevent releases whose difference would reveal a site or a row."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.disclosure.examples import SITES, facts, release

from fedsdr.disclosure import Facts, Ledger, Policy, Release, ReleaseGate, observe
from fedsdr.exceptions import Refusal
from fedsdr.method import Smooth

FEWER = SITES[:3]
OTHER = "77" * 32


def after(*releases: tuple[Facts, Release]) -> Ledger:
    ledger = Ledger()
    for number, (about, asked) in enumerate(releases):
        ledger.append(
            replace(asked, round=f"r{number}"),
            "f0",
            columns=about.prints,
            target=about.target,
        )
    return ledger


def broken(
    ledger: Ledger,
    about: Facts,
    asked: Release,
    *,
    policy: Policy | None = None,
    fingerprint: str | None = None,
) -> list:
    gate = ReleaseGate(policy or Policy(), ledger)
    found = gate.review(asked, about, fingerprint)
    return [violation.rule for violation in found]


# --- over sites -----------------------------------------------------------------------


def columns(*names: str) -> dict[str, Any]:
    prints = {"age": "a1", "sex": "b2", "weight": "d4", "height": "e5"}
    return {
        "minorities": dict.fromkeys(names, 90),
        "prints": {name: prints[name] for name in names},
    }


@pytest.mark.parametrize("study", [release().study, OTHER])
@pytest.mark.parametrize("sites", [FEWER, (*SITES, "up"), (*FEWER, "up"), ("east",)])
def test_the_same_subject_goes_to_the_same_sites_only(study, sites) -> None:
    ledger = after((facts(), release()))
    assert broken(ledger, facts(), release(study=study)) == []
    assert broken(ledger, facts(), release(study=study, sites=sites)) == ["SITES"]
    relaxed = Policy(same_sites_only=False)
    asked = release(study=study, sites=sites)
    assert broken(ledger, facts(), asked, policy=relaxed) == []


def test_while_the_sites_are_not_known_the_other_rules_still_hold() -> None:
    ledger = after((facts(), release()))
    unknown = release(sites=())
    assert broken(ledger, facts(), unknown) == []
    changed = facts(prints={"age": "new", "sex": "b2"})
    assert broken(ledger, changed, unknown) == ["CHANGED"]
    with pytest.raises(ValueError, match="name them"):
        ledger.append(unknown, "f0")


def test_the_explanation_names_who_left_and_who_came() -> None:
    ledger = after((facts(), release()))
    asked = release(sites=(*FEWER, "up"))
    (violation,) = ReleaseGate(Policy(), ledger).review(asked, facts())
    assert "entry 0; now without west and with up" in violation.explanation


@pytest.mark.parametrize(
    ("names", "statistic", "rules"),
    [
        # Another slice size, say: another subject, the same covariance.
        (("age", "sex"), "moments", ["SITES"]),
        # A block of the covariance is enough, and so is one variance.
        (("age", "weight"), "moments", ["SITES"]),
        (("weight", "height"), "moments", []),
        (("age", "sex"), "errors", []),
    ],
)
def test_one_column_in_common_makes_releases_related(names, statistic, rules) -> None:
    ledger = after((facts(), release()))
    asked = release(study=OTHER, subject=OTHER, statistic=statistic, sites=FEWER)
    assert broken(ledger, facts(**columns(*names)), asked) == rules
    again = replace(asked, sites=SITES)
    assert broken(ledger, facts(**columns(*names)), again) == []


def offered(round_name: str = "r1", sites: tuple[str, ...] = SITES) -> Ledger:
    ledger = Ledger()
    asked = release(sites=sites, round=round_name)
    ledger.append(asked, "f0", stage="offered", columns=facts().prints, target={})
    return ledger


def test_an_offer_may_become_a_release_over_fewer_sites_in_its_round_only() -> None:
    smaller = release(sites=FEWER, round="r1")
    assert broken(offered(), facts(), smaller) == []
    assert broken(offered(), facts(), release(round="r1")) == []
    assert broken(offered(), facts(), replace(smaller, round="r2")) == ["SITES"]
    other_study = replace(smaller, study=OTHER)
    assert broken(offered(), facts(), other_study) == ["SITES"]
    larger = release(sites=(*SITES, "up"), round="r1")
    assert broken(offered(), facts(), larger) == ["SITES"]


def test_an_offer_without_an_outcome_may_be_repeated_to_the_same_sites() -> None:
    assert broken(offered(), facts(), release(round="r2")) == []


def test_a_round_has_one_outcome() -> None:
    ledger = offered()
    ledger.append(release(sites=FEWER, round="r1"), "f0", columns=facts().prints)
    smaller = release(sites=FEWER[:2], round="r1")
    assert broken(ledger, facts(), smaller) == ["SITES"]
    assert broken(ledger, facts(), release(round="r1")) == ["SITES"]
    # The offer to all four has its outcome: from now on it is these three.
    assert broken(ledger, facts(), release(sites=FEWER, round="r2")) == []
    assert broken(ledger, facts(), release(round="r2")) == ["SITES"]


# --- over time ------------------------------------------------------------------------


def test_a_changed_answer_to_the_same_question_is_refused() -> None:
    ledger = after((facts(), release()))
    assert broken(ledger, facts(), release(), fingerprint="f0") == []
    assert broken(ledger, facts(), release(), fingerprint="f1") == ["CHANGED"]
    # Before it is computed, nobody can tell.
    assert broken(ledger, facts(), release()) == []
    relaxed = Policy(same_rows_only=False)
    assert broken(ledger, facts(), release(), fingerprint="f1", policy=relaxed) == []
    # Another question has another answer.
    asked = release(study=OTHER, subject=OTHER)
    assert broken(ledger, facts(), asked, fingerprint="f1") == []


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        ({}, []),
        ({"prints": {"age": "a1", "sex": "changed"}}, ["CHANGED"]),
        ({"target": {"y": "changed"}}, ["CHANGED"]),
        ({"target": {"z": "another response"}}, []),
        (columns("age", "weight"), []),
        (
            {**columns("age", "weight"), "prints": {"age": "new", "weight": "d4"}},
            ["CHANGED"],
        ),
        ({**columns("weight"), "target": {"y": "changed"}}, []),
    ],
)
def test_changed_columns_are_noticed_whatever_the_question(changes, rules) -> None:
    ledger = after((facts(), release()))
    asked = release(study=OTHER, subject=OTHER)
    assert broken(ledger, facts(**changes), asked, fingerprint="f9") == rules


# --- over questions -------------------------------------------------------------------


def test_a_study_asks_one_question_of_each_kind() -> None:
    ledger = after((facts(), release()))
    assert broken(ledger, facts(), release(subject=OTHER)) == ["QUESTIONS"]
    assert broken(ledger, facts(), release(subject=OTHER, statistic="errors")) == []
    assert broken(ledger, facts(), release(subject=OTHER, study=OTHER)) == []
    # As long as nobody knows the question.
    assert broken(ledger, facts(), release(subject=None)) == []
    with pytest.raises(ValueError, match="name them"):
        ledger.append(release(subject=None), "f0")


def profiles(n: int, **changes: Any) -> list[tuple[Facts, Release]]:
    """Return answered questions about profiles, all different."""
    return [(facts(), profile(f"{i:02x}" * 32, **changes)) for i in range(n)]


def profile(subject: str, n_questions: int = 40, **changes: Any) -> Release:
    return release(
        statistic="profile", subject=subject, n_questions=n_questions, **changes
    )


def test_a_study_asks_as_many_questions_as_was_agreed() -> None:
    new = "ff" * 32
    assert broken(after(*profiles(39)), facts(), profile(new)) == []
    ledger = after(*profiles(40))
    assert broken(ledger, facts(), profile(new)) == ["QUESTIONS"]
    # Each of the forty may be asked again, the first one and the last.
    for known in ("00" * 32, "27" * 32):
        assert broken(ledger, facts(), profile(known)) == []
    # Other statistics and other studies have their own count.
    assert broken(ledger, facts(), release(subject=new)) == []
    assert broken(ledger, facts(), profile(new, study=OTHER)) == []
    # Who agreed on fewer questions is asked fewer.
    assert broken(ledger, facts(), profile(new, n_questions=1)) == ["QUESTIONS"]
    asked = profile(new)
    (violation,) = ReleaseGate(Policy(), ledger).review(asked, facts())
    assert "40 answers about profile (entry 39)" in violation.explanation


def test_an_offer_and_its_release_are_one_question() -> None:
    ledger = Ledger()
    for i, (_, asked) in enumerate(profiles(40)):
        asked = replace(asked, round=f"r{i}")
        for stage in ("offered", "released"):
            ledger.append(asked, f"f{i}", stage=stage, columns=facts().prints)
    assert len(ledger.entries()) == 80
    assert broken(ledger, facts(), profile("27" * 32)) == []
    assert broken(ledger, facts(), profile("ff" * 32)) == ["QUESTIONS"]


def test_an_offer_without_an_outcome_is_a_question() -> None:
    ledger = Ledger()
    for i, (_, asked) in enumerate(profiles(40)):
        asked = replace(asked, round=f"r{i}")
        ledger.append(asked, f"f{i}", stage="offered", columns=facts().prints)
    assert broken(ledger, facts(), profile("ff" * 32)) == ["QUESTIONS"]


def test_profiles_go_to_the_same_sites_only() -> None:
    """The difference of two sums would show a single site at some direction."""
    ledger = after(*profiles(3))
    new = "ff" * 32
    assert broken(ledger, facts(), profile(new, sites=FEWER)) == ["SITES"]
    assert broken(ledger, facts(), profile("00" * 32, sites=FEWER)) == ["SITES"]
    assert broken(ledger, facts(), profile(new)) == []


# --- with rows ------------------------------------------------------------------------

TERMS = {"discrete": False, "kernel": Smooth()}


def moments(X: np.ndarray) -> np.ndarray:
    centred = X - X.mean(axis=0)
    return (centred.T @ centred).ravel()


def look(gate: ReleaseGate, asked: Release, X: np.ndarray, names: str) -> None:
    """Inspect rows by the gate, with column c, or else the first, as response."""
    y = X[:, names.index("c")] if "c" in names else X[:, 0]
    gate.inspect(
        asked,
        lambda own: observe(X, y, list(names), fingerprint=own, **TERMS),
    )


def tell(gate: ReleaseGate, X: np.ndarray, names: str, **changes: Any) -> None:
    asked = release(n_values=X.shape[1] ** 2, round="r1", **changes)
    look(gate, asked, X, names)
    gate.permit(asked)
    gate.record(asked, moments(X), "released")


def test_rows_that_were_added_are_not_shown_by_asking_again(rng) -> None:
    X = rng.normal(size=(101, 3))
    gate = ReleaseGate()
    tell(gate, X[:100], "abc")
    tell(gate, X[:100].copy(), "abc")
    for change in ({}, {"subject": OTHER}, {"study": OTHER, "subject": OTHER}):
        with pytest.raises(Refusal, match="CHANGED"):
            tell(gate, X, "abc", **change)
    # What the refusal prevented: the difference is the row that was added.
    mean = X[:100].mean(axis=0)
    difference = (moments(X) - moments(X[:100])).reshape(3, 3) * 101 / 100
    np.testing.assert_allclose(difference, np.outer(X[100] - mean, X[100] - mean))
    assert len(gate.ledger.entries()) == 2


def test_one_row_less_for_the_sake_of_another_column_is_noticed(rng) -> None:
    X = rng.normal(size=(100, 4))
    gate = ReleaseGate()
    tell(gate, X[:, :3], "abc")
    tell(gate, X[:, 1:], "bcd", study=OTHER, subject=OTHER)
    with pytest.raises(Refusal, match=r"entry 0.*\(c, y\)"):
        tell(gate, X[1:, 2:], "cd", study="88" * 32, subject="88" * 32)


def test_another_draw_of_folds_is_another_answer(rng) -> None:
    X = rng.normal(size=(100, 2))
    gate = ReleaseGate()
    asked = release(n_values=4)
    look(gate, asked, X, "ab")
    gate.record(replace(asked, round="r1"), moments(X[:50]), "offered")
    gate.record(replace(asked, round="r2"), moments(X[:50]), "offered")
    with pytest.raises(Refusal, match=r"CHANGED.*\(the answer\)"):
        gate.record(replace(asked, round="r3"), moments(X[50:]), "released")
    assert len(gate.ledger.entries()) == 2


def test_what_is_recorded_must_be_what_was_asked_for() -> None:
    gate = ReleaseGate()
    gate.inspect(release(), lambda own: facts())
    with pytest.raises(ValueError, match="another length"):
        gate.record(release(n_values=3), np.ones(4), "released")
    assert gate.ledger.entries() == ()


def test_a_study_is_inspected_before_anything_is_released() -> None:
    gate = ReleaseGate()
    for act in (gate.permit, lambda one: gate.record(one, np.ones(10), "offered")):
        with pytest.raises(Refusal) as caught:
            act(release())
        assert caught.value.code == "ORDER"
    assert gate.ledger.entries() == ()


def test_a_secure_sum_that_loses_a_site(rng) -> None:
    X = rng.normal(size=(100, 2))
    gate = ReleaseGate()
    asked = release(n_values=4, round="r1")
    look(gate, asked, X, "ab")
    gate.permit(asked)
    gate.record(asked, moments(X), "offered")
    stayed = replace(asked, sites=FEWER)
    gate.record(stayed, moments(X), "released")
    with pytest.raises(Refusal, match="SITES"):
        gate.record(replace(asked, sites=FEWER[:2]), moments(X), "released")
    with pytest.raises(Refusal, match="SITES"):
        gate.permit(replace(asked, round="r2"))
    gate.permit(replace(stayed, round="r2"))
    stages = [(entry.stage, entry.sites) for entry in gate.ledger.entries()]
    assert stages == [("offered", SITES), ("released", FEWER)]
