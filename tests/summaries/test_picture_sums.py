"""What a site gives away for pictures has no small cell, whatever is asked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedsdr.summaries.picture_sums import (
    CUTS,
    N_PICTURE_BINS,
    picture_part,
    read_pictures,
)

MINIMUM = 10


def dealt(n_rows: int, n_parts: int) -> np.ndarray:
    return np.arange(n_rows) % n_parts


@given(
    st.integers(0, 400),
    st.integers(1, 3),
    st.floats(0.001, 50.0),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_no_small_cell_leaves_a_site(n_rows, n_axes, spread, seed, classes) -> None:
    """Nor does what is left of the rows when all that is shown is subtracted."""
    rng = np.random.default_rng(seed)
    axes = spread * rng.standard_t(3, size=(n_rows, n_axes))
    rare = rng.random(n_rows) < 0.2
    values = np.column_stack([rare, ~rare] if classes else [rare | ~rare, axes[:, 0]])
    parts = dealt(n_rows, n_axes + 1)
    found = picture_part(axes, values.astype(float), parts, MINIMUM, classes=classes)
    counts = found if classes else found[:, :, :1]
    assert ((counts == 0.0) | (counts >= MINIMUM)).all()
    for k in range(n_axes):
        own = values[parts == k] if classes else values[parts == k, :1]
        hidden = own.sum(axis=0) - counts[k].sum(axis=0)
        shown = (counts[k] > 0.0).all(axis=1)
        # All of it, or enough to hide every small cell in.
        whole = not shown.any()
        assert whole or ((hidden == 0.0) | (hidden >= 2 * MINIMUM)).all()
        assert (found[k, ~shown] == 0.0).all()


def test_a_row_is_in_one_picture_at_most(rng) -> None:
    """Two directions that are almost the same have no row in common."""
    axis = rng.normal(size=600)
    axes = np.column_stack([axis, axis + 1e-6])
    parts = dealt(600, 3)
    ones = np.column_stack([np.ones(600), np.arange(600.0)])
    found = picture_part(axes, ones, parts, MINIMUM, classes=False)
    assert found[:, :, 0].sum(axis=1).tolist() == [200.0, 200.0]
    # Which rows they are shows in the sums of their numbers.
    sums = found[:, :, 1].sum(axis=1)
    assert sums.tolist() == [np.arange(0, 600, 3).sum(), np.arange(1, 600, 3).sum()]


def test_sums_are_those_of_a_slow_program(rng) -> None:
    axes, y = rng.normal(size=(900, 2)), rng.normal(size=900)
    parts = dealt(900, 3)
    values = np.column_stack([np.ones(900), y])
    found = picture_part(axes, values, parts, MINIMUM, classes=False)
    ends = [-np.inf, *CUTS, np.inf]
    for k in range(2):
        for j in range(N_PICTURE_BINS):
            inside = (parts == k) & (axes[:, k] >= ends[j]) & (axes[:, k] < ends[j + 1])
            assert found[k, j, 0] == inside.sum()
            assert found[k, j, 1] == pytest.approx(y[inside].sum())


def test_pictures_show_means_where_some_site_may(rng) -> None:
    sums = np.zeros((1, N_PICTURE_BINS, 2))
    sums[0, :, 0] = [0, 30, 40, 40, 30, 0]
    sums[0, :, 1] = [0, -30, -20, 20, 30, 0]
    (bins,) = read_pictures(sums, np.array([2.0]), (), MINIMUM)
    assert bins.shown.tolist() == [False, True, True, True, True, False]
    assert bins.means is not None
    np.testing.assert_allclose(bins.means[1:-1], [-1.0, -0.5, 0.5, 1.0])
    np.testing.assert_allclose(bins.edges[1:-1], 2.0 * CUTS)
