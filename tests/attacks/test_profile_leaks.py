"""What a coordinator who chooses the directions learns from sums of profiles.

Masks hide the terms of one sum. A profile is not linear in a site's covariance, so sums
at many directions are many equations for the same few unknowns.
"""

import numpy as np
import pytest
from scipy.optimize import least_squares
from tests.protocols.studies import Consortium

from fedsdr.method import Method
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.secure import SecureSum
from fedsdr.questions import ProfileOf
from fedsdr.terms import Variables

N_SITES = 3
ANGLES = np.pi * np.arange(20) / 20
DIRECTIONS = np.stack([np.cos(ANGLES), np.sin(ANGLES)])


def consortium(refit: bool | str) -> Consortium:
    rng = np.random.default_rng(0)
    rows = {}
    for i in range(N_SITES):
        X = rng.normal(size=(60 + 20 * i, 4)) @ (np.eye(4) + rng.normal(size=(4, 4)))
        rows[f"site-{i:02d}"] = (X, X[:, 0] + rng.normal(size=len(X)))
    terms = Method(refit=refit).terms(Variables(("a", "b", "c", "d")))
    return Consortium(rows, max_profiles=terms.max_profiles)


def left_over(scatters: np.ndarray) -> np.ndarray:
    """Return what directions leave of two columns, added over sites.

    The scatter A of one site leaves the trace det(A) / b'Ab.
    """
    spreads = np.einsum("ik,mij,jk->mk", DIRECTIONS, scatters, DIRECTIONS)
    return (np.linalg.det(scatters)[:, None] / spreads).sum(axis=0)


def scatters_from(flat: np.ndarray) -> np.ndarray:
    """Make positive definite matrices of any three numbers each."""
    first, across, second = flat.reshape(N_SITES, 3).T
    lower = np.zeros((N_SITES, 2, 2))
    lower[:, 0, 0], lower[:, 1, 0] = np.exp(first), across
    lower[:, 1, 1] = np.exp(second)
    return lower @ lower.transpose(0, 2, 1)


def test_twenty_chosen_directions_show_the_covariances_of_single_sites() -> None:
    """Why a study with a second stage asks for more trust in the coordinator."""
    group = consortium(refit=True)
    add = SecureSum(group.transport, group.study)
    add.agree()
    columns = np.array([1, 3])
    seen = np.empty(len(ANGLES))
    for i, direction in enumerate(DIRECTIONS.T):
        basis = direction[:, None]
        question = ProfileOf(group.study.terms, columns, np.ones(2), basis)
        seen[i] = np.trace(add(question).scatter)

    def misfit(flat: np.ndarray) -> np.ndarray:
        return (left_over(scatters_from(flat)) - seen) / seen

    rng = np.random.default_rng(0)
    size = np.log(seen.mean() / N_SITES) / 2
    starts = rng.normal([size, 0.0, size], [0.4, 3.0, 0.4], (10, N_SITES, 3))
    tight = dict.fromkeys(("xtol", "ftol", "gtol"), 1e-15)
    with np.errstate(all="ignore"):
        fits = [least_squares(misfit, one.ravel(), **tight) for one in starts]
    best = min(fits, key=lambda fit: fit.cost)
    found = scatters_from(best.x)
    for X, _ in group.rows.values():
        own = X[:, columns] - X[:, columns].mean(axis=0)
        truth = own.T @ own
        nearest = min(np.abs(one - truth).max() for one in found)
        # To four digits and more, though not which of them is whose.
        assert nearest < 1e-4 * np.abs(truth).max()


def test_a_study_with_one_sum_answers_no_such_question() -> None:
    group = consortium(refit="pooled")
    add = SecureSum(group.transport, group.study)
    add.agree()
    question = ProfileOf(group.study.terms, np.array([1, 3]), np.ones(2), np.eye(2))
    with pytest.raises(IncompleteError):
        add(question)
