"""Result.summary: text, frame and JSON say the same."""

import json

import numpy as np
import pytest

from fedsdr import FedSSIR
from fedsdr.result import Result
from fedsdr.simulate import make_setting


@pytest.fixture(scope="module")
def result():
    data = make_setting(3, n_sites=5, n_per_site=150, n_features=12, random_state=1)
    model = FedSSIR(select="tested", random_state=0)
    return model.fit(data.X * 10.0, data.y, sites=data.sites).result_


def test_all_forms_have_the_same_numbers(result):
    summary = result.summary()
    frame, text = summary.to_frame(), str(summary)
    plain = json.loads(summary.to_json())
    assert len(frame) == len(result.selected) * result.n_directions
    assert plain["variables"] == frame.to_dict("records")
    for name in result.selected:
        assert f"\n{name} " in text
    assert "750 at 5 site(s)" in text
    assert f"{frame.loading[0]:.3f}" in text
    assert all(len(line) <= 79 for line in text.splitlines())


def test_loadings_are_per_standard_deviation_and_coefficients_in_units(result):
    frame = result.summary().to_frame()
    places = [result.feature_names.index(name) for name in frame.variable]
    np.testing.assert_allclose(
        frame.coefficient * result.scale[places], frame.loading, rtol=1e-12
    )
    low, high = result.certainty.interval()
    inside = (low <= result.certainty.loadings) & (result.certainty.loadings <= high)
    assert inside.all()
    np.testing.assert_allclose(
        (frame.high - frame.low) / 2,
        # Student's law with 4 degrees of freedom, one for each split.
        2.776445 * result.certainty.half_errors[places, frame.direction - 1],
        rtol=1e-6,
    )


def test_loadings_span_the_directions(result):
    per_unit = result.certainty.loadings / result.scale[:, None]
    fitted = result.directions @ (result.directions.T @ per_unit)
    np.testing.assert_allclose(fitted, per_unit, atol=1e-10)


def test_certainty_survives_json(result):
    again = Result.from_json(result.to_json())
    assert str(again.summary()) == str(result.summary())
    assert again.certainty.dimensions == result.certainty.dimensions
    assert again.certainty.sites == result.certainty.sites
    np.testing.assert_array_equal(again.certainty.errors, result.certainty.errors)


def test_a_fit_without_tests_has_a_summary_too():
    data = make_setting(1, n_sites=3, n_features=10, random_state=1)
    found = FedSSIR().fit(data.X, data.y, sites=data.sites).result_.summary()
    assert "loading/sd" in str(found)
    assert "frequency" not in found.to_frame()


def test_nothing_found_is_said():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.normal(size=200)
    fit = FedSSIR(select="fdr", random_state=0).fit(X, y, sites=np.arange(200) % 2)
    found = fit.result_
    text = str(found.summary())
    assert "no direction was found" in text
    assert "0 of 5 selected" in text
    assert found.summary().to_frame().empty
