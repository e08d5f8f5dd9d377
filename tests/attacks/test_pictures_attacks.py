"""A coordinator who chooses directions so that pictures would show single rows.

Each attack is tried on sites without one of their defences, where it succeeds, and on
ours. The coordinator may even know the parts of all other sites: here it asks a site
for its own part, before any mask.
"""

from dataclasses import replace

import numpy as np
import pytest
from tests.protocols.studies import Consortium, make_rows

from fedsdr.disclosure import Ledger, Policy, ReleaseGate
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.secure import SecureSum
from fedsdr.questions import PicturesOf
from fedsdr.rows import MemoryRows
from fedsdr.rows.site_rows import Rows
from fedsdr.summaries import picture_sums
from fedsdr.summaries.picture_sums import CUTS
from fedsdr.terms import Terms

D = 4
MINIMUM = 10
TERMS = Terms(D, picture_rows=MINIMUM)


def held(n_rows: int = 300, seed: int = 0) -> MemoryRows:
    """Draw the rows of a victim; the first one is far out in the first column."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n_rows, D)), rng.normal(size=n_rows)
    X[0, 0], y[0] = 9.0, 2.5
    return MemoryRows(X, y, np.random.default_rng(7), "victim")


def asked(basis: np.ndarray, terms: Terms = TERMS) -> PicturesOf:
    return PicturesOf(terms, np.arange(D), np.ones(D), np.asarray(basis, dtype=float))


def part(rows: MemoryRows, basis: np.ndarray) -> np.ndarray:
    return asked(basis).compute(rows)


def lonely(rows: MemoryRows) -> np.ndarray:
    """Choose a direction on which one row alone is beyond the last cut."""
    basis = np.zeros((D, 1))
    column = np.sort(rows.X[:, 0] - rows.X[:, 0].mean())
    basis[0] = CUTS[-1] / (column[-2:].mean())
    return basis


def show_everything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        picture_sums, "suppress_small", lambda counts, _: np.ones(len(counts), bool)
    )


def deal_everybody_twice(patch: pytest.MonkeyPatch) -> None:
    """Let all rows be in all pictures, as plain histograms have them."""

    class Everywhere(np.ndarray):
        def __eq__(self, other: object) -> np.ndarray:  # type: ignore[override]
            return np.ones(self.shape, dtype=bool)

    def deal(self: Rows, n_parts: int, use: str) -> np.ndarray:
        return np.zeros(self.n_rows, dtype=int).view(Everywhere)

    patch.setattr(Rows, "deal", deal)


def deal_nobody_out(patch: pytest.MonkeyPatch) -> None:
    """Let all rows be in the only picture."""
    patch.setattr(Rows, "deal", lambda self, *_: np.zeros(self.n_rows, dtype=int))


# --- one row in a bin -----------------------------------------------------------------


def test_a_row_alone_in_a_bin_shows_on_a_site_that_hides_nothing(monkeypatch) -> None:
    show_everything(monkeypatch)
    deal_nobody_out(monkeypatch)
    rows = held()
    count, response = part(rows, lonely(rows))[0, -1]
    assert count == 1.0
    assert response == pytest.approx(rows.plain_response()[0])


def test_a_row_alone_in_a_bin_is_hidden(monkeypatch) -> None:
    """Neither does what is left show it: other bins are hidden with it."""
    deal_nobody_out(monkeypatch)
    rows = held()
    found = part(rows, lonely(rows))[0]
    assert (found[-1] == 0.0).all()
    assert rows.n_rows - found[:, 0].sum() >= 2 * MINIMUM


@pytest.mark.parametrize("seed", range(20))
def test_no_direction_and_no_scale_shows_a_small_cell(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = held(int(rng.integers(12, 500)), seed)
    k = int(rng.integers(1, 5))
    basis = rng.normal(size=(D, k)) * 10.0 ** rng.uniform(-8, 8, size=k)
    counts = part(rows, basis)[:, :, 0]
    assert ((counts == 0.0) | (counts >= MINIMUM)).all()
    dealt = np.bincount(rows.deal(k + 1, PicturesOf.name), minlength=k + 1)[:k]
    hidden = dealt - counts.sum(axis=1)
    assert ((hidden == 0) | (hidden >= 2 * MINIMUM) | (counts.sum(axis=1) == 0)).all()


# --- the difference of two pictures ---------------------------------------------------


def almost_the_same(rows: MemoryRows) -> np.ndarray:
    """Choose two directions between which one row changes its bin, and no other."""
    column = rows.X[:, 0] - rows.X[:, 0].mean()
    above = np.sort(column[column > 0.0])
    middle = (above[20] + above[21]) / 2, (above[21] + above[22]) / 2
    basis = np.zeros((D, 2))
    basis[0] = CUTS[-1] / np.array(middle)
    return basis


def test_two_pictures_of_all_rows_differ_by_one_row(monkeypatch) -> None:
    deal_everybody_twice(monkeypatch)
    rows = held()
    first, second = part(rows, almost_the_same(rows))
    # Everything in them is in large cells.
    assert first[-1, 0] >= MINIMUM
    assert second[-1, 0] >= MINIMUM
    count, response = first[-1] - second[-1]
    assert count == 1.0
    column = rows.X[:, 0] - rows.X[:, 0].mean()
    crossing = np.argsort(column)[np.searchsorted(np.sort(column), 0.0) + 21]
    assert response == pytest.approx(rows.plain_response()[crossing])


def test_two_pictures_have_no_row_in_common() -> None:
    rows = held()
    both = part(rows, almost_the_same(rows))
    dealt = rows.deal(3, PicturesOf.name)
    sizes = np.bincount(dealt)
    assert sizes.tolist() == [100, 100, 100]
    # The same direction twice: were rows in common, cells would be nearly equal.
    y = rows.plain_response()
    for k in (0, 1):
        assert both[k, :, 0].sum() <= sizes[k]
        if (both[k, :, 0] > 0.0).all():
            assert both[k, :, 1].sum() == pytest.approx(y[dealt == k].sum())
    # And the answer does not depend on when it is asked for.
    np.testing.assert_array_equal(both, part(held(), almost_the_same(rows)))


# --- what sites refuse ----------------------------------------------------------------


def consortium(**terms: int) -> Consortium:
    gates: dict[str, ReleaseGate] = {}

    def gate(name: str) -> ReleaseGate:
        policy = Policy(min_rows=5, max_columns_per_row=None)
        return gates.setdefault(name, ReleaseGate(policy, Ledger()))

    return Consortium(make_rows(4, D, 60), gate=gate, **terms)


def test_a_study_without_pictures_gives_none() -> None:
    group = consortium()
    add = SecureSum(group.transport, group.study)
    add.agree()
    with pytest.raises(IncompleteError):
        add(asked(np.eye(D)[:, :1]))
    assert set(add.failures.values()) == {"MALFORMED"}


def test_pictures_are_asked_for_once() -> None:
    """Other directions would have other rows in common with the first ones."""
    group = consortium(picture_rows=MINIMUM)
    add = SecureSum(group.transport, group.study)
    add.agree()
    sums = add(asked(np.eye(D)[:, :1]))
    assert ((sums[:, :, 0] == 0.0) | (sums[:, :, 0] >= MINIMUM)).all()
    with pytest.raises(IncompleteError, match="disclosure rule"):
        add(asked(np.eye(D)[:, 1:2]))
    assert all(
        "QUESTIONS: this study has already had an answer" in str(error)
        for error in group.transport.errors.values()
    )


def test_a_site_does_not_take_the_coordinator_s_word_for_small_cells() -> None:
    """The fewest rows are in the terms that it has agreed to, not in the question."""
    group = consortium(picture_rows=MINIMUM)
    add = SecureSum(group.transport, group.study)
    add.agree()
    eager = replace(group.study.terms, picture_rows=2)
    sums = add(asked(np.eye(D)[:, :1], eager))
    assert ((sums[:, :, 0] == 0.0) | (sums[:, :, 0] >= MINIMUM)).all()


def test_a_sum_with_a_small_cell_is_not_kept() -> None:
    """A site without this rule, of another make, gives itself away."""
    from fedsdr.exceptions import Refusal
    from fedsdr.questions import check_possible

    question = asked(np.eye(D)[:, :1])
    sums = np.zeros((1, 6, 2))
    sums[0, :, 0] = [0, 30, 20, 20, 30, 0]
    check_possible(question, sums.ravel())
    sums[0, 0, 0] = 3
    with pytest.raises(Refusal, match="fewer rows than sites may show"):
        check_possible(question, sums.ravel())
    sums[0, 0] = 0.0, 1.5
    with pytest.raises(Refusal, match="fewer rows than sites may show"):
        check_possible(question, sums.ravel())
