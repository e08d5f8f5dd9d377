"""Errors of freely chosen candidates are equations about the responses held out."""

from typing import Any

import numpy as np
import pytest
from tests.protocols.studies import Consortium, make_rows

from fedsdr.disclosure import Ledger, Policy, ReleaseGate
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.secure import SecureSum
from fedsdr.questions import CandidateErrors

D = 4
N_FREE = 150
#: As many as 21 rows held out at each site allow.
N_ALLOWED = 10


def study(n_candidates: int, **policy: Any) -> Consortium:
    """Return three sites of 70 rows, of which three tenths are held out."""

    def gate(_: str) -> ReleaseGate:
        return ReleaseGate(Policy(min_rows=20, **policy), Ledger())

    rows = make_rows(3, D, 70)
    terms = {"validation_fraction": 0.3, "max_candidates": n_candidates}
    return Consortium(rows, gate=gate, **terms)


def ask(group: Consortium, bases: list[np.ndarray]) -> np.ndarray:
    add = SecureSum(group.transport, group.study)
    add.agree()
    return add(CandidateErrors(group.study.terms, bases))


def guess_responses(
    group: Consortium, bases: list[np.ndarray], errors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""Solve for the responses held out, from their sums and everything else.

    The adversary knows all rows except these responses. Candidate b predicts
    :math:`p_h(b)`, and the sum over all rows h, with weights of their sites, is
    :math:`\sum_h w_h (y_h - p_h(b))^2`: minus that of another candidate it is linear
    in y.
    """
    weights, responses, predictions = [], [], []
    for name, (X, y) in group.rows.items():
        held = group.sites[name]._rows.hold_out(group.study.terms)
        responses.append(y[held])
        weights.append(np.full(held.sum(), 1.0 / held.sum()))
        predictions.append(
            [predict(X[~held] @ b, y[~held], X[held] @ b) for b in bases]
        )
    weight = np.concatenate(weights)
    # Candidates in rows, held-out rows of all sites in columns.
    predicted = np.hstack([np.array(own) for own in predictions])
    known = (weight * predicted**2).sum(axis=1)
    right = (known - errors)[1:] - (known - errors)[0]
    left = 2.0 * weight * (predicted[1:] - predicted[0])
    found, *_ = np.linalg.lstsq(left, right, rcond=1e-13)
    return found, np.concatenate(responses)


def predict(near: np.ndarray, known: np.ndarray, far: np.ndarray) -> np.ndarray:
    squares = ((far[:, None, :] - near[None, :, :]) ** 2).sum(axis=-1)
    weights = np.exp(-0.5 * squares)
    return weights @ known / weights.sum(axis=1)


def draw_bases(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.normal(size=(D, 2)) for _ in range(count)]


def test_free_candidates_show_every_response_held_out_without_a_limit() -> None:
    group = study(N_FREE, max_candidates_per_row=None)
    bases = draw_bases(N_FREE)
    found, truth = guess_responses(group, bases, ask(group, bases))
    assert truth.size == 64
    np.testing.assert_allclose(found, truth, atol=1e-3)


def test_as_many_candidates_as_are_allowed_do_not() -> None:
    group = study(N_ALLOWED)
    bases = draw_bases(N_ALLOWED)
    found, truth = guess_responses(group, bases, ask(group, bases))
    errors = np.abs(found - truth)
    assert np.median(errors) > 0.2 * truth.std()
    # A line through the rows that the adversary knows anyway is closer.
    assert np.median(errors) > 3 * np.median(np.abs(fit_line(group) - truth))


def fit_line(group: Consortium) -> np.ndarray:
    """Predict the responses held out from the other rows of their site."""
    found = []
    for name, (X, y) in group.rows.items():
        held = group.sites[name]._rows.hold_out(group.study.terms)
        rows = np.column_stack([np.ones(len(X)), X])
        line, *_ = np.linalg.lstsq(rows[~held], y[~held], rcond=None)
        found.append(rows[held] @ line)
    return np.concatenate(found)


@pytest.mark.parametrize("n_candidates", [N_ALLOWED + 1, N_FREE])
def test_more_candidates_are_refused(n_candidates: int) -> None:
    group = study(n_candidates)
    with pytest.raises(IncompleteError, match="disclosure rule"):
        ask(group, draw_bases(n_candidates))
    told = {str(error) for error in group.transport.errors.values()}
    assert all("CANDIDATES" in text for text in told)
