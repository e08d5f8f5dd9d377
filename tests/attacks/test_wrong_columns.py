"""One site sends any numbers in a study of many columns, where no matrix is full."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.protocols.studies import Consortium, make_rows

from fedsdr.exceptions import Refusal
from fedsdr.protocols.secure import SecureSite, SecureSum, secure_coordinator
from fedsdr.questions import BlockOf, ColumnsOf, DiagonalsOf
from fedsdr.questions.many_columns import N_COUNTS
from fedsdr.questions.possible_sums import check_possible
from fedsdr.summaries.slicing import Pairs, Slices, Smooth
from fedsdr.terms import MOST_ASKED

LIAR = "site-02"
D = 8
#: Column that has nothing to do with y, which the liar wants to be published.
WANTED = 6
CHOSEN = np.array([0, 1, WANTED])
MUCH = 1e6


def make_up(
    statistic: str, how: Callable[[np.ndarray], Any], patch: pytest.MonkeyPatch
) -> None:
    """Let one site change one of its sums before it is masked."""
    honest = SecureSite._addable

    def addable(self: SecureSite, question: Any, answer: Any) -> np.ndarray:
        values = honest(self, question, answer)
        if self.name == LIAR and question.name == statistic:
            values = values.copy()
            how(values)
        return values

    patch.setattr(SecureSite, "_addable", addable)


def consortium(**terms: Any) -> Consortium:
    return Consortium(make_rows(4, D, 60), max_columns=3 * MOST_ASKED, **terms)


def add_all(group: Consortium) -> tuple[Any, Any, Any]:
    """Ask for everything that a study of many columns asks for."""
    add, terms = SecureSum(group.transport, group.study), group.study.terms
    add.agree()
    return (
        add(DiagonalsOf(terms)),
        add(BlockOf(terms, CHOSEN)),
        add(ColumnsOf(terms, CHOSEN[:1])),
    )


def push_a_variable(values: np.ndarray) -> None:
    """Claim a kernel of one column alone, larger than that of all honest sites."""
    values[N_COUNTS + D + WANTED] += MUCH


def hide_a_variable(values: np.ndarray) -> None:
    values[N_COUNTS + D] = -MUCH


def negative_variance(values: np.ndarray) -> None:
    values[N_COUNTS + WANTED] = -MUCH


def common_means(values: np.ndarray) -> None:
    values[N_COUNTS + 2 * D] += MUCH


def products(values: np.ndarray) -> None:
    values[-1] += MUCH


def half_a_row(values: np.ndarray) -> None:
    values[0] += 0.5


def freedom(values: np.ndarray) -> None:
    values[2] += MUCH


def larger_block(values: np.ndarray) -> None:
    """Raise the diagonals of both matrices, which fit each other."""
    size = CHOSEN.size * (CHOSEN.size + 1) // 2
    values[size - 1] += MUCH
    values[-1] += 0.9 * MUCH


def pair_in_block(values: np.ndarray) -> None:
    values[1] += MUCH


def kernel_in_block(values: np.ndarray) -> None:
    values[-1] += MUCH


def covariance_in_column(values: np.ndarray) -> None:
    """Claim that a column is the first one in disguise."""
    values[WANTED] += MUCH


def kernel_in_column(values: np.ndarray) -> None:
    values[D + WANTED] -= MUCH


ATTACKS = [
    ("diagonals", push_a_variable, "kernel is larger than its covariance"),
    ("diagonals", hide_a_variable, "kernel is not positive semi-definite"),
    ("diagonals", negative_variance, "variance of a column is negative"),
    ("diagonals", common_means, "linear sums are larger"),
    ("diagonals", products, "products with the response"),
    ("diagonals", half_a_row, "does not count|not whole"),
    ("diagonals", freedom, "degrees of freedom"),
    ("block", larger_block, "varies more than it has before"),
    ("block", pair_in_block, "covariance is not positive semi-definite"),
    ("block", kernel_in_block, "kernel is larger than its covariance"),
    ("columns", covariance_in_column, "more in common than each has alone"),
    ("columns", kernel_in_column, "more in common than each has alone"),
]


@pytest.mark.parametrize(("statistic", "how", "said"), ATTACKS)
def test_impossible_sums_of_many_columns_are_refused(
    statistic: str, how: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_up(statistic, how, monkeypatch)
    with pytest.raises(Refusal, match=said) as caught:
        add_all(consortium())
    assert caught.value.code == "TAMPERED"


def test_an_unchecked_sum_names_the_column_that_one_site_wants(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def strongest() -> set[int]:
        return set(add_all(consortium())[0].strongest(2))

    assert WANTED not in strongest()
    make_up("diagonals", push_a_variable, monkeypatch)
    monkeypatch.setattr(secure_coordinator, "check_possible", lambda *_, **__: None)
    assert WANTED in strongest()


def test_columns_that_contradict_each_other_are_refused() -> None:
    group = consortium()
    question = ColumnsOf(group.study.terms, CHOSEN[:2])
    sums = add_all(group)
    vector = question.pack(sum_of(question, group))
    check_possible(question, vector, (), sums[0])
    # The second column says something else about the first than the first about it.
    vector[1] *= 1.01
    with pytest.raises(Refusal, match="contradict each other"):
        check_possible(question, vector, (), sums[0])


def sum_of(question: Any, group: Consortium) -> Any:
    parts = [question.compute(site._rows) for site in group.sites.values()]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def test_declared_ranges_bound_the_diagonals() -> None:
    group = consortium()
    question = DiagonalsOf(group.study.terms)
    vector = question.pack(sum_of(question, group))
    spans = np.ptp(np.vstack([X for X, _ in group.rows.values()]), axis=0)
    check_possible(question, vector, spans)
    with pytest.raises(Refusal, match="more than its declared range"):
        check_possible(question, vector, spans / 10)


@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.SiteWarning")
@settings(max_examples=60)
@given(
    kernel=st.sampled_from([Smooth(), Slices(), Slices(5), Pairs()]),
    seed=st.integers(0, 10**6),
    n_rows=st.integers(4, 60),
    kind=st.sampled_from(["plain", "large", "twins", "constant", "far", "levels"]),
)
def test_sums_of_rows_are_never_refused(
    kernel: Any, seed: int, n_rows: int, kind: str
) -> None:
    """Whatever the rows are: an honest study must not fail."""
    rng = np.random.default_rng(seed)
    rows = make_rows(4, D, n_rows, seed=seed)
    for name, (X, y) in rows.items():
        if kind == "large":
            X = 1e4 * X + 1e6
        elif kind == "twins":
            X[:, 1] = X[:, 0] * (1 + 1e-9)
        elif kind == "constant":
            X[:, 1] = 7.1
        elif kind == "far" and name == LIAR:
            X[:, WANTED] = 1e7 + 0.1
        elif kind == "levels":
            X = (rng.random(X.shape) < 0.2).astype(float)
        rows[name] = (X, y)
    group = Consortium(rows, max_columns=3 * MOST_ASKED, kernel=kernel)
    terms = group.study.terms
    spans = np.ptp(np.vstack([X for X, _ in rows.values()]), axis=0)
    question = DiagonalsOf(terms)
    vector = question.pack(sum_of(question, group))
    check_possible(question, vector, spans)
    diagonals = question.unpack(vector)
    for later in (BlockOf(terms, CHOSEN), ColumnsOf(terms, CHOSEN)):
        check_possible(later, later.pack(sum_of(later, group)), (), diagonals)
