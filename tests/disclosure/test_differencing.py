"""The rules prevent releases whose difference would reveal a site or a row."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.disclosure.examples import SITES, facts, release

from fedsdr.disclosure import Facts, Ledger, Policy, Release, ReleaseGate, observe
from fedsdr.exceptions import Refusal
from fedsdr.summaries.slicing import Smooth

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


def test_entries_without_keys_are_of_other_sites() -> None:
    """Ledgers of earlier versions name sites only, and names are not sites."""
    keys = dict.fromkeys(SITES, "aa" * 32)
    ledger = after((facts(), release()))
    assert broken(ledger, facts(), release(keys=keys)) == ["SITES"]
    ledger = after((facts(), release(keys=keys)))
    assert broken(ledger, facts(), release(keys=keys)) == []


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
        # Counts and variances of one kind of sum are contained in others.
        (("age", "sex"), "errors", ["SITES"]),
        (("age", "sex"), "shapes", ["SITES"]),
        (("weight", "height"), "shapes", []),
    ],
)
def test_one_column_in_common_makes_releases_related(names, statistic, rules) -> None:
    ledger = after((facts(), release()))
    asked = release(study=OTHER, subject=OTHER, statistic=statistic, sites=FEWER)
    about = facts(**columns(*names), target={"z": "another response"})
    assert broken(ledger, about, asked) == rules
    again = replace(asked, sites=SITES)
    assert broken(ledger, about, again) == []
    # A response in common is a column in common, and so is one that was a covariate.
    for target in ({"y": "c3"}, {"age": "a1"}, {"years": "a1"}):
        assert broken(ledger, replace(about, target=target), asked) == ["SITES"]


def test_a_study_may_lose_a_site_between_two_kinds_of_sums() -> None:
    ledger = after((facts(), release()))
    asked = release(subject=OTHER, statistic="spread", sites=FEWER)
    assert broken(ledger, facts(), asked) == []
    ledger = after((facts(), release()), (facts(), asked))
    # The same study, or the same sums again in another one, over the first sites.
    assert broken(ledger, facts(), release(study=OTHER)) == []
    other = release(study=OTHER, subject=OTHER, statistic="shapes")
    assert broken(ledger, facts(), other) == ["SITES"]


@pytest.mark.parametrize("stage", ["refused", "failed", "opened"])
def test_what_has_not_left_is_not_compared(stage) -> None:
    ledger = Ledger()
    ledger.append(release(sites=FEWER, round="r1"), "", stage=stage)
    assert broken(ledger, facts(), release(study=OTHER)) == []


def test_a_column_is_the_same_whatever_rows_and_names_a_study_gives_it() -> None:
    kept = {"prints": {"sex": "b2.aa", "age": "a1.aa"}, "target": {"y": "c3.aa"}}
    ledger = after((facts(**kept), release()))
    asked = release(study=OTHER, subject=OTHER)
    assert broken(ledger, facts(**kept), asked) == []
    fewer_rows = {"prints": {"sex": "b2.bb"}, "target": {"z": "d4.bb"}}
    assert broken(ledger, facts(**fewer_rows), asked) == ["CHANGED"]
    renamed = {"prints": {"gender": "b2.bb"}, "target": {"z": "d4.bb"}}
    assert broken(ledger, facts(**renamed), asked) == ["CHANGED"]
    assert broken(ledger, facts(**renamed), replace(asked, sites=FEWER)) == [
        "SITES",
        "CHANGED",
    ]


def test_failures_count_as_questions_and_are_limited() -> None:
    ledger = Ledger()
    for i in range(9):
        asked = profile(f"{i:02x}" * 32, round=f"r{i}")
        ledger.append(asked, "", stage="failed" if i % 2 else "refused")
    assert broken(ledger, facts(), profile("ff" * 32)) == []
    assert broken(ledger, facts(), profile("ff" * 32, n_questions=4)) == ["QUESTIONS"]
    ledger.append(profile("ee" * 32), "", stage="refused")
    assert broken(ledger, facts(), profile("ff" * 32)) == ["ATTEMPTS"]
    assert broken(ledger, facts(), release(study=OTHER)) == []
    relaxed = Policy(max_failures=None)
    assert broken(ledger, facts(), profile("ff" * 32), policy=relaxed) == []


def test_errors_of_all_studies_are_counted_together() -> None:
    def errors(study: str, n_values: int) -> Release:
        return release(
            study=study, subject=study, statistic="errors", n_values=n_values
        )

    ledger = after((facts(), errors(OTHER, 30)), (facts(), errors("66" * 32, 10)))
    assert broken(ledger, facts(), errors("99" * 32, 10)) == []
    assert broken(ledger, facts(), errors("99" * 32, 11)) == ["CANDIDATES"]
    # The same question again is no further equation.
    assert broken(ledger, facts(), errors(OTHER, 30)) == []
    relaxed = Policy(max_candidates_per_row=None)
    assert broken(ledger, facts(), errors("99" * 32, 99), policy=relaxed) == []


# --- what sites compute with ----------------------------------------------------------


def pinned(**fills: float) -> ReleaseGate:
    gate = ReleaseGate()
    gate.inspect(release(), lambda own: facts(sources={"age": "years", "sex": "sex"}))
    gate.pin(release(statistic="means", round="r1"), np.ones(10), fills)
    return gate


def test_gaps_are_filled_with_one_value() -> None:
    gate = pinned(age=40.0)
    asked = release(statistic="means", round="r2")
    gate.pin(asked, np.ones(10), {"age": 40.0})
    (entry,) = gate.ledger.entries()
    assert (entry.stage, set(entry.columns)) == ("opened", {"years"})
    with pytest.raises(Refusal, match="FILLS"):
        gate.pin(asked, np.zeros(10), {"age": 40.0})
    # Another study calls the column by another name.
    gate.inspect(release(study=OTHER), lambda own: facts(sources={"alter": "years"}))
    other = replace(asked, study=OTHER, subject=OTHER)
    with pytest.raises(Refusal, match="FILLS"):
        gate.pin(other, np.zeros(10), {"alter": 40.0001})
    gate.pin(other, np.zeros(10), {"alter": 40.0 * (1 + 1e-12)})
    assert len(gate.ledger.entries()) == 2


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
        # The square of the response is in the moments as well.
        ({**columns("weight"), "target": {"y": "changed"}}, ["CHANGED"]),
        ({**columns("weight"), "target": {"z": "another response"}}, []),
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
    stages = [entry.stage for entry in gate.ledger.entries()]
    assert stages == ["released"] * 2 + ["refused"] * 3


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
    assert stages == [("offered", SITES), ("released", FEWER), ("refused", SITES)]
