"""Rotations are orthogonal, undone exactly, and prefer no direction."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fedsdr.peers.fed_svd.rotations import block_sizes, haar, random_rotation


@given(n=st.integers(1, 40), largest=st.integers(1, 45), seed=st.integers(0, 99))
@settings(max_examples=50)
def test_rotations_are_orthogonal_and_can_be_undone(n, largest, seed):
    rng = np.random.default_rng(seed)
    rotation = random_rotation(rng.permutation(n), rng.standard_normal, largest)
    P = rotation.apply(np.eye(n))
    np.testing.assert_allclose(P @ P.T, np.eye(n), atol=1e-13)
    columns = rng.normal(size=(n, 3))
    np.testing.assert_allclose(rotation.apply(columns), P @ columns, atol=1e-13)
    np.testing.assert_allclose(rotation.undo(columns), P.T @ columns, atol=1e-13)
    assert (np.count_nonzero(P, axis=0) <= largest).all()


@given(n=st.integers(1, 5000), largest=st.one_of(st.none(), st.integers(1, 2000)))
def test_blocks_are_as_large_as_allowed_and_nearly_equal(n, largest):
    sizes = block_sizes(n, largest)
    assert sum(sizes) == n
    assert max(sizes) <= (largest or 1000)
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == 1 or n > (largest or 1000)


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_haar_matrices_have_the_moments_of_the_haar_measure(size):
    rng = np.random.default_rng(1)
    drawn = np.stack([haar(size, rng.standard_normal) for _ in range(4000)])
    traces = np.trace(drawn, axis1=1, axis2=2)
    # E tr Q = 0 and E (tr Q)^2 = 1 on the orthogonal group; QR alone fails both.
    assert abs(traces.mean()) < 0.08
    assert abs((traces**2).mean() - 1) < 0.12
    assert abs(np.sign(np.linalg.det(drawn)).mean()) < 0.08


def test_columns_of_haar_matrices_are_uniform_on_the_sphere():
    rng = np.random.default_rng(2)
    drawn = np.stack([haar(3, rng.standard_normal) for _ in range(3000)])
    # Archimedes: a coordinate of a point on the sphere in space is uniform.
    for entry in (drawn[:, 0, 0], drawn[:, 2, 1], drawn[:, 1, 2]):
        assert stats.kstest(entry, stats.uniform(-1, 2).cdf).pvalue > 1e-3
