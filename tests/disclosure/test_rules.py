"""Every rule is tested just inside and just outside its limit."""

import numpy as np
import pytest
from tests.disclosure.examples import STUDY, facts, release

from fedsdr import InputError
from fedsdr.disclosure import (
    RULES,
    Facts,
    Ledger,
    Policy,
    Release,
    ReleaseGate,
    observe,
    subject_of,
)
from fedsdr.exceptions import Refusal
from fedsdr.summaries.slicing import Kernel, Pairs, Slices, Smooth


def broken(facts: Facts, policy: Policy, asked: Release | None = None) -> list:
    found = ReleaseGate(policy).review(asked or release(), facts)
    return [violation.rule for violation in found]


def test_what_breaks_no_rule_passes() -> None:
    assert broken(facts(), Policy()) == []
    gate = ReleaseGate()
    gate.inspect(release(), lambda own: facts())
    gate.permit(release())


@pytest.mark.parametrize(
    ("rule", "policy", "inside", "outside"),
    [
        (
            "ROWS",
            Policy(min_rows=100),
            facts(n_rows=100, smallest_part=100),
            facts(n_rows=99, smallest_part=99),
        ),
        ("ROWS", Policy(), facts(smallest_part=50), facts(smallest_part=49)),
        ("SLICES", Policy(), facts(smallest_slice=3), facts(smallest_slice=2)),
        ("SLICES", Policy(), facts(smallest_slice=None), facts(smallest_slice=1)),
        (
            "SLICES",
            Policy(),
            facts(smallest_slice=6, slices="class", smallest_part=50),
            facts(smallest_slice=5, slices="class", smallest_part=50),
        ),
        (
            "LEVELS",
            Policy(),
            facts(minorities={"sex": 3}),
            facts(minorities={"sex": 2}),
        ),
        (
            "LEVELS",
            Policy(),
            facts(minorities={"sex": 0}),
            facts(minorities={"sex": 1}),
        ),
        (
            "LEVELS",
            Policy(),
            facts(minorities={"sex": 6}, smallest_part=50),
            facts(minorities={"sex": 5}, smallest_part=50),
        ),
        (
            "WIDTH",
            Policy(),
            facts(minorities=dict.fromkeys(map(str, range(33)), 99)),
            facts(minorities=dict.fromkeys(map(str, range(34)), 99)),
        ),
        (
            "WIDTH",
            # 0.29 times 100 is less than 29 in floating point.
            Policy(max_columns_per_row=0.29),
            facts(minorities=dict.fromkeys(map(str, range(29)), 99)),
            facts(minorities=dict.fromkeys(map(str, range(30)), 99)),
        ),
        (
            "WIDTH",
            Policy(max_columns_per_row=0.02, min_rows=1),
            facts(),
            facts(smallest_part=99),
        ),
        (
            "COLUMNS",
            Policy(allowed_columns=["age", "sex", "y"]),
            facts(),
            facts(minorities={"age": 99, "salary": 99}),
        ),
        (
            "COLUMNS",
            Policy(allowed_columns=["age", "sex", "y"]),
            facts(),
            facts(target={"salary": "f"}),
        ),
    ],
)
def test_rules_about_rows(
    rule: str, policy: Policy, inside: Facts, outside: Facts
) -> None:
    assert broken(inside, policy) == []
    assert broken(outside, policy) == [rule]


def test_more_columns_than_rows_must_be_allowed_explicitly() -> None:
    wide = facts(minorities=dict.fromkeys(map(str, range(500)), 99))
    assert broken(wide, Policy()) == ["WIDTH"]
    assert broken(wide, Policy(max_columns_per_row=None)) == []


def test_only_studies_that_are_allowed() -> None:
    policy = Policy(allowed_studies=[STUDY])
    assert broken(facts(), policy) == []
    assert broken(facts(), policy, release(study="77" * 32)) == ["STUDY"]


def test_no_more_studies_than_are_allowed() -> None:
    ledger = Ledger()
    gate = ReleaseGate(Policy(max_studies=2), ledger)
    other = facts(minorities={"weight": 99}, prints={"weight": "d4"})
    for study in ("11" * 32, "22" * 32):
        asked = release(study=study)
        assert gate.review(asked, facts()) == []
        ledger.append(asked, "f0")
    again = release(study="11" * 32)
    assert gate.review(again, other) == []
    third = release(study="33" * 32, subject="cd" * 32)
    (violation,) = gate.review(third, other)
    assert violation.rule == "STUDIES"
    assert "answered 2 studies" in violation.explanation


def test_a_refusal_lists_every_rule_and_its_code_says_nothing() -> None:
    small = facts(n_rows=9, smallest_part=9, minorities={"sex": 1, "age": 2})
    policy = Policy(allowed_columns=["age"], max_columns_per_row=0.1)
    with pytest.raises(Refusal) as caught:
        ReleaseGate(policy).inspect(release(), lambda own: small)
    assert caught.value.code == "DISCLOSURE"
    rules = [line.split(":")[0] for line in caught.value.explanation.splitlines()]
    assert rules == ["ROWS", "LEVELS", "WIDTH", "COLUMNS"]
    assert rules == [rule for rule in RULES if rule in rules]
    assert "not allowed: sex, y" in caught.value.explanation


# --- what is observed -----------------------------------------------------------------

N_ROWS = 60


@pytest.fixture(name="X")
def mixed_columns(rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(N_ROWS, 4))
    X[:, 1] = np.arange(N_ROWS) < 2
    X[:, 2] = 7.0
    X[:, 3] = 0.0
    X[[4, 9, 11], 3] = [1.5, -2.5, 3.5]
    return X


def seen(X: np.ndarray, y: np.ndarray, **terms: object) -> Facts:
    names = [f"x{j}" for j in range(X.shape[1])]
    defaults = {"discrete": False, "kernel": Slices()}
    return observe(X, y, names, **{**defaults, **terms})


def test_minorities_are_rows_that_differ_from_the_commonest_value(X) -> None:
    found = seen(X, X[:, 0]).minorities
    # A column without repeated values has one row with its median.
    assert found == {"x0": N_ROWS - 1, "x1": 2, "x2": 0, "x3": 3}


@pytest.mark.parametrize("half", [0, 1])
def test_a_column_half_and_half_is_no_rare_level(half: int) -> None:
    X = (np.arange(10 + half)[:, None] < 5).astype(float)
    assert seen(X, X[:, 0], kernel=Smooth()).minorities == {"x0": 5}


def test_the_smallest_slice_is_that_of_the_kernel(X) -> None:
    y = X[:, 0]
    assert seen(X, y, kernel=Slices(size=20)).smallest_slice == 20
    assert seen(X, y, kernel=Slices(size=7)).smallest_slice == 7
    assert seen(X, y, kernel=Slices(number=25)).smallest_slice == 2
    assert seen(X, y, kernel=Smooth()).smallest_slice is None
    assert seen(X, y, kernel=Pairs()).smallest_slice is None


@pytest.mark.parametrize("kernel", [Slices(), Smooth(), Pairs()])
def test_classes_are_slices_under_every_kernel(X, kernel: Kernel) -> None:
    y = np.repeat(["a", "b", "c"], [30, 28, 2])
    found = seen(X, y, discrete=True, kernel=kernel)
    assert (found.smallest_slice, found.slices) == (2, "class")


@pytest.mark.parametrize(
    ("terms", "part", "smallest_slice"),
    [
        ({}, 60, 20),
        ({"n_folds": 5}, 12, 6),
        ({"n_folds": 5, "kernel": Slices(size=4)}, 12, 4),
        ({"n_folds": 7}, 8, 4),
        ({"validation_fraction": 0.3}, 18, 9),
        ({"validation_fraction": 0.9}, 6, 3),
        ({"n_folds": 5, "kernel": Slices(number=6)}, 12, 2),
    ],
)
def test_folds_and_rows_held_out_are_parts(X, terms, part, smallest_slice) -> None:
    found = seen(X, X[:, 0], **terms)
    assert (found.smallest_part, found.smallest_slice) == (part, smallest_slice)


def test_sites_that_have_no_slices_are_still_counted() -> None:
    found = seen(np.ones((3, 1)), np.arange(3.0))
    assert (found.n_rows, found.smallest_slice) == (3, None)


def test_rows_and_names_must_fit() -> None:
    X = np.ones((5, 2))
    with pytest.raises(InputError, match="a name of its own"):
        observe(X, X[:, 0], ["a", "a"], discrete=False, kernel=Smooth())
    with pytest.raises(InputError, match="a name of its own"):
        observe(X, X[:, 0], ["a"], discrete=False, kernel=Smooth())
    with pytest.raises(InputError, match="the same rows"):
        seen(X, np.ones(4))
    with pytest.raises(InputError, match="one at least"):
        seen(X[:0], np.ones(0))


def test_facts_hold_no_value(X) -> None:
    X[:, 0] = 123.25 + np.arange(N_ROWS)
    text = repr(seen(X, X[:, 0], fingerprint=Ledger().fingerprint))
    # Fingerprints are random hexadecimal digits: only a point tells a value from them.
    assert "123.25" not in text
    assert "182.25" not in text
    assert "array" not in text


# --- releases -------------------------------------------------------------------------


def test_the_order_of_sites_does_not_matter() -> None:
    assert release(sites=("b", "a")) == release(sites=("a", "b"))


@pytest.mark.parametrize(
    "changes",
    [
        {"study": "XY" * 32},
        {"study": "ab"},
        {"subject": ""},
        {"statistic": ""},
        {"sites": ("a", "a")},
        {"n_values": -1},
        {"n_values": True},
    ],
)
def test_releases_are_checked(changes: dict) -> None:
    with pytest.raises(InputError, match=next(iter(changes))):
        release(**changes)


def test_the_subject_is_the_whole_question() -> None:
    question = ("moments", ["a", "b"], "y", {"n_folds": 5, "kernel": "smooth"})
    others = [
        ("errors", *question[1:]),
        ("moments", ["b", "a"], *question[2:]),
        ("moments", ["a", "b"], "z", question[3]),
        (*question[:3], {"n_folds": 6, "kernel": "smooth"}),
    ]
    digests = {subject_of(*asked) for asked in (question, *others)}
    assert len(digests) == 5
    turned = dict(reversed(question[3].items()))
    assert subject_of(*question[:3], turned) == subject_of(*question)
    release(subject=subject_of(*question))


def test_a_kernel_that_is_only_named_is_refused_and_not_taken_for_one_without_slices():
    X = np.arange(40.0).reshape(20, 2)
    with pytest.raises(InputError, match=r"must be Smooth\(\), Slices\(\) or Pairs"):
        observe(X, X[:, 0], ["a", "b"], discrete=False, kernel="slices")
