import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from fedsdr.solver.projection import project_spectrum, soft_threshold

numbers = st.floats(-5, 5, allow_subnormal=False)
spectra = arrays(np.float64, st.integers(1, 12), elements=numbers)


def project_by_root_finding(values: np.ndarray, n_directions: int) -> np.ndarray:
    def excess(gamma: float) -> float:
        return np.clip(values - gamma, 0, 1).sum() - n_directions

    if excess(0.0) <= 0:
        return np.clip(values, 0, 1)
    gamma = brentq(excess, 0.0, values.max(), xtol=1e-14, rtol=1e-14)
    return np.clip(values - gamma, 0, 1)


@given(spectra, st.integers(1, 12))
def test_spectrum_is_what_root_finding_gives(
    values: np.ndarray, n_directions: int
) -> None:
    found = project_spectrum(values, n_directions)
    expected = project_by_root_finding(values, n_directions)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@given(spectra, st.integers(1, 12), st.data())
def test_no_feasible_spectrum_is_nearer(
    values: np.ndarray, n_directions: int, data: st.DataObject
) -> None:
    other = data.draw(arrays(np.float64, values.size, elements=st.floats(0, 1)))
    other *= min(1.0, n_directions / max(other.sum(), 1e-9))
    found = project_spectrum(values, n_directions)
    assert found.min() >= 0
    assert found.max() <= 1
    assert found.sum() <= n_directions + 1e-12
    nearest = np.sum((found - values) ** 2)
    assert nearest <= np.sum((other - values) ** 2) + 1e-12


@given(spectra, st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_spectrum_does_not_depend_on_the_order(
    values: np.ndarray, n_directions: int, seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(values.size)
    found = project_spectrum(values[order], n_directions)
    expected = project_spectrum(values, n_directions)[order]
    np.testing.assert_allclose(found, expected, atol=1e-13)


@pytest.mark.parametrize(
    ("values", "n_directions", "expected"),
    [
        ([0.5, 0.2], 1, [0.5, 0.2]),
        ([3.0, 2.0, -1.0], 1, [1.0, 0.0, 0.0]),
        ([2.0, 2.0], 1, [0.5, 0.5]),
        ([1.0, 1.0, 1.0, 1.0], 2, [0.5, 0.5, 0.5, 0.5]),
        ([-1.0, -2.0], 1, [0.0, 0.0]),
        ([4.0], 3, [1.0]),
    ],
)
def test_spectrum_by_hand(
    values: list[float], n_directions: int, expected: list[float]
) -> None:
    found = project_spectrum(np.array(values), n_directions)
    np.testing.assert_allclose(found, expected, atol=1e-15)


@given(arrays(np.float64, (3, 4), elements=numbers), st.floats(0, 3))
def test_soft_threshold_is_its_formula(matrix: np.ndarray, threshold: float) -> None:
    expected = np.sign(matrix) * np.maximum(np.abs(matrix) - threshold, 0)
    found = soft_threshold(matrix, threshold)
    np.testing.assert_allclose(found, expected, atol=1e-15)
    assert (found[np.abs(matrix) <= threshold] == 0).all()
