"""A coordinator who uses the questions of the second stage for its own ends.

What is refused, what is answered without telling anything about one site, and what
this design cannot prevent, as `SECURITY.md` says.
"""

import warnings
from typing import Any

import numpy as np
import pytest
from tests.protocols.studies import Consortium, make_rows

from fedsdr.disclosure import Ledger, Policy, ReleaseGate
from fedsdr.exceptions import SiteWarning
from fedsdr.method import Method
from fedsdr.protocols import IncompleteError, Refusal
from fedsdr.protocols.secure import SecureSum
from fedsdr.questions import AgreementOf, ProfileOf, SpreadOf
from fedsdr.summaries.profile import Common, PooledCovariance
from fedsdr.summaries.site_agreement import N_SPREAD, Expected
from fedsdr.terms import Variables

D = 4
EVERY = np.arange(D)
ONES = np.ones(D)


def consortium(
    n_sites: int = 4, rows: Any = None, method: Method | None = None
) -> Consortium:
    """Return sites with ledgers, on which the first four columns are equal in scale."""
    method = method or Method()
    names = tuple(f"x{j}" for j in range(D))
    terms = method.terms(Variables(names))
    gates: dict[str, ReleaseGate] = {}

    def gate(name: str) -> ReleaseGate:
        policy = Policy(min_rows=5, max_columns_per_row=None)
        return gates.setdefault(name, ReleaseGate(policy, Ledger()))

    rows = rows or make_rows(n_sites, D, 60)
    return Consortium(rows, gate=gate, max_profiles=terms.max_profiles)


def adder(group: Consortium) -> SecureSum:
    add = SecureSum(group.transport, group.study)
    add.agree()
    return add


def scatter(X: np.ndarray) -> np.ndarray:
    centred = X - X.mean(axis=0)
    return np.asarray(centred.T @ centred)


def agreement(
    group: Consortium, variances: np.ndarray, share: float = 0.0
) -> AgreementOf:
    expected = Expected(np.eye(D)[:, :1], np.full(1, share))
    return AgreementOf(group.study.terms, EVERY, ONES, expected, variances)


# --- refused --------------------------------------------------------------------------


def test_agreement_is_asked_for_once() -> None:
    """Shifted shares or variances would find a site's numbers step by step."""
    group = consortium()
    add = adder(group)
    first = add(agreement(group, np.zeros(D), 0.5))
    for question in (
        agreement(group, np.zeros(D), 0.51),
        agreement(group, np.ones(D), 0.5),
    ):
        with pytest.raises(IncompleteError, match="disclosure rule"):
            add(question)
        assert all(
            "QUESTIONS: this study has already had an answer" in str(error)
            for error in group.transport.errors.values()
        )
    again = agreement(group, np.zeros(D), 0.5)
    np.testing.assert_array_equal(again.pack(add(again)), again.pack(first))


def test_every_sum_of_the_second_stage_is_in_the_ledgers() -> None:
    group = consortium()
    add = adder(group)
    terms = group.study.terms
    asked = [
        SpreadOf(terms, EVERY, ONES, np.eye(D)),
        ProfileOf(terms, EVERY, ONES, np.eye(D)[:, :1]),
        ProfileOf(terms, EVERY[:2], ONES[:2], np.eye(2)),
        agreement(group, np.zeros(D)),
    ]
    for question in asked:
        add(question)
    for gate in group.gates.values():
        entries = gate.ledger.entries()
        assert [(one.stage, one.statistic, one.n_values) for one in entries] == [
            (stage, question.name, question.n_values)
            for question in asked
            for stage in ("offered", "released")
        ]
        assert all(set(one.sites) == set(group.rows) for one in entries)
        # Rules compare all columns of the study, whichever the question names.
        assert all(set(one.columns) == set(group.study.columns) for one in entries)
        # Two profiles are two subjects; an offer and its release are one.
        assert len({one.subject for one in entries}) == len(asked)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("columns", np.array([0, 1, 2, D])),
        ("columns", np.array([-1, 1, 2, 3])),
        ("scale", np.array([1.0, 1.0, 1.0, np.nan])),
        ("scale", np.array([1.0, 1.0, 1.0, 1e300])),
        ("scale", np.array([1.0, 1.0, 1.0, 0.0])),
        ("basis", np.full((D, 1), np.nan)),
        ("basis", np.full((D, 1), 1e300)),
        ("sigma", np.full((D, D), np.nan)),
        ("sigma", 1e300 * np.eye(D)),
        ("sigma", -np.eye(D)),
        ("common", np.full((1, 12), np.nan)),
        ("common", np.full((1, 12), 1e300)),
        ("weight", 1e300),
        ("weight", float("nan")),
        ("own", -1e300),
        ("n_rows", 10**300),
        ("n_rows", 0),
    ],
)
def test_numbers_that_are_none_end_no_site_and_open_no_round(
    field: str, value: Any
) -> None:
    """Refused by the request alone, so the refusal is the same at every site."""
    group = consortium()
    terms = group.study.terms
    common = Common(0.5, np.ones((1, 12)), 100)
    target = PooledCovariance(0.5, np.eye(D))
    whole = ProfileOf(terms, EVERY, ONES, np.eye(D)[:, :1], common, target).request()
    ask = {"statistic": "profile", "request": {**whole, field: value}}
    for site in group.sites.values():
        site.handle("secure.agree", {"study": group.study.digest})
        with pytest.raises(Refusal) as caught:
            site.handle("secure.keys", {"round": "1", **ask})
        assert caught.value.code == "MALFORMED"
        assert not group.gates[site.name].ledger.entries()
        # The site goes on: the same round with a whole question is answered.
        site.handle("secure.keys", {"round": "1", **ask, "request": whole})


def test_no_scale_leaves_one_site_out_of_the_sum() -> None:
    """A difference of two sums would be that site: the sum is not opened at all."""
    rows = make_rows(4, D, 60)
    X, y = rows["site-03"]
    group = consortium(rows={**rows, "site-03": (3.0 * X, y)})
    add = adder(group)
    terms, basis = group.study.terms, np.eye(D)[:, :1]
    add(ProfileOf(terms, EVERY, ONES, basis))
    small = ProfileOf(terms, EVERY, np.full(D, 2e-7), basis)
    with pytest.raises(IncompleteError):
        add(small)
    assert set(group.transport.errors) == {"site-03"}
    # Also if the coordinator pretends that it was lost: the others refuse.
    add._added.clear()
    with pytest.raises(IncompleteError, match="disclosure rule"):
        add(small)
    for name in ("site-00", "site-01", "site-02"):
        assert "SITES: profile of some of these columns went into a sum over" in str(
            group.transport.errors[name]
        )


# --- answered, and what it tells ------------------------------------------------------


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e11])
def test_directions_without_a_length_tell_nothing(size: float) -> None:
    """Singular bases, a target of zeros: zeros are added, and no site fails."""
    group = consortium()
    add = adder(group)
    nowhere = PooledCovariance(1.0, np.zeros((D, D)))
    for basis, target in (
        (np.full((D, 2), size), None),
        (np.eye(D)[:, :1], nowhere),
    ):
        question = ProfileOf(group.study.terms, EVERY, ONES, basis, None, target)
        np.testing.assert_array_equal(question.pack(add(question)), 0.0)
    assert group.transport.errors == {}


def test_codes_are_a_count_of_sites_once_per_study() -> None:
    """A `usual` vector of one column asks whether that column is about so variable.

    The answer is how many sites are a factor of 64 away, not which; and there is one.
    """
    rows = make_rows(4, D, 60)
    X, y = rows["site-02"]
    rows["site-02"] = (X * [1.0, 100.0, 1.0, 1.0], y)
    group = consortium(rows=rows)
    add = adder(group)
    usual = np.array([0.0, 1.0, 0.0, 0.0])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = add(agreement(group, usual))
    np.testing.assert_array_equal(found.counts, [1.0, 0.0, 0.0])
    # The site learns of it, whoever asked.
    assert [one.category for one in said] == [SiteWarning]
    assert "site-02" in str(said[0].message)
    with pytest.raises(IncompleteError):
        add(agreement(group, usual[::-1].copy()))


def test_sums_of_logarithms_do_not_give_variances_of_two_sites() -> None:
    """With the sum of variances, and a third site that works with the coordinator.

    Exact logarithms would be the product of the two, and so both of them. Whole ones
    leave a wide range.
    """
    rows = make_rows(3, D, 60)
    group = consortium(rows=rows)
    found = adder(group)(SpreadOf(group.study.terms, EVERY, ONES, np.eye(D)))
    logarithms = found[N_SPREAD : N_SPREAD + D]
    np.testing.assert_array_equal(logarithms, np.rint(logarithms))
    first, second, colluder = (X.var(axis=0) for X, _ in rows.values())
    left = logarithms - np.rint(np.log2(colluder))
    # Where the logarithms are known to a half each, the product is to a factor of two.
    assert (np.abs(np.log2(first * second) - left) <= 1.0).all()
    scaled = (first * 2.0 ** (0.4 - np.log2(first) % 1.0), second)
    assert np.abs(scaled[0] / first - 1).max() > 0.1


# --- what this design does not prevent ------------------------------------------------


def test_a_direction_that_varies_at_one_site_shows_that_site() -> None:
    """Other sites cannot say how it explains their rows, and add zeros."""
    rows = make_rows(4, D, 60)
    for name, (X, y) in rows.items():
        if name != "site-01":
            rows[name] = (np.where(EVERY == 0, 1.0, X), y)
    group = consortium(rows=rows)
    basis = np.eye(D)[:, :1]
    seen = adder(group)(ProfileOf(group.study.terms, EVERY, ONES, basis)).scatter
    own = scatter(rows["site-01"][0])
    expected = own - np.outer(own[0], own[0]) / own[0, 0]
    np.testing.assert_allclose(seen, expected, atol=1e-9)


def test_with_one_sum_none_of_this_is_answered() -> None:
    group = consortium(method=Method(refit="pooled"))
    terms = group.study.terms
    for question in (
        ProfileOf(terms, EVERY, ONES, np.eye(D)[:, :1]),
        SpreadOf(terms, EVERY, ONES, np.eye(D)),
        agreement(group, np.ones(D)),
    ):
        with pytest.raises(IncompleteError):
            adder(group)(question)
    assert not any(gate.ledger.entries() for gate in group.gates.values())
