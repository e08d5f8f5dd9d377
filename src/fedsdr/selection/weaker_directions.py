"""A last look for variables of the directions after the first one."""

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.estimation.directions import add_missed_variables, leading_directions
from fedsdr.selection.function_regression import Index
from fedsdr.selection.own_weight import SELECTING, signals_over_noise
from fedsdr.summaries.summary import Summary

# Noise variables that are added in a fit, on average, at most.
ADDITIONS = 1.0
# What an added variable explains, relative to the others, at least: that of a
# coefficient of half their size.
SMALLEST = 0.25


def add_to_weaker(
    total: Summary, support: Index, n_directions: int, used: float
) -> Index:
    r"""Add variables of the directions after the first, with a weight that suits them.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale, not mixed.
    support : ndarray of int
        Indices of the variables selected so far.
    n_directions : int
        Dimension K, at least 2.
    used : float
        Weight of the sites' own kernels with which they were selected.

    Returns
    -------
    ndarray of int
        Indices, ascending: those of `support`, and those that were missed; the former
        alone if sites have more of these directions for themselves than in common.

    Notes
    -----
    A variable that is hard to see can be missed only if the others are hard to see too.
    Where these explain much, one that barely exceeds noise is noise: so it must explain
    a quarter of what the variable in their middle does.
    """
    support = np.sort(support)
    weight = weight_of_weaker(total, support, n_directions, used)
    if weight > SELECTING:
        return support
    mixed = total.mixed(weight)
    found = add_missed_variables(mixed, support, n_directions, ADDITIONS, common=True)
    if found.size == support.size:
        return found
    losses = losses_without(mixed.subset(found), n_directions)
    known = np.isin(found, support)
    return found[known | (losses >= SMALLEST * np.median(losses[known]))]


def losses_without(part: Summary, n_directions: int) -> Vector:
    """Compute by how much eigenvalues fall without each variable.

    Parameters
    ----------
    part : Summary
        Sums over all sites, of the selected variables.
    n_directions : int
        Dimension K, less than the number of variables.

    Returns
    -------
    ndarray of shape (n_selected,)
        Differences of the sum of the K leading eigenvalues.
    """
    sigma, kernel, every = part.sigma, part.kernel, np.arange(part.n_features)

    def explained(kept: Index) -> float:
        block = kept[:, None], kept
        values = leading_directions(sigma[block], kernel[block], n_directions)[1]
        return float(values[:n_directions].sum())

    whole = explained(every)
    return np.array([whole - explained(np.delete(every, j)) for j in every])


def weight_of_weaker(
    total: Summary, support: Index, n_directions: int, used: float
) -> float:
    r"""Choose the weight of the sites' own kernels for the directions after the first.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale, not mixed.
    support : ndarray of int
        Indices of the variables selected so far.
    n_directions : int
        Dimension K, at least 2.
    used : float
        Weight with which they were selected.

    Returns
    -------
    float
        Weight for `Summary.mixed`, at most the one that was used.

    Notes
    -----
    The weight of the sites' own kernels was chosen before directions were known. With
    :math:`s_k` the signal over noise that direction k has at every site beyond what all
    have in common, its best weight is :math:`s_k / (1 + s_k)`, as in `own_weight`. The
    largest of these, for k > 1, takes the place of the weight that was used if it is
    smaller: the noise of sites, which hides the variables of a direction that all have
    in common, counts less then.
    """
    part = total.subset(support)
    mixed = part.mixed(used)
    basis = leading_directions(mixed.sigma, mixed.kernel, n_directions)[0]
    apart = (
        signals_over_noise(part, basis[:, [k]])[1] for k in range(1, basis.shape[1])
    )
    weight = max((one / (1.0 + one) for one in apart), default=used)
    return min(weight, used)
