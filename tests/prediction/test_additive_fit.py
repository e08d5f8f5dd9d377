"""The fit from sums is that of a program which sees all rows."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from fedsdr.estimators.masked_sites import join_under_masks
from fedsdr.exceptions import InputError
from fedsdr.prediction import axes_of, fit_additive
from fedsdr.questions import ask_sites
from fedsdr.result import Result
from fedsdr.summaries.families import FAMILIES, Family
from fedsdr.summaries.newton_parts import OWN
from fedsdr.terms import Terms

TERMS = Terms(5, max_steps=40)


def pooled_columns(fit: Any, sites: Any) -> tuple[np.ndarray, np.ndarray, list[slice]]:
    """All rows with the columns of the common model, then those of each site."""
    asked = fit.question
    parts = [asked.columns_of(rows) for rows in sites.rows.values()]
    common = np.vstack([Z for Z, _ in parts])
    own = asked.deviation.n_own(common.shape[1])
    blocks, places, start = [common], [], 0
    for Z, _ in parts:
        block = np.zeros((len(common), own))
        block[start : start + len(Z)] = Z[:, :own]
        start += len(Z)
        places.append(slice(common.shape[1] + own * len(places), None))
        blocks.append(block)
    return np.hstack(blocks), np.concatenate([y for _, y in parts]), places


def pooled_penalty(fit: Any, n_sites: int) -> np.ndarray:
    asked = fit.question
    common = asked.splines.ridge() + sum(
        weight * matrix
        for weight, matrix in zip(fit.smooth, asked.splines.roughness(), strict=True)
    )
    own = asked.deviation.penalty(asked.splines)
    width, size = len(common), len(own)
    whole = np.zeros((width + n_sites * size,) * 2)
    whole[:width, :width] = common
    for i in range(n_sites):
        place = slice(width + i * size, width + (i + 1) * size)
        whole[place, place] = own
    return whole


def pooled_fit(fit: Any, sites: Any) -> np.ndarray:
    """Fit the same model with scikit-learn, on all rows and in one program.

    Columns are divided by the roots of their penalties, which makes every penalty the
    ridge of scikit-learn; the intercept is not penalised.
    """
    columns, y, _ = pooled_columns(fit, sites)
    weights = np.diag(pooled_penalty(fit, len(sites.rows))).copy()
    assert np.array_equal(np.diag(weights), pooled_penalty(fit, len(sites.rows)))
    scaled = columns[:, 1:] / np.sqrt(weights[1:])
    name = fit.question.family.name
    if name == "linear":
        joined = np.column_stack([np.ones(len(y)), scaled])
        ridge = np.eye(joined.shape[1])
        ridge[0, 0] = 0.0
        found = np.linalg.solve(joined.T @ joined + ridge, joined.T @ y)
        return np.concatenate([found[:1], found[1:] / np.sqrt(weights[1:])])
    if name == "logistic":
        model: Any = LogisticRegression(
            C=1.0, tol=1e-14, max_iter=500, solver="newton-cholesky"
        )
    else:
        model = PoissonRegressor(
            alpha=1 / len(y), tol=1e-14, max_iter=500, solver="newton-cholesky"
        )
    model.fit(scaled, y)
    slopes = np.ravel(model.coef_) / np.sqrt(weights[1:])
    return np.concatenate([np.ravel(model.intercept_), slopes])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_secure_fit_is_that_of_scikit_learn_on_all_rows(
    family, own, axes, sites_of
) -> None:
    sites = sites_of(family)
    adder, _ = join_under_masks(sites, TERMS)
    fit = ask_sites(adder, fit_additive(axes, Family(family), own))
    expected = pooled_fit(fit, sites)
    width = fit.question.splines.n_columns
    scale = np.abs(expected[:width]).max()
    np.testing.assert_allclose(
        fit.question.coefficients, expected[:width], rtol=0.0, atol=1e-8 * scale
    )
    own_ones = [fit.question.deviation_of(rows) for rows in sites.rows.values()]
    np.testing.assert_allclose(
        np.concatenate(own_ones), expected[width:], rtol=0.0, atol=1e-8 * scale
    )


@pytest.mark.parametrize("own", OWN)
def test_masks_change_no_digit_that_matters(own, axes, sites_of) -> None:
    sites = sites_of("logistic")
    plain = ask_sites(sites, fit_additive(axes, Family("logistic"), own))
    adder, _ = join_under_masks(sites, TERMS)
    masked = ask_sites(adder, fit_additive(axes, Family("logistic"), own))
    np.testing.assert_allclose(
        masked.question.coefficients, plain.question.coefficients, atol=1e-9
    )
    np.testing.assert_allclose(masked.covariance, plain.covariance, atol=1e-9)
    assert masked.n_steps == plain.n_steps


def test_a_straight_line_stays_straight_and_a_wave_does_not(axes, sites_of) -> None:
    fit = ask_sites(
        sites_of("linear"), fit_additive(axes, Family("linear"), "intercepts")
    )
    assert fit.smooth[0] < fit.smooth[1]
    assert 3.0 < fit.freedom < 12.0
    assert 0.7 < fit.dispersion < 1.3


def test_sites_that_do_not_differ_are_shrunk_together(axes) -> None:
    from fedsdr.rows import MemoryRows, OwnSites
    from fedsdr.terms import Variables

    rng = np.random.default_rng(3)
    found = {}
    for shift in (0.0, 3.0):
        rows = {}
        for number in range(6):
            X = rng.normal(size=(100, 5))
            y = X[:, 0] + rng.normal(size=100) + shift * number
            rows[f"s{number}"] = MemoryRows(X, y, np.random.default_rng(number), None)
        sites = OwnSites(rows, Variables(tuple("abcde")))
        fit = ask_sites(sites, fit_additive(axes, Family("linear"), "intercepts"))
        found[shift] = fit.question.deviation.weights[0]
    assert found[0.0] > 100 * found[3.0]


def test_nothing_is_predicted_without_a_direction() -> None:
    empty = Result(
        ("a",), np.zeros((1, 0)), np.zeros(1, bool), np.zeros(0), 0.1, 0.0, None, None,
        True, 10, 1, np.ones(1),
    )  # fmt: skip
    with pytest.raises(InputError, match="min_directions=1"):
        axes_of(empty, TERMS)


def test_responses_of_another_family_are_refused(axes, sites_of) -> None:
    with pytest.raises(InputError, match="0 and 1"):
        ask_sites(sites_of("linear"), fit_additive(axes, Family("logistic"), "nothing"))
    with pytest.raises(InputError, match="below 0"):
        ask_sites(sites_of("linear"), fit_additive(axes, Family("poisson"), "nothing"))
    with pytest.raises(InputError, match="linear, logistic, poisson"):
        Family("cauchy")
