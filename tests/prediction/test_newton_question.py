"""The Newton step as a question: derivatives, messages that are not trusted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedsdr.exceptions import Refusal
from fedsdr.normal_scores import NormalScores
from fedsdr.protocols.wire import decode, encode
from fedsdr.questions import (
    AxesOf,
    MeasuresOf,
    NewtonOf,
    RowSettings,
    read_question,
)
from fedsdr.rows import MemoryRows, StreamedRows
from fedsdr.summaries.families import FAMILIES, Family
from fedsdr.summaries.newton_parts import OWN, SiteDeviation
from fedsdr.summaries.spline_basis import SplineBasis
from fedsdr.terms import Terms

TERMS = Terms(5, max_steps=40)


@pytest.fixture(name="question")
def a_step(axes: AxesOf) -> NewtonOf:
    splines = SplineBasis(np.zeros(2), np.ones(2))
    coefficients = np.linspace(-0.3, 0.3, splines.n_columns)
    family, deviation = Family("logistic"), SiteDeviation("curves", (0.5, 2.0))
    return NewtonOf(axes, splines, family, deviation, coefficients)


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("family", FAMILIES)
def test_gradient_and_curvature_are_derivatives(
    family, own, question, sites_of
) -> None:
    sites = sites_of(family)
    asked = replace(
        question, family=Family(family), deviation=SiteDeviation(own, (0.5, 2.0))
    )
    found = asked.read(sites(asked))
    size = 1e-5
    for j in (0, 1, 5, 12):
        moved = []
        for sign in (-1, 1):
            at = asked.coefficients.copy()
            at[j] += sign * size
            moved.append(asked.read(sites(replace(asked, coefficients=at))))
        slope = (moved[1].penalised - moved[0].penalised) / (2 * size)
        assert slope == pytest.approx(found.gradient[j], rel=1e-5, abs=1e-4)
        bend = (moved[1].gradient - moved[0].gradient) / (2 * size)
        np.testing.assert_allclose(bend, found.curvature[j], rtol=1e-4, atol=1e-4)


def test_a_request_becomes_the_question_again(question, axes) -> None:
    centred = replace(axes, centre=np.array([3.0, -1.0]))
    for asked in (question, axes, centred, MeasuresOf(question)):
        request = decode(encode(asked.request()))
        found: Any = read_question(asked.name, request, TERMS, ())
        assert found.n_values == asked.n_values
        again = found.request()
        assert set(again) == set(request)
        for name, value in request.items():
            assert np.array_equal(again[name], value)


def test_a_study_without_a_model_asks_for_no_steps(question, axes) -> None:
    for asked in (question, axes, MeasuresOf(question)):
        with pytest.raises(Refusal, match="does not ask"):
            read_question(asked.name, asked.request(), replace(TERMS, max_steps=0), ())


@pytest.mark.parametrize(
    "change",
    [
        {"family": "cauchy"},
        {"family": 3},
        {"deviates": "everything"},
        {"weights": np.array([0.0, 1.0])},
        {"weights": np.array([1.0, np.nan])},
        {"weights": np.ones(3)},
        {"spread": np.array([1.0, 0.0])},
        {"spread": np.array([1.0, -1.0])},
        {"spread": np.ones(3)},
        {"centre": np.array([np.inf, 0.0])},
        {"coefficients": np.zeros(3)},
        {"coefficients": np.full(19, 1e13)},
        {"coefficients": np.full(19, np.nan)},
        {"coefficients": None},
        {"basis": np.zeros((3, 0))},
        {"columns": np.array([0, 2, 9])},
        {"rows": 1},
    ],
)
def test_other_requests_are_refused(question, change) -> None:
    request = {**question.request(), **change}
    with pytest.raises(Refusal):
        read_question("newton", request, TERMS, ())


def test_steps_are_counted(question) -> None:
    assert TERMS.n_questions("newton") == 40
    assert TERMS.n_questions("axes") == 2
    assert "max_steps" not in replace(TERMS, max_steps=0).to_payload()
    assert TERMS.to_payload()["max_steps"] == 40


def test_rows_in_batches_give_the_same_sums(question, sites_of) -> None:
    rows = sites_of("logistic").rows["site3"]
    starts = range(0, rows.n_rows, 37)
    streamed = StreamedRows(
        lambda: ((rows.X[i : i + 37], rows.y[i : i + 37]) for i in starts),
        np.random.default_rng(5),
        "north",
        tuple("abcde"),
    )
    for asked in (question, question.axes, MeasuresOf(question)):
        np.testing.assert_allclose(
            asked.compute(streamed), asked.compute(rows), rtol=1e-10, atol=1e-10
        )


def test_gaps_are_filled_and_columns_scored_as_agreed(question, sites_of) -> None:
    rows = sites_of("logistic").rows["site3"]
    X = rows.X.copy()
    X[::9, 2] = np.nan
    gappy = MemoryRows(X, rows.y, np.random.default_rng(0))
    filled = np.where(np.isnan(X), 0.7, X)
    points = np.sort(np.random.default_rng(1).normal(size=(5, 65)), axis=1)
    scores = NormalScores(points, 2.0 * points + 1.0)
    settings = RowSettings(None, (2,), np.array([0.7]), scores)
    plain = MemoryRows(scores.apply(filled), rows.y, np.random.default_rng(0))
    found = replace(question, settings=settings).compute(gappy)
    np.testing.assert_allclose(found, question.compute(plain), rtol=1e-12)


@pytest.mark.parametrize(
    "change",
    [{"centre": np.zeros(3)}, {"centre": 1.0}, {"spread": np.ones(2)}, {"rows": 1}],
)
def test_other_requests_for_axes_are_refused(axes, change) -> None:
    with pytest.raises(Refusal):
        read_question("axes", {**axes.request(), **change}, TERMS, ())
