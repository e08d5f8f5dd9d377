"""A site follows the fit of a model from the sums that it has opened."""

from typing import Any

import numpy as np
import pytest

from fedsdr.estimation.additive_fit import fit_additive
from fedsdr.exceptions import InputError, Refusal
from fedsdr.protocols.secure.replayed_model import ReplayedModel
from fedsdr.questions import AxesOf, NewtonOf
from fedsdr.rows import MemoryRows, OwnSites
from fedsdr.summaries.families import FAMILIES, Family
from fedsdr.terms import AgreedModel, Terms, Variables

D = 4


def sites_of(family: str, seed: int) -> OwnSites:
    rng = np.random.default_rng(seed)
    rows = {}
    for number in range(4):
        X = rng.normal(size=(120 + 30 * number, D)) + 0.3 * number
        signal = np.sin(1.5 * X[:, 0]) + 0.4 * X[:, 1] + 0.3 * number
        if family == "linear":
            y = signal + rng.normal(size=len(X))
        elif family == "logistic":
            y = (rng.uniform(size=len(X)) < 1 / (1 + np.exp(-signal))).astype(float)
        else:
            y = rng.poisson(np.exp(signal)).astype(float)
        rows[f"s{number}"] = MemoryRows(X, y, np.random.default_rng(number), None)
    return OwnSites(rows, Variables(tuple("abcd")))


def terms_of(family: str, own: str) -> Terms:
    return Terms(D, max_steps=20, model=AgreedModel(family, own, 10))


def axes_of(terms: Terms) -> AxesOf:
    return AxesOf(terms, np.arange(2), np.ones(2), np.eye(2))


@pytest.mark.parametrize("own", ["nothing", "intercepts"])
@pytest.mark.parametrize("family", FAMILIES)
def test_other_machines_ask_the_same(family: str, own: str) -> None:
    """Sums that differ in the last digits stand for other ways of rounding."""
    for seed in range(4):
        terms, sites = terms_of(family, own), sites_of(family, seed)
        noise = np.random.default_rng(seed)
        asking = fit_additive(axes_of(terms), Family(family), own)
        replay = ReplayedModel(terms)
        question: Any = next(asking)
        steps = 0
        while True:
            settled = replay.settle(question)
            sums = sites(question)
            near = sums * (1.0 + 1e-13 * noise.normal(size=sums.size))
            replay.take(settled, bytes([steps]), near)
            steps += 1
            try:
                question = asking.send(sums)
            except StopIteration as end:
                fit = end.value
                break
        assert 3 <= steps < 20
        assert replay.fitted is not None
        np.testing.assert_allclose(
            replay.fitted.question.coefficients, fit.question.coefficients, atol=1e-8
        )


def test_an_opened_sum_stays_what_it_was() -> None:
    terms = terms_of("linear", "nothing")
    axes, sites = axes_of(terms), sites_of("linear", 0)
    replay, sums = ReplayedModel(terms), sites(axes)
    assert not replay.knows(b"one", sums)
    replay.take(replay.settle(axes), b"one", sums)
    assert replay.knows(b"one", sums)
    with pytest.raises(Refusal, match="another sum"):
        replay.knows(b"one", 2 * sums)
    with pytest.raises(Refusal, match="asks for no such sum"):
        replay.settle(axes)


def test_a_fit_that_failed_goes_no_further() -> None:
    terms = terms_of("linear", "nothing")
    axes = axes_of(terms)
    replay = ReplayedModel(terms)
    constant = np.array([100.0, 3.0, 10.0, 50.0, 200.0, 100.0, 400.0, 300.0])
    with pytest.raises(InputError, match="far from zero beside its spread"):
        replay.take(axes, b"one", constant)
    assert replay.fitted is None
    (step,) = [q for q in _steps(terms) if isinstance(q, NewtonOf)]
    with pytest.raises(Refusal, match="asks for no such sum"):
        replay.settle(step)


def _steps(terms: Terms) -> list[Any]:
    asking = fit_additive(axes_of(terms), Family("linear"), "nothing")
    first = next(asking)
    return [first, asking.send(sites_of("linear", 0)(first))]


def test_sites_of_one_analyst_follow_nothing() -> None:
    terms = Terms(D, max_steps=20)
    for question in _steps(terms):
        assert ReplayedModel(terms).settle(question) is question
