"""Test whether one more direction is more than noise."""

from dataclasses import dataclass

import numpy as np

# 95 % point of the Tracy-Widom law (beta = 1).
TRACY_WIDOM_95 = 0.98


@dataclass(frozen=True, slots=True)
class DimensionTest:
    """Outcome of the test for one more direction.

    Parameters
    ----------
    n_directions : int
        Dimension under test.
    n_selected : int
        Number of variables of the fit with that many directions.
    eigenvalue : float
        Share of the last direction's variance that y explains.
    noise_ratio : float
        That share divided by what noise explains on average.
    evidence, needed : float
        Likelihood ratio statistic, and its threshold.
    accepted : bool
        Whether the direction is accepted as more than noise.
    """

    n_directions: int
    n_selected: int
    eigenvalue: float
    noise_ratio: float
    evidence: float
    needed: float
    accepted: bool


def judge(
    eigenvalue: float,
    floor: float,
    freedom: float,
    n_directions: int,
    n_selected: int,
    needed: float,
) -> DimensionTest:
    r"""Judge what the last direction of a fit explains.

    Parameters
    ----------
    eigenvalue : float
        Share :math:`\lambda_k` that it explains.
    floor : float
        What noise explains on average, :math:`\varphi`.
    freedom : float
        Effective degrees of freedom q of noise.
    n_directions : int
        Dimension k under test.
    n_selected : int
        Number of variables.
    needed : float
        Threshold of the evidence.

    Returns
    -------
    DimensionTest
        Outcome of the test.

    Notes
    -----
    With :math:`x = \max(\lambda_k / \varphi, 1)` and the means of x given y as random
    effects the likelihood ratio statistic (twice the logarithm of the ratio) is
    :math:`q(x - 1 - \log x)`. Since the k-th direction is the best of many, x must also
    exceed the 95 % point of the largest root of noise on as many variables (Tracy and
    Widom; Johnstone 2001).
    """
    ratio = max(eigenvalue / floor, 1.0) if floor > 0 else 1.0
    evidence = freedom * (ratio - 1.0 - np.log(ratio))
    room = max(n_selected - n_directions + 1, 1)
    edge = _largest_noise_root(max(freedom - 1.0, 1.0), room) / max(freedom, 1.0)
    return DimensionTest(
        n_directions=n_directions,
        n_selected=n_selected,
        eigenvalue=eigenvalue,
        noise_ratio=float(ratio),
        evidence=float(evidence),
        needed=float(needed),
        accepted=bool(evidence > needed and ratio > edge),
    )


def _largest_noise_root(freedom: float, n_variables: int) -> float:
    """Return the 95 % point of the largest eigenvalue of a white Wishart matrix."""
    root: float = np.sqrt(freedom) + np.sqrt(n_variables)
    spread = root * (1 / np.sqrt(freedom) + 1 / np.sqrt(n_variables)) ** (1 / 3)
    return float(root**2 + TRACY_WIDOM_95 * spread)
