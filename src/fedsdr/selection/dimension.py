"""Choose the number of directions: votes, and a test on sparse fits."""

import numpy as np
from numpy.typing import ArrayLike

from fedsdr.estimation.direction_test import (
    DimensionTest,
    judge,
    judge_contrast,
    needed_evidence,
)
from fedsdr.estimation.directions import leading_directions
from fedsdr.solver import Solution
from fedsdr.summaries import Summary

# Factors of log N in the evidence that a direction needs: the first one, further ones,
# and those that BIC on the whole kernel does not choose.
FIRST_DOUBT, DOUBT, DOUBT_IF_FEWER = 0.75, 0.25, 1.5


def elect_dimension(votes: ArrayLike, generator: np.random.Generator) -> int:
    """Return the most frequent choice of the sites.

    Parameters
    ----------
    votes : array-like of int
        Choice of `bic_dimension` at each site.
    generator : numpy.random.Generator
        Generator that decides between equally frequent choices, as in the paper.

    Returns
    -------
    int
        The most frequent dimension.
    """
    values, counts = np.unique(np.asarray(votes), return_counts=True)
    return int(generator.choice(values[counts == counts.max()]))


def judge_direction(
    summary: Summary, solution: Solution, by_bic: int, doubt: float = DOUBT
) -> DimensionTest:
    r"""Test whether the last direction of a sparse fit is more than noise.

    Parameters
    ----------
    summary : Summary
        Sums over all sites.
    solution : Solution
        Solution of eq2.10 with k directions.
    by_bic : int
        Choice of `bic_dimension` for the same sums.
    doubt : float, default=0.25
        Factor of the logarithm of N in the evidence that is needed, unless BIC chooses
        fewer directions.

    Returns
    -------
    DimensionTest
        Outcome of the test.

    Notes
    -----
    Let :math:`\lambda_k` be the k-th generalised eigenvalue on the selected variables,
    :math:`\varphi` the noise floor, q the effective degrees of freedom and
    :math:`x = \max(\lambda_k / \varphi, 1)`. With the means of x given y as random
    effects the likelihood ratio statistic (twice the logarithm of the ratio) is
    :math:`q(x - 1 - \log x)`. It must exceed
    :math:`k (\log d + \frac14 \log N)`, and :math:`k (\log d + \frac32 \log N)` if BIC
    on the whole kernel chooses fewer directions: as in eq2.14a, where K directions have
    the penalty K(K+1)/2, the k-th direction has a penalty proportional to k. A first
    direction that is reported needs :math:`2 (\log d + \frac34 \log N)`: it is never
    left out, and on noise nothing but this test says that there is none. See `judge`
    for the second condition, and `judge_contrast` for the kernel of pairs, whose noise
    floor is zero.
    """
    k, active = solution.n_directions, solution.active
    d, n = summary.n_variables, summary.n_rows
    q, floor = summary.effective_freedom, summary.noise_floor
    doubt = DOUBT_IF_FEWER if by_bic < k else doubt
    needed = needed_evidence(k, d, n, doubt)
    eigenvalue = 0.0
    if active.size >= k:
        part = summary.subset(active)
        spectrum = leading_directions(part.sigma, part.kernel, k)[1]
        eigenvalue = float(spectrum[k - 1]) if spectrum.size >= k else 0.0
    if not summary.freedom:
        rows, squares, size = n - summary.n_sites, summary.freedom_squared, active.size
        return judge_contrast(eigenvalue, rows, squares, k, int(size), d, needed)
    return judge(eigenvalue, floor, q, k, int(active.size), needed)
