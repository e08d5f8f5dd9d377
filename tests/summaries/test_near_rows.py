"""Means of groups of rows that are near each other."""

import numpy as np
import pytest

from fedsdr.summaries import near_rows
from fedsdr.summaries.near_rows import near_means


def sizes_of(found: np.ndarray) -> np.ndarray:
    return np.unique(found, axis=0, return_counts=True)[1]


@pytest.mark.parametrize("n_rows", [10, 19, 20, 60, 99, 250])
def test_groups_are_as_many_as_there_can_be(n_rows: int, rng) -> None:
    axes, y = rng.normal(size=(n_rows, 2)), rng.normal(size=n_rows)
    sizes = sizes_of(near_means(axes, y, 10))
    assert sizes.min() >= 10
    assert len(sizes) == n_rows // 10


def test_means_are_near_and_keep_the_sum(rng) -> None:
    axes, y = rng.normal(size=(400, 1)), rng.normal(size=400)
    found = near_means(axes, y, 5)
    inside = np.abs(axes[:, 0] - np.median(axes)) < 3.0
    assert np.abs(found - axes)[inside].mean() < 0.05
    np.testing.assert_allclose(found[inside].sum(), axes[inside].sum(), atol=2.0)
    # A straight line of the rows is one of the means.
    line = 2.0 * axes[:, 0] + 1.0
    slope, level = np.polyfit(found[:, 0], line, 1)
    assert slope == pytest.approx(2.0, abs=0.02)
    assert level == pytest.approx(1.0, abs=0.02)


def test_large_sites_have_larger_groups(rng, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_rows, "MOST_GROUPS", 10)
    sizes = sizes_of(near_means(rng.normal(size=(500, 1)), rng.normal(size=500), 10))
    assert sizes.min() >= 50


def test_an_axis_that_is_constant_or_mostly_tied_stays(rng) -> None:
    axes = np.column_stack([np.ones(60), np.r_[np.zeros(45), np.ones(15)]])
    found = near_means(axes, rng.normal(size=60), 10)
    np.testing.assert_array_equal(found[:, 0], 1.0)
    assert 0.0 <= found[:, 1].min() < found[:, 1].max() <= 1.0
