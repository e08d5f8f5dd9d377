"""A coordinator who uses halves of the rows, and tests on them, for its own ends."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.attacks import weakened
from tests.attacks.test_coordinator_view import VICTIM, watch, weak_pairs
from tests.protocols.studies import Consortium, make_rows
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.disclosure import Ledger, Policy, ReleaseGate
from fedsdr.exceptions import Refusal
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.secure import SecureSum
from fedsdr.questions import (
    AgreementOf,
    MomentsOf,
    SplitTestsOf,
    SpreadOf,
    SpreadWithTests,
)
from fedsdr.rows.half_samples import N_PARTS, deal_smallest, smallest_sets
from fedsdr.study import open_site
from fedsdr.summaries.cross_fit import HalfTest
from fedsdr.summaries.site_agreement import Expected
from fedsdr.terms import Terms

Patch = Callable[[pytest.MonkeyPatch], None]
D = 3
EVERY, ONES = np.arange(D), np.ones(D)


def consortium(n_splits: int = 2, n_rows: int = 64, min_rows: int = 30) -> Consortium:
    """Return three sites with ledgers, whose study tests variables."""

    def gate(_: str) -> ReleaseGate:
        return ReleaseGate(Policy(min_rows=min_rows), Ledger())

    rows = make_rows(3, D, n_rows)
    rows = {name: (X[:n_rows], y[:n_rows]) for name, (X, y) in rows.items()}
    return Consortium(rows, gate=gate, n_splits=n_splits, max_profiles=12)


def adder(group: Consortium) -> SecureSum:
    add = SecureSum(group.transport, group.study)
    add.agree()
    return add


def half_tests(terms: Terms, n_tests: int | None = None, size: float = 1.0) -> Any:
    """Return tests of all columns, one direction each."""
    n_tests = 2 * terms.n_splits if n_tests is None else n_tests
    basis = np.eye(D)[:, :1]
    tests = [
        HalfTest(
            half, EVERY, basis, 0.5 * basis, size * np.eye(D), 1.0, np.ones((1, 0))
        )
        for half in range(n_tests)
    ]
    return SplitTestsOf(terms, EVERY, ONES, tests)


# --- parts that follow from halves ----------------------------------------------------


def sums_of_parts(found: dict[str, Any], n_splits: int) -> list[np.ndarray]:
    """Solve for the scatter of every part, as if rows of halves were added up."""
    signs = np.array(
        [
            [1 - 2 * ((split & part).bit_count() % 2) for part in range(N_PARTS)]
            for split in range(n_splits + 1)
        ]
    )
    halves = [found[f"half:{i}"].scatter for i in range(2 * n_splits)]
    sums = [found["total"].scatter]
    sums += [one - other for one, other in zip(halves[::2], halves[1::2], strict=True)]
    return [
        sum(sign * one for sign, one in zip(column, sums, strict=True)) / N_PARTS
        for column in signs.T
    ]


@pytest.mark.parametrize("weaken", [weakened.count_halves_only, weakened.nothing])
def test_seven_splits_show_an_eighth_of_the_rows(
    weaken: Patch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every half has enough rows, and what follows from fourteen of them has not."""
    weaken(monkeypatch)
    group = consortium(n_splits=7, n_rows=64, min_rows=30)
    if weaken is weakened.nothing:
        with pytest.raises(IncompleteError, match="disclosure rule"):
            adder(group)
        told = str(group.transport.errors[VICTIM])
        assert "ROWS: the site has 8 rows in the smallest part" in told
        assert not group.gates[VICTIM].ledger.entries()
        return
    found = adder(group)(MomentsOf(group.study.terms)).parts
    assert found["half:0"].n_rows == 3 * 32
    seen = [own[1, 1] for own in sums_of_parts(found, 7)]
    true = np.zeros(N_PARTS)
    for site in group.sites.values():
        masks = site._rows._deal(group.study.terms, deal_smallest)
        for part, mask in enumerate(masks):
            own = site._rows.X[mask, 1]
            true[part] += ((own - own.mean()) ** 2).sum()
    # Means of halves differ a little, so what is found is near, not equal.
    assert np.corrcoef(seen, true)[0, 1] > 0.9


@pytest.mark.parametrize(("n_splits", "needed"), [(1, 64), (2, 64), (4, 128), (7, 256)])
def test_rules_count_the_smallest_set_that_follows(n_splits: int, needed: int) -> None:
    for n_rows, enough in ((needed, True), (needed - N_PARTS, False)):
        group = consortium(n_splits, n_rows, min_rows=32)
        if enough:
            adder(group)
        else:
            with pytest.raises(IncompleteError, match="disclosure rule"):
                adder(group)


@pytest.mark.parametrize("n_splits", range(1, 8))
def test_no_smaller_set_follows_from_halves(n_splits: int) -> None:
    """The indicators of all sets, by least squares: none that was overlooked."""
    signs = np.array(
        [
            [1 - 2 * ((split & part).bit_count() % 2) for part in range(N_PARTS)]
            for split in range(n_splits + 1)
        ]
    )
    follows = []
    for code in range(1, 2**N_PARTS):
        indicator = np.array([code >> part & 1 for part in range(N_PARTS)], dtype=float)
        solved, *_ = np.linalg.lstsq(signs.T.astype(float), indicator, rcond=None)
        if np.allclose(signs.T @ solved, indicator):
            follows.append(frozenset(np.flatnonzero(indicator).tolist()))
    smallest = {one for one in follows if not any(other < one for other in follows)}
    assert {frozenset(one) for one in smallest_sets(n_splits)} == smallest


# --- which rows are in a half ---------------------------------------------------------


def halves_of(files: Files, name: str) -> Any:
    party: Any = open_site(files.site_file(name))
    own = party._party
    return np.array(own._rows.halves(own._study.terms))


@pytest.mark.parametrize("weaken", [weakened.new_halves, weakened.nothing])
def test_another_study_has_the_same_halves(
    weaken: Patch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With other halves in every study, their differences are ever smaller sets."""
    weaken(monkeypatch)
    rows = simulate_rows(n_rows=120)
    files = Files(tmp_path, rows, model={"select": "tested(splits=2)"})
    first = {name: halves_of(files, name) for name in NAMES}
    files.write_study(name="again")
    again = {name: halves_of(files, name) for name in NAMES}
    files.write_study(name="more", model={"select": "tested(splits=7)"})
    more = {name: halves_of(files, name) for name in NAMES}
    same = [
        np.array_equal(first[name], again[name])
        and np.array_equal(first[name], more[name][:4])
        for name in NAMES
    ]
    assert same == [weaken is weakened.nothing] * len(NAMES)
    # Sites do not have the same secret, nor is it a function of the study.
    shortest = min(len(own[0]) for own in first.values())
    assert not np.array_equal(*(first[name][0, :shortest] for name in NAMES[:2]))


BAD: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a half twice": lambda sent: {**sent, "half": 1},
    "a half that was not agreed on": lambda sent: {**sent, "half": 4},
    "a half counted from the end": lambda sent: {**sent, "half": -1},
    "more directions than the study considers": lambda sent: {
        **sent,
        "basis": np.eye(D),
        "slopes": np.eye(D),
        "common": np.ones((D, 0)),
    },
    "weights of rows that no covariance has": lambda sent: {
        **sent,
        "inverse": np.triu(np.ones((D, D))),
    },
    "a weight beyond 1": lambda sent: {**sent, "own": 5.0},
    "functions that sites do not have": lambda sent: {
        **sent,
        "common": np.ones((1, 2)),
    },
}
WORSE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "rows of its own choice": lambda sent: {**sent, "rows": np.ones(64, dtype=bool)},
    "a seed": lambda sent: {**sent, "seed": 1},
    "numbers that are none": lambda sent: {**sent, "slopes": np.full((D, 1), np.nan)},
    "columns that are none": lambda sent: {**sent, "columns": np.arange(1, D + 1)},
    "other sizes": lambda sent: {**sent, "basis": np.ones((D + 1, 1))},
    "nothing": lambda _: {},
}


@pytest.mark.parametrize(
    ("weaken", "kind"),
    # A site that checks nothing would break where there is worse.
    [
        *((weakened.read_any_test, kind) for kind in BAD),
        *((weakened.nothing, kind) for kind in (*BAD, *WORSE)),
    ],
)
def test_a_question_names_halves_and_nothing_more(
    weaken: Patch, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weaken(monkeypatch)
    group = consortium()
    question = half_tests(group.study.terms)
    request = question.request()
    changed = {**BAD, **WORSE}[kind](request["tests"][0])
    request["tests"] = [changed, *request["tests"][1:]]
    sent = {"round": "1", "statistic": question.name, "request": request}
    site = group.sites[VICTIM]
    site.handle("secure.agree", {"study": group.study.digest})
    if weaken is weakened.read_any_test:
        assert site.handle("secure.keys", sent)
        return
    with pytest.raises(Refusal) as caught:
        site.handle("secure.keys", sent)
    assert caught.value.code == "MALFORMED"
    assert not group.gates[VICTIM].ledger.entries()
    # The site goes on: the same round with a whole question is answered.
    site.handle("secure.keys", {**sent, "request": question.request()})


@pytest.mark.parametrize("weaken", [weakened.read_any_test, weakened.nothing])
def test_no_more_halves_than_were_agreed_on(
    weaken: Patch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many tests of one half are many equations about the same rows."""
    weaken(monkeypatch)
    group = consortium()
    test = half_tests(group.study.terms).tests[0]
    many = [replace(test, inverse=(1 + i) * np.eye(D)) for i in range(50)]
    question = SplitTestsOf(group.study.terms, EVERY, ONES, many)
    if weaken is weakened.nothing:
        with pytest.raises(IncompleteError, match="not one that this protocol has"):
            adder(group)(question)
    else:
        assert adder(group)(question).size == 50 * (3 * D + 2)


# --- one answer -----------------------------------------------------------------------


def joined(terms: Terms, size: float = 1.0) -> SpreadWithTests:
    return SpreadWithTests(
        half_tests(terms, size=size), SpreadOf(terms, EVERY, ONES, np.eye(D))
    )


@pytest.mark.parametrize("weaken", [weakened.answer_again, weakened.nothing])
def test_tests_are_answered_once(
    weaken: Patch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other weights of the same rows would be further equations about them."""
    weaken(monkeypatch)
    group = consortium()
    add, terms = adder(group), group.study.terms
    first = add(half_tests(terms))
    if weaken is weakened.answer_again:
        assert add(half_tests(terms, size=2.0)).size == first.size
        return
    with pytest.raises(IncompleteError, match="disclosure rule"):
        add(half_tests(terms, size=2.0))
    told = str(group.transport.errors[VICTIM])
    assert "QUESTIONS: this study has already had an answer about split_tests" in told
    # What was asked before may be asked again.
    np.testing.assert_array_equal(add(half_tests(terms)), first)


@pytest.mark.parametrize("first_joined", [True, False])
@pytest.mark.parametrize("weaken", [weakened.count_joined_apart, weakened.nothing])
def test_tests_are_answered_with_the_spread_or_alone(
    weaken: Patch, first_joined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    weaken(monkeypatch)
    group = consortium()
    add, terms = adder(group), group.study.terms
    both: list[Any] = [joined(terms, 2.0), half_tests(terms)]
    asked = both if first_joined else both[::-1]
    add(asked[0])
    if weaken is weakened.count_joined_apart:
        add(asked[1])
        return
    with pytest.raises(IncompleteError, match="disclosure rule"):
        add(asked[1])
    with pytest.raises(IncompleteError, match="disclosure rule"):
        add(joined(terms, 3.0))
    assert "QUESTIONS" in str(group.transport.errors[VICTIM])


@pytest.mark.parametrize("weaken", [weakened.zeros_for_too_large, weakened.nothing])
def test_a_site_with_large_numbers_refuses_and_adds_no_zeros(
    weaken: Patch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sum without it would show it, by the difference to another sum."""
    weaken(monkeypatch)
    group = consortium()
    X, y = group.rows[VICTIM]
    group.rows[VICTIM] = (30.0 * X, y)
    group.sites[VICTIM] = group.transport.parties[VICTIM] = group.site(VICTIM)
    terms = group.study.terms
    large = replace(half_tests(terms), scale=np.full(D, 2e-3))
    add = adder(group)
    if weaken is weakened.nothing:
        with pytest.raises(IncompleteError):
            add(large)
        stages = [one.stage for one in group.gates[VICTIM].ledger.entries()]
        assert stages == ["failed"]
        return
    # Rows and sites of every test: the victim is not among them.
    assert add(large)[3 * D : 3 * D + 2].tolist() == [64.0, 2.0]


# --- what the coordinator sees --------------------------------------------------------


@pytest.mark.parametrize("which", ["halves", "tests", "agreement"])
def test_no_statistic_of_a_site_is_seen(
    which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = consortium()
    terms = group.study.terms
    expected = Expected(np.eye(D)[:, :1], np.full(1, 0.5))
    asked: dict[str, Any] = {
        "halves": MomentsOf(terms),
        "tests": half_tests(terms),
        "agreement": AgreementOf(terms, EVERY, ONES, expected, np.zeros(D)),
    }
    question = asked[which]
    view = watch(group, question)
    assert all(view.unmask(site) is None for site in group.rows)
    assert view.open_boxes() == {}
    # The same eyes see everything where masks hide nothing.
    weak_pairs(monkeypatch)
    again = consortium()
    own = question.pack(question.compute(again.sites[VICTIM]._rows))
    np.testing.assert_allclose(watch(again, question).unmask(VICTIM), own, atol=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("joins", [True, False])
def test_a_site_counts_only_if_its_steward_allows_it(joins: bool) -> None:
    """The coordinator cannot tell who has not counted, nor that anybody has not."""

    def gate(name: str) -> ReleaseGate:
        own = Policy(min_rows=30, join_counts=joins or name != VICTIM)
        return ReleaseGate(own, Ledger())

    rows = make_rows(3, D, 64)
    group = Consortium(rows, gate=gate, max_profiles=12)
    terms = group.study.terms
    # At no site is y a function of the third column alone.
    wrong = Expected(np.eye(D)[:, 2:], np.full(1, 0.5))
    found = adder(group)(AgreementOf(terms, EVERY, ONES, wrong, np.zeros(D)))
    n_counted = 3 if joins else 2
    assert found.needs[0].tolist() == [0.0, n_counted]
    # They are silent along the third column, too.
    assert found.counts[1] == n_counted
