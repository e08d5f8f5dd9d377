"""Test whether one more direction is more than noise."""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, expit

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


def needed_evidence(
    n_directions: int, n_features: int, n_rows: int, doubt: float = 0.25
) -> float:
    r"""Return the evidence that a direction needs.

    Parameters
    ----------
    n_directions : int
        Dimension k under test.
    n_features : int
        Number of variables d that could have been selected.
    n_rows : int
        Number of rows N.
    doubt : float, default=0.25
        Factor c of the logarithm of N.

    Returns
    -------
    float
        :math:`k (\log d + c \log N)`; the first direction needs as much as the second.
    """
    charge = np.log(max(n_features, 2)) + doubt * np.log(n_rows)
    return float(max(n_directions, 2) * charge)


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


def judge_contrast(
    eigenvalue: float,
    n_rows: int,
    squares: float,
    n_directions: int,
    n_selected: int,
    n_features: int,
    needed: float,
) -> DimensionTest:
    r"""Judge a direction by a kernel of weights whose mean is zero, such as `Pairs`.

    Parameters
    ----------
    eigenvalue : float
        Share :math:`\lambda_k` that it explains; noise explains zero on average.
    n_rows : int
        Number N of rows, without one for the mean of each site.
    squares : float
        Sum q of the squared weights, :math:`\mathrm{tr} W^2`.
    n_directions : int
        Dimension k under test.
    n_selected : int
        Number s of variables.
    n_features : int
        Number d of variables from which they were selected.
    needed : float
        Threshold of the evidence.

    Returns
    -------
    DimensionTest
        Outcome of the test.

    Notes
    -----
    Without ties, half of the weights are 1 and half are -1: the kernel of pairs is
    :math:`X'(P - (I - P))X` with P the projection on the sums of the pairs, of rank
    p = N/2. With ties fewer weights are 1, and the others are smaller. Both are
    :math:`W = (N P - p I) / (N - p)` with :math:`p = qN / (N + q)`, so
    :math:`\theta = (\lambda_k (N - p) + p) / N` is the share of the direction that lies
    in the range of P: p/N on average if it is noise. The likelihood ratio statistic of
    two variances is
    :math:`-p\log(\theta N/p) - (N-p)\log((1-\theta)N/(N-p))`. It must also exceed its
    value at the 95 % point of the largest root of a multivariate beta matrix (Johnstone
    2008) by :math:`2\log{d \choose s}`: pairs have so much noise that the penalty lets
    noise variables in, and the direction is then the best of that many sets.
    """
    rank = squares * n_rows / (n_rows + squares) if squares > 0 else 0.0
    share = (eigenvalue * (n_rows - rank) + rank) / n_rows
    evidence = _evidence_of_share(share, rank, n_rows)
    room = max(n_selected - n_directions + 1, 1)
    edge = _largest_beta_root(rank, n_rows - rank, room)
    # The logarithm of the number of sets of so many variables.
    sets = -np.log(n_features + 1.0) - betaln(
        n_selected + 1.0, n_features - n_selected + 1.0
    )
    needed = max(needed, _evidence_of_share(edge, rank, n_rows) + 2 * sets)
    return DimensionTest(
        n_directions=n_directions,
        n_selected=n_selected,
        eigenvalue=eigenvalue,
        noise_ratio=max(share * n_rows / rank, 1.0) if rank > 0 else 1.0,
        evidence=evidence,
        needed=float(needed),
        accepted=bool(evidence > needed),
    )


def _evidence_of_share(share: float, rank: float, n_rows: int) -> float:
    """Compute the likelihood ratio statistic of two variances."""
    if not share * n_rows > rank > 0:
        return 0.0
    others = n_rows - rank
    rest = max(1.0 - share, 1e-12)
    found = rank * np.log(share * n_rows / rank) + others * np.log(
        rest * n_rows / others
    )
    return float(-found)


def _largest_beta_root(rank: float, others: float, n_variables: int) -> float:
    """Return the 95 % point of the largest root of a multivariate beta matrix."""
    total = rank + others - 1.0
    low = (min(n_variables, rank) - 0.5) / total
    high = (max(n_variables, rank) - 0.5) / total
    if n_variables >= others or not 0.0 < low <= high < 1.0:
        return 1.0
    first, second = 2 * np.arcsin(np.sqrt(low)), 2 * np.arcsin(np.sqrt(high))
    both = np.sin(first + second)
    if first + second >= np.pi:
        return 1.0
    spread = (16 / total**2 / (both**2 * np.sin(first) * np.sin(second))) ** (1 / 3)
    centre = 2 * np.log(np.tan((first + second) / 2))
    return float(expit(centre + TRACY_WIDOM_95 * spread))


def _largest_noise_root(freedom: float, n_variables: int) -> float:
    """Return the 95 % point of the largest eigenvalue of a white Wishart matrix."""
    root: float = np.sqrt(freedom) + np.sqrt(n_variables)
    spread = root * (1 / np.sqrt(freedom) + 1 / np.sqrt(n_variables)) ** (1 / 3)
    return float(root**2 + TRACY_WIDOM_95 * spread)
