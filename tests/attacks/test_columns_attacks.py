"""A coordinator who wants more pairs of columns than a study of many columns has.

Which entries of the covariance it can read, what is refused, and what the ledgers hold.
"""

import warnings
from typing import Any

import numpy as np
import pytest
from tests.protocols.studies import Consortium, make_rows

from fedsdr.disclosure import Ledger, Policy, ReleaseGate
from fedsdr.estimators.masked_sites import join_under_masks
from fedsdr.method import Method
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.secure import SecureSum
from fedsdr.questions import BlockOf, ColumnsOf, DiagonalsOf, MomentsOf
from fedsdr.rows import MemoryRows, OwnSites
from fedsdr.run import run
from fedsdr.simulate import make_setting
from fedsdr.terms import MOST_ASKED, MOST_BLOCKS, Variables

D = 2 * MOST_ASKED + 6
AT_ONCE = 2


def consortium(ledgers: dict[str, Any] | None = None, **terms: Any) -> Consortium:
    """Return sites with ledgers and a study that asks for two columns at a time."""
    kept: dict[str, Any] = {} if ledgers is None else ledgers

    def gate(name: str) -> ReleaseGate:
        policy = Policy(min_rows=5, max_columns_per_row=None)
        return ReleaseGate(policy, kept.setdefault(name, Ledger()))

    terms = {"max_columns": AT_ONCE * MOST_ASKED, **terms}
    return Consortium(make_rows(4, D, 60), gate=gate, **terms)


def adder(group: Consortium) -> SecureSum:
    add = SecureSum(group.transport, group.study)
    add.agree()
    return add


def refused(group: Consortium, add: SecureSum, question: Any) -> set[str]:
    with pytest.raises(IncompleteError):
        add(question)
    return {str(error) for error in group.transport.errors.values()}


def test_columns_are_asked_for_a_number_of_times() -> None:
    group = consortium()
    add, terms = adder(group), group.study.terms
    add(DiagonalsOf(terms))
    for start in range(MOST_ASKED):
        add(ColumnsOf(terms, np.array([2 * start, 2 * start + 1])))
    last = ColumnsOf(terms, np.array([D - 2, D - 1]))
    assert all("QUESTIONS" in text for text in refused(group, add, last))
    # A question that was answered before is answered again.
    add(ColumnsOf(terms, np.array([0, 1])))


def test_candidates_are_asked_for_a_number_of_times() -> None:
    group = consortium()
    add, terms = adder(group), group.study.terms
    for start in range(MOST_BLOCKS):
        add(BlockOf(terms, np.arange(start, start + terms.max_columns)))
    more = BlockOf(terms, np.arange(terms.max_columns - 1))
    assert all("QUESTIONS" in text for text in refused(group, add, more))


@pytest.mark.parametrize(
    "question",
    [
        lambda terms: BlockOf(terms, np.arange(terms.max_columns + 1)),
        lambda terms: ColumnsOf(terms, np.arange(AT_ONCE + 1)),
        MomentsOf,
    ],
)
def test_no_more_columns_than_were_agreed_on(question: Any) -> None:
    group = consortium()
    add = adder(group)
    texts = refused(group, add, question(group.study.terms))
    assert all("agreed on" in one or "does not ask" in one for one in texts)


def test_a_study_of_few_columns_answers_none_of_it() -> None:
    group = consortium(max_columns=0)
    add = adder(group)
    for question in (
        DiagonalsOf(group.study.terms),
        BlockOf(group.study.terms, np.arange(2)),
        ColumnsOf(group.study.terms, np.arange(2)),
    ):
        texts = refused(group, add, question)
        assert all("does not ask for such a sum" in one for one in texts)


@pytest.mark.parametrize("first", [DiagonalsOf, BlockOf, ColumnsOf])
def test_sums_of_other_sites_are_refused_whatever_they_are_called(first: Any) -> None:
    """Moments over three sites, and columns over four, show the columns of one site."""
    ledgers: dict[str, Any] = {}
    group = consortium(ledgers)
    add, terms = adder(group), group.study.terms
    some = np.arange(AT_ONCE)
    add(first(terms) if first is DiagonalsOf else first(terms, some))
    policy = Policy(min_rows=5, max_columns_per_row=None)
    rows = dict(list(group.rows.items())[:3])
    fewer = Consortium(
        rows,
        gate=lambda name: ReleaseGate(policy, ledgers[name]),
        threshold=3,
    )
    other = SecureSum(fewer.transport, fewer.study)
    other.agree()
    with pytest.raises(IncompleteError):
        other(MomentsOf(fewer.study.terms))
    assert fewer.transport.errors
    assert all("SITES" in str(error) for error in fewer.transport.errors.values())


def test_every_sum_is_in_the_ledgers() -> None:
    group = consortium()
    add, terms = adder(group), group.study.terms
    asked = [
        DiagonalsOf(terms),
        BlockOf(terms, np.arange(5)),
        ColumnsOf(terms, np.arange(AT_ONCE)),
    ]
    for question in asked:
        add(question)
    for gate in group.gates.values():
        found = [
            (one.stage, one.statistic, one.n_values) for one in gate.ledger.entries()
        ]
        assert found == [
            (stage, question.name, question.n_values)
            for question in asked
            for stage in ("offered", "released")
        ]


def test_the_coordinator_reads_no_pair_that_was_not_asked_for() -> None:
    """What leaves the sites of a whole fit: diagonals, candidates, a few columns."""
    d = 600
    data = make_setting(1, n_features=d, n_sites=3, n_per_site=200, random_state=0)
    names = tuple(f"x{j}" for j in range(d))
    parts = {
        f"site-{i}": MemoryRows(
            data.X[data.sites == i],
            data.y[data.sites == i],
            np.random.default_rng(i),
            f"site-{i}",
            names,
        )
        for i in range(3)
    }
    sites = OwnSites(parts, Variables(names))
    method = Method()
    add, transport = join_under_masks(sites, method.terms(sites.variables))
    transport.transcript.keep = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = run(add, method)
    assert result.converged
    assert result.n_certified == d
    plain = run_plainly(sites, method)
    np.testing.assert_array_equal(result.support, plain.support)
    np.testing.assert_allclose(result.directions, plain.directions, atol=1e-8)
    starts = {
        message.payload["round"]: message.payload
        for message in transport.transcript.messages
        if message.name == "secure.keys" and "statistic" in message.payload
    }
    names = [start["statistic"] for start in starts.values()]
    assert names[:3] == ["diagonals", "block", "columns"]
    assert "moments" not in names
    known = np.eye(d, dtype=bool)
    n_values = 0
    for start in starts.values():
        name, request = start["statistic"], start["request"]
        n_values += values_of(name, request, d)
        columns = request.get("columns", np.empty(0, dtype=int))
        if name == "columns":
            known[:, columns] = known[columns] = True
        else:
            known[np.ix_(columns, columns)] = True
    # Candidates and a few columns: most pairs of columns are never added.
    assert known.mean() < 0.25
    assert n_values < d**2 / 5


def values_of(name: str, request: dict[str, Any], d: int) -> int:
    size = request["columns"].size if "columns" in request else 0
    return {
        "diagonals": DiagonalsOf(Method().terms(Variables(("x",) * d))).n_values,
        "block": BlockOf.length(size),
        "columns": ColumnsOf.length(d, size),
    }.get(name, 0)


def run_plainly(sites: OwnSites, method: Method) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(sites, method)
