"""Near-twins of selected variables: better ones are taken, equal ones are listed.

Where two variables are strongly correlated, the data may not tell which of them y
depends on. Everything here is computed from the pooled sums.
"""

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import chdtri

from fedsdr.arrays import Matrix, Vector
from fedsdr.estimation.directions import leading_directions
from fedsdr.summaries.summary import Summary

Index = NDArray[np.intp]

# Correlation, given the other selected variables, from which one variable can take the
# place of another: it has half of the other's variance.
ALIKE = np.sqrt(0.5)
# Twins that are considered for a variable, the most correlated first.
MOST_TWINS = 20
# Probability that the true variable is not listed, though a twin of it was selected.
LEVEL = 0.05
# Largest number of swaps, and the gain in evidence from which one is made.
MOST_SWAPS = 20
GAIN = 1e-3
# Added to the diagonal of correlations: equal columns are then twins of each other.
RIDGE = 1e-9


def evidence_of(total: Summary, variables: Index, n_directions: int) -> float:
    r"""Compute twice the log likelihood of the best directions on some variables.

    Parameters
    ----------
    total : Summary
        Sums over all sites.
    variables : ndarray of int
        Indices of the variables.
    n_directions : int
        Dimension K.

    Returns
    -------
    float
        :math:`-N \sum_{k \le K} \log(1 - \lambda_k)`, up to a constant, with the
        leading generalised eigenvalues of (T, sigma) on these variables: the functions
        of y that the directions carry, regressed on the variables.
    """
    part = total.subset(variables)
    shares = leading_directions(part.sigma, part.kernel, n_directions)[1]
    shares = np.clip(shares[:n_directions], 0.0, 1.0 - 1e-6)
    return float(-total.n_rows * np.log1p(-shares).sum())


def swap_for_twins(total: Summary, support: Index, n_directions: int) -> Index:
    """Replace selected variables by twins that explain more.

    Parameters
    ----------
    total : Summary
        Sums over all sites.
    support : ndarray of int
        Indices of the selected variables.
    n_directions : int
        Dimension K.

    Returns
    -------
    ndarray of int
        As many indices, ascending. One variable at a time is replaced by one that is
        not selected and has a correlation of at least 0.71 with it, given the other
        selected ones; the best such change first, as long as one raises the evidence.
    """
    support = np.sort(support)
    evidence = evidence_of(total, support, n_directions)
    for _ in range(MOST_SWAPS):
        swaps = [
            np.append(np.delete(support, place), twin)
            for place, twin in _twins(total, support)
            if twin not in support
        ]
        found = [evidence_of(total, one, n_directions) for one in swaps]
        if not found or max(found) <= evidence + GAIN:
            break
        best = int(np.argmax(found))
        support, evidence = np.sort(swaps[best]), found[best]
    return support


def find_stand_ins(
    total: Summary, support: Index, n_directions: int
) -> dict[int, tuple[int, ...]]:
    r"""List, for every selected variable, those that could stand in its place.

    Parameters
    ----------
    total : Summary
        Sums over all sites.
    support : ndarray of int
        Indices of the selected variables.
    n_directions : int
        Dimension K of the fit.

    Returns
    -------
    dict of int to tuple of int
        Variables that have any, with their stand-ins, the most plausible first: at most
        20, selected themselves or not.

    Notes
    -----
    Variable k stands in for j if both have a correlation of at least 0.71 given the
    other selected variables, and if the evidence (`evidence_of`) with k in the place of
    j is lower by at most the 95 % point of :math:`\chi^2_K`. For a k that is selected
    itself, this is the evidence without j.

    If y depends on k and not on j, adding j to the other variables and k raises the
    evidence by about :math:`\chi^2_K`, as j has K superfluous coefficients; and having
    j *instead* of k raises it by no more. So the right variable is missing from the
    list of its twin in at most 5 of 100 samples, whichever of both is selected. That
    holds for given variables beside them, and for covariances that are equal at all
    sites.
    """
    support = np.sort(support)
    most = float(chdtri(n_directions, LEVEL))
    evidence = evidence_of(total, support, n_directions)
    listed: dict[int, list[tuple[float, int]]] = {}
    for place, twin in _twins(total, support):
        others = np.delete(support, place)
        swapped = others if twin in others else np.append(others, twin)
        lost = evidence - evidence_of(total, swapped, n_directions)
        if lost <= most:
            listed.setdefault(int(support[place]), []).append((lost, twin))
    return {j: tuple(twin for _, twin in sorted(found)) for j, found in listed.items()}


def _twins(total: Summary, support: Index) -> list[tuple[int, int]]:
    """Pair places in the support with variables that are alike, given the others."""
    sizes = np.sqrt(np.diag(total.scatter))
    across = total.scatter[:, support] / np.outer(sizes, sizes[support])
    inside = across[support] + RIDGE * np.eye(support.size)
    inverse = scipy.linalg.inv(inside)
    slopes = across @ inverse
    left = np.clip(1.0 - (slopes * across).sum(axis=1), 0.0, None)
    pairs = []
    for place in range(support.size):
        alike = _given_others(inverse, slopes, left, support, place)
        nearest = np.argsort(-alike, kind="stable")[:MOST_TWINS]
        pairs += [(place, int(k)) for k in nearest if alike[k] >= ALIKE]
    return pairs


def _given_others(
    inverse: Matrix, slopes: Matrix, left: Vector, support: Index, place: int
) -> Vector:
    r"""Correlate all variables with a selected one, given the other selected ones.

    With :math:`P = C_{AA}^{-1}`, the slopes G of variable k on all selected ones, and
    what they leave of it, :math:`r_k`, the squared correlation with j is
    :math:`g / (r_k + g)`, :math:`g = G_{kj}^2 / P_{jj}`; for a selected k, it is
    :math:`P_{jk}^2 / (P_{jj} P_{kk})`.
    """
    shared = slopes[:, place] ** 2 / inverse[place, place]
    alike = np.sqrt(shared / np.maximum(left + shared, 1e-300))
    spread = np.sqrt(np.diag(inverse))
    alike[support] = np.abs(inverse[place]) / (spread[place] * spread)
    alike[support[place]] = 0.0
    return np.asarray(alike)
