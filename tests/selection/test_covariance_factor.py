"""Covariances are factorised where that is exact, and truncated elsewhere."""

import numpy as np

from fedsdr.selection.covariance_factor import inverse_of, solved_with


def _covariance(n=6):
    X = np.random.default_rng(0).normal(size=(50, n))
    return X.T @ X / 50


def test_well_conditioned_covariances_are_solved_exactly():
    sigma = _covariance()
    wanted = np.arange(12.0).reshape(6, 2)
    np.testing.assert_allclose(sigma @ solved_with(sigma, wanted), wanted, atol=1e-12)
    np.testing.assert_allclose(
        inverse_of(sigma, rcond=1e-10), np.linalg.inv(sigma), atol=1e-12
    )


def test_twins_share_their_coefficient():
    sigma = _covariance()
    sigma[5] = sigma[4]
    sigma[:, 5] = sigma[:, 4]
    solved = solved_with(sigma, sigma[:, :1])
    np.testing.assert_allclose(solved[:, 0], np.eye(6)[0], atol=1e-10)
    found = solved_with(sigma, sigma[:, 4:5])[:, 0]
    np.testing.assert_allclose(found[4:], [0.5, 0.5], atol=1e-10)
    np.testing.assert_allclose(
        inverse_of(sigma, rcond=1e-10),
        np.linalg.pinv(sigma, rcond=1e-10, hermitian=True),
        atol=1e-10,
    )


def test_a_covariance_of_zeros_has_no_inverse():
    assert not inverse_of(np.zeros((2, 2)), rcond=1e-10).any()
