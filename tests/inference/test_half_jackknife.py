"""Errors from differences between complementary halves of the rows."""

import json
from dataclasses import replace

import numpy as np
import pytest

from fedsdr import FedSSIR, choices
from fedsdr.certainty import Certainty
from fedsdr.estimation.directions import Estimate
from fedsdr.exceptions import InputError
from fedsdr.inference import jackknife
from fedsdr.result import Result
from fedsdr.selection import Evidence
from fedsdr.simulate import make_setting
from fedsdr.summaries.summary import Summary


def _half(angle, n_rows=50):
    """Make sums with unit covariance whose only direction has a given angle."""
    direction = np.array([np.cos(angle), np.sin(angle), 0.0])
    between = 0.5 * n_rows * np.outer(direction, direction)
    return Summary(n_rows, n_rows * np.eye(3), between)


def _estimate(*columns):
    directions = np.array(columns, dtype=float).T
    support = np.flatnonzero(directions.any(axis=1))
    return Estimate(directions, support, np.ones(len(columns)) / 2)


def _evidence(*angles):
    return Evidence(_half(0.0, 100), halves=tuple(map(_half, angles)))


def test_one_split_of_known_directions():
    errors, angles = jackknife(_evidence(0.2, -0.1), 1.0, _estimate([1, 0.0, 0]))
    assert errors.shape == (3, 1)
    # The third variable is not selected, and the second neither: no error at all.
    assert not errors.any()
    tilted = _estimate([np.cos(0.05), np.sin(0.05), 0.0])
    errors, angles = jackknife(_evidence(0.2, -0.1), 1.0, tilted)
    # From the reported direction, halves are at 0.15 and -0.15: half of the difference
    # of the nearest points, across that direction, is cos sin.
    across = np.cos(0.15) * np.sin(0.15)
    assert angles[0] == pytest.approx(np.arcsin(across))
    expected = across * np.array([np.sin(0.05), np.cos(0.05), 0.0])
    np.testing.assert_allclose(errors[:, 0], np.abs(expected), atol=1e-14)


def test_splits_are_averaged_as_squares():
    tilted = _estimate([np.cos(0.05), np.sin(0.05), 0.0])
    first = jackknife(_evidence(0.2, -0.1), 1.0, tilted)[0]
    second = jackknife(_evidence(0.3, 0.0), 1.0, tilted)[0]
    both = jackknife(_evidence(0.2, -0.1, 0.3, 0.0), 1.0, tilted)[0]
    np.testing.assert_allclose(both**2, (first**2 + second**2) / 2, atol=1e-15)


def test_signs_do_not_matter_and_a_common_bias_cancels():
    tilted = _estimate([np.cos(0.05), np.sin(0.05), 0.0])
    plain = jackknife(_evidence(0.2, -0.1), 1.0, tilted)[0]
    turned = jackknife(_evidence(0.2 + np.pi, -0.1), 1.0, tilted)[0]
    np.testing.assert_allclose(plain, turned, atol=1e-14)
    assert jackknife(_evidence(0.3, 0.3), 1.0, tilted)[0].max() < 1e-14


def test_nothing_found_has_no_errors():
    errors, angles = jackknife(_evidence(0.2, -0.1), 1.0, Estimate.nothing(3))
    assert errors.shape == (3, 0)
    assert angles.shape == (0,)


@pytest.fixture(scope="module")
def result():
    data = make_setting(3, n_sites=5, n_per_site=150, n_features=12, random_state=1)
    model = FedSSIR(select="tested", random_state=0)
    return model.fit(data.X * 10.0, data.y, sites=data.sites).result_


def test_both_errors_are_of_one_size():
    ratios = []
    for seed in range(6):
        data = make_setting(1, n_sites=5, n_features=12, random_state=seed)
        model = FedSSIR(select=choices.Tested(splits=7), random_state=seed)
        sure = model.fit(data.X, data.y, sites=data.sites).result_.certainty
        known = sure.errors > 0.0
        assert (sure.half_errors[known] > 0.0).all()
        assert not sure.half_errors[~known].any()
        ratios.append((sure.half_errors[known] / sure.errors[known]) ** 2)
        assert 0.3 < sure.half_angles[0] / sure.angles[0] < 3.0
    assert 0.7 < np.sqrt(np.concatenate(ratios).mean()) < 1.4


# Other tests take copies for rows.
@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.SymmetryWarning")
def test_copies_of_rows_are_no_more_rows_where_subjects_are_named():
    found, rng = {}, np.random.default_rng(2)
    rows = rng.normal(size=(400, 6))
    responses = rows[:, 0] + rows[:, 1] - rows[:, 2] + rng.normal(size=400)
    subjects = np.arange(400)
    for copies in (1, 4):
        X, y, sites, own = (
            np.repeat(one, copies, axis=0)
            for one in (rows, responses, subjects % 4, subjects)
        )
        tested = choices.Tested(splits=7)
        model = FedSSIR(n_directions=1, select=tested, random_state=3)
        found[copies] = model.fit(X, y, sites=sites, groups=own).result_.certainty
    both = (found[1].errors > 0) & (found[4].errors > 0)

    def size(name, copies):
        return np.sqrt((getattr(found[copies], name)[both] ** 2).mean())

    assert size("errors", 4) / size("errors", 1) < 0.6
    assert 0.7 < size("half_errors", 4) / size("half_errors", 1) < 1.5


def test_intervals_of_halves_have_a_t_distribution(result):
    sure = result.certainty
    assert sure.n_halves == 8
    low, high = sure.interval(by="halves")
    np.testing.assert_allclose((high - low) / 2, 2.776445 * sure.half_errors, rtol=1e-6)
    low, high = sure.interval(0.5, by="halves")
    np.testing.assert_allclose((high - low) / 2, 0.740697 * sure.half_errors, rtol=1e-6)


def test_the_summary_shows_the_intervals_that_are_asked_for(result):
    usual, halves = result.summary(intervals="curvature"), result.summary()
    frame = halves.to_frame()
    places = [result.feature_names.index(name) for name in frame.variable]
    low, high = result.certainty.interval(by="halves")
    np.testing.assert_array_equal(frame.low, low[places, frame.direction - 1])
    np.testing.assert_array_equal(frame.high, high[places, frame.direction - 1])
    assert halves.directions[0]["angle"] == result.certainty.half_angles[0]
    assert usual.directions[0]["angle"] == result.certainty.angles[0]
    assert "(jackknife)" in str(halves)
    assert "(jackknife)" not in str(usual)
    assert "curvature of the fit" in str(usual)
    assert str(halves) == str(result.summary(intervals="halves"))
    assert all(len(line) <= 79 for line in str(halves).splitlines())


@pytest.mark.parametrize(("splits", "source"), [(2, "curvature"), (3, "halves")])
def test_intervals_come_from_halves_where_there_are_enough(result, splits, source):
    sure = replace(result.certainty, n_halves=2 * splits)
    assert sure.error_source() == source
    for usual, asked in zip(sure.interval(), sure.interval(by=source), strict=True):
        np.testing.assert_array_equal(usual, asked)


def test_json_keeps_both(result):
    again = Result.from_json(result.to_json()).certainty
    np.testing.assert_array_equal(again.half_errors, result.certainty.half_errors)
    np.testing.assert_array_equal(again.half_angles, result.certainty.half_angles)


def test_results_of_earlier_versions_have_none(result):
    fields = json.loads(result.to_json())
    del fields["certainty"]["half_errors"], fields["certainty"]["half_angles"]
    earlier = Result.from_json(json.dumps(fields))
    assert str(earlier.summary()) == str(result.summary(intervals="curvature"))
    with pytest.raises(InputError, match="fit again with select='tested'"):
        earlier.summary(intervals="halves")


def test_other_words_are_refused(result):
    with pytest.raises(InputError, match="'curvature' or 'halves'"):
        result.summary(intervals="bootstrap")


def test_tests_alone_have_no_intervals():
    sure = Certainty(np.ones(2), np.ones(2), np.zeros(2), n_halves=8)
    low, high = sure.interval(by="halves")
    assert low.size == high.size == 0
