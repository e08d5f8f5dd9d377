"""One site sends any numbers: sums that no rows have are refused, others are not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.protocols.studies import Consortium, make_rows

from fedsdr.exceptions import Refusal
from fedsdr.method import Method
from fedsdr.protocols.secure import SecureSite, SecureSum, secure_coordinator
from fedsdr.questions import CandidateErrors, MomentsOf, RowSettings
from fedsdr.questions.possible_sums import check_possible
from fedsdr.run import run
from fedsdr.summaries.slicing import Pairs, Slices, Smooth

LIAR = "site-02"
D = 4
#: Places of the diagonal in an upper triangle, after the four counts.
DIAGONAL = 4 + np.array([0, 4, 7, 9])
SIZE = D * (D + 1) // 2


def make_up(how: Callable[[np.ndarray], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one site change its moments before they are masked."""
    honest = SecureSite._addable

    def addable(self: SecureSite, question: Any, answer: Any) -> np.ndarray:
        values = honest(self, question, answer)
        if self.name == LIAR and question.name == "moments":
            values = values.copy()
            how(values)
        return values

    monkeypatch.setattr(SecureSite, "_addable", addable)


def push_a_variable(values: np.ndarray) -> None:
    """Claim that y depends on the last column, which has nothing to do with it."""
    # Kernel of that column alone, larger than that of all honest sites together.
    values[DIAGONAL[-1] + SIZE] += 1e5


def hide_a_variable(values: np.ndarray) -> None:
    """Take away what other sites have found in the first column."""
    values[4 + SIZE : 4 + SIZE + D] = [-1e4, 0.0, 0.0, 0.0]


def negative_variance(values: np.ndarray) -> None:
    """Subtract more than all sites have."""
    values[DIAGONAL] = -1e4


def no_covariance(values: np.ndarray) -> None:
    """Claim a correlation above 1."""
    values[5] += 1e5


def half_a_row(values: np.ndarray) -> None:
    """Claim a number of rows that is not whole."""
    values[0] += 0.5


def no_response(values: np.ndarray) -> None:
    """Claim products with y that y is too small for."""
    values[-1] = -1e3


def linear_sums(values: np.ndarray) -> None:
    """Claim common means that the kernel does not have."""
    values[4 + 2 * SIZE] += 1e6


def freedom(values: np.ndarray) -> None:
    """Claim more degrees of freedom than rows."""
    values[2] += 1e4


def fit(consortium: Consortium) -> Any:
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    return run(add, Method(refit="pooled", n_directions=1))


ATTACKS = [
    (push_a_variable, "kernel is larger than its covariance"),
    (hide_a_variable, "kernel is not positive semi-definite"),
    (negative_variance, "variance of a column is negative"),
    (no_covariance, "covariance is not positive semi-definite"),
    (half_a_row, "do not count|not whole|does not count"),
    (no_response, "products with the response"),
    (linear_sums, "linear sums are larger"),
    (freedom, "degrees of freedom"),
]


@pytest.fixture(name="rows")
def five_sites() -> Any:
    return make_rows(5, n_rows=80)


@pytest.mark.parametrize(("how", "said"), ATTACKS)
def test_impossible_sums_are_refused(
    how: Any, said: str, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_up(how, monkeypatch)
    with pytest.raises(Refusal, match=said) as caught:
        fit(Consortium(rows))
    assert caught.value.code == "TAMPERED"


def test_an_unchecked_sum_publishes_what_one_site_wants(
    rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fit(Consortium(rows)).selected == ("x0",)
    make_up(push_a_variable, monkeypatch)
    monkeypatch.setattr(secure_coordinator, "check_possible", lambda *_, **__: None)
    assert "x3" in fit(Consortium(rows)).selected


def test_rows_that_a_site_invents_are_not_noticed(rows: Any) -> None:
    X, _ = rows[LIAR]
    invented = np.tile(X, (20, 1)) + np.random.default_rng(0).normal(
        size=(20 * len(X), D)
    )
    rows[LIAR] = (invented, 50.0 * invented[:, 3])
    assert "x3" in fit(Consortium(rows)).selected


def declaring(rows: Any, *ranges: tuple[float, float]) -> Consortium:
    """Let a study declare ranges, which only the coordinator looks at here."""
    consortium = Consortium(rows)
    consortium.study = replace(consortium.study, ranges=ranges)
    return consortium


def test_declared_ranges_bound_what_a_site_can_add(
    rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def much(values: np.ndarray) -> None:
        """Claim a variance, with its kernel, that the declared range forbids."""
        values[DIAGONAL[-1]] += 1e6
        values[DIAGONAL[-1] + SIZE] += 0.9e6

    make_up(much, monkeypatch)
    anything = (-np.inf, np.inf)
    with pytest.raises(Refusal, match="more than its declared range"):
        fit(declaring(rows, anything, (-10.0, 10.0), anything, (-10.0, 10.0)))
    fit(declaring(rows, (-10.0, 10.0), (-10.0, 10.0), (-10.0, 10.0), anything))


@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.SiteWarning")
@settings(max_examples=60)
@given(
    kernel=st.sampled_from([Smooth(), Slices(), Slices(5), Pairs()]),
    seed=st.integers(0, 10**6),
    n_rows=st.integers(4, 60),
    n_folds=st.sampled_from([0, 2]),
    kind=st.sampled_from(["plain", "large", "twins", "constant", "ties", "levels"]),
)
def test_sums_of_rows_are_never_refused(
    kernel: Any, seed: int, n_rows: int, n_folds: int, kind: str
) -> None:
    """Whatever the rows are: an honest study must not fail."""
    rng = np.random.default_rng(seed)
    rows = make_rows(4, n_rows=n_rows, seed=seed)
    for name, (X, y) in rows.items():
        if kind == "large":
            X = 1e4 * X + 1e6
        elif kind == "twins":
            X[:, 1] = X[:, 0] * (1 + 1e-9)
        elif kind == "constant":
            X[:, 2] = 7.0
        elif kind == "ties":
            y = np.rint(y)
        elif kind == "levels":
            X = (rng.random(X.shape) < 0.2).astype(float)
        rows[name] = (X, y)
    consortium = Consortium(rows, kernel=kernel, n_folds=n_folds)
    question = MomentsOf(consortium.study.terms, RowSettings())
    spans = np.ptp(np.vstack([X for X, _ in rows.values()]), axis=0)
    check_possible(question, consortium.expected(), spans)


def test_negative_errors_and_numbers_that_are_none_are_refused() -> None:
    terms = Consortium(make_rows(3), validation_fraction=0.3).study.terms
    question = CandidateErrors(terms, [np.eye(D)[:, :1]])
    check_possible(question, np.array([0.5]))
    with pytest.raises(Refusal, match="negative"):
        check_possible(question, np.array([-0.5]))
    with pytest.raises(Refusal, match="not finite"):
        check_possible(question, np.array([np.nan]))
