"""Second selection: a group penalty on the directions found, chosen by a score.

Eq2.10 charges every product of two coefficients, so with many true variables it stops
early. Given directions V on the variables selected so far, the functions of y that they
carry are regressed on all variables, with one penalty per variable (group lasso), from
the same sums; and the set of variables is chosen by a score.
"""

import numpy as np
import scipy.linalg
from scipy.special import chdtri

from fedsdr.arrays import Matrix, Vector
from fedsdr.estimation.direction_test import judge, needed_evidence
from fedsdr.estimation.directions import leading_directions
from fedsdr.selection.function_regression import (
    FunctionRegression,
    Index,
    best_on_path,
    regression_on,
)
from fedsdr.summaries.summary import Summary

# Rounds of regression and new directions.
MOST_ROUNDS = 4
# Gain in score, in charges of one variable, from which other variables are taken.
CLEARLY = 0.5
# Probability that a given noise variable of the first selection stays.
NOISE_LEVEL = 0.01


def select_again(
    total: Summary, support: Index, n_directions: int, clearly: float = CLEARLY
) -> Index:
    """Select variables by the directions that a first selection has found.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    support : ndarray of int
        Indices of the variables selected so far, at least one.
    n_directions : int
        Dimension K.
    clearly : float, default=0.5
        Gain in score, in charges of one variable, from which other variables are taken.

    Returns
    -------
    ndarray of int
        Indices, ascending; those of the first selection if none have a better score.
    """
    best = np.sort(support)
    for _ in range(MOST_ROUNDS):
        regression = regression_on(total, best, n_directions)
        if regression is None:
            break
        charge = regression.charge(best)
        most = max(total.n_rows // 4, best.size)
        found = best_on_path(regression, charge, most)
        if found is None or np.array_equal(found, best):
            break
        gain = regression.score(best, charge) - regression.score(found, charge)
        if gain < clearly * charge:
            break
        best = found
    return best


def keep_unless_noise(
    total: Summary, before: Index, after: Index, n_directions: int
) -> Index:
    """Keep what a second selection has dropped, unless it explains what noise would.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    before, after : ndarray of int
        Variables before and after the second selection.
    n_directions : int
        Dimension K.

    Returns
    -------
    ndarray of int
        Indices, ascending: those of `after`, and those of `before` that are
        significant at 1 % beside all others; the weakest one is dropped first.

    Notes
    -----
    The charge of a variable is right for one that has to be found among d. One that
    eq2.10 has found, by what it adds to several directions or beside columns that are
    correlated with it, need not pay again.
    """
    kept = np.union1d(before, after)
    regression = regression_on(total, kept, n_directions)
    if regression is None:
        return after
    threshold = float(chdtri(n_directions, NOISE_LEVEL))
    while True:
        losses = regression.losses(kept)
        losses[np.isin(kept, after)] = np.inf
        weakest = int(np.argmin(losses))
        if losses[weakest] > threshold:
            return kept
        kept = np.delete(kept, weakest)


def add_hidden_directions(
    total: Summary, support: Index, n_directions: int, limit: int
) -> tuple[Index, int]:
    r"""Look for directions whose variables the first selection has missed.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    support : ndarray of int
        Indices of the variables selected so far.
    n_directions : int
        Dimension K so far.
    limit : int
        Largest dimension considered.

    Returns
    -------
    support : ndarray of int
        Indices, with the variables of further directions.
    n_directions : int
        Dimension, with these directions.

    Notes
    -----
    The best direction of what is left of :math:`T - \varphi \Sigma` proposes variables,
    by the same path and score. It is accepted if its evidence exceeds what a direction
    needs (see `judge_direction`) by :math:`2 \log d` for every new variable, because
    these were searched for.
    """
    k = n_directions
    while k < limit:
        proposed = _propose(total, support, k)
        if proposed is None:
            break
        wider = np.union1d(support, proposed)
        again = select_again(total, wider, k + 1)
        wider = np.union1d(support, again)
        if not shows_direction(total, support, wider, k + 1):
            break
        support, k = wider, k + 1
    return support, k


def shows_direction(
    total: Summary, support: Index, wider: Index, n_directions: int
) -> bool:
    """Judge whether further variables show one direction more.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    support, wider : ndarray of int
        Indices of the variables without and with the further ones.
    n_directions : int
        Number of directions with the further one.

    Returns
    -------
    bool
        Whether its evidence exceeds what it needs, with a charge for every new
        variable.
    """
    part = total.subset(wider)
    spectrum = leading_directions(part.sigma, part.kernel, n_directions)[1]
    d, new = total.n_variables, wider.size - support.size
    last = float(spectrum[n_directions - 1]) if spectrum.size >= n_directions else 0.0
    test = judge(
        last,
        total.noise_floor,
        total.effective_freedom,
        n_directions,
        int(wider.size),
        needed_evidence(n_directions, d, total.n_rows) + 2 * new * np.log(d),
    )
    return test.accepted


def beside_directions(
    total: Summary, support: Index, n_directions: int
) -> tuple[Matrix, Matrix]:
    r"""Take what the directions on some variables explain out of the kernel.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    support : ndarray of int
        Indices of the variables.
    n_directions : int
        Number of directions.

    Returns
    -------
    kernel : ndarray of shape (n_features, n_features)
        What is left of T.
    signal : ndarray of shape (n_features, n_features)
        What is left of :math:`T - \varphi \Sigma`.
    """
    directions = _directions_on(total, support, n_directions)
    across = total.sigma @ directions

    def without(matrix: Matrix) -> Matrix:
        half = matrix - across @ (directions.T @ matrix)
        return np.asarray(half - (half @ directions) @ across.T)

    kernel = without(total.kernel)
    return kernel, kernel - total.noise_floor * without(total.sigma)


def signal_beside(total: Summary, support: Index, n_directions: int) -> Vector:
    """Return the diagonal of the signal that `beside_directions` leaves, in sums.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    support : ndarray of int
        Indices of the variables.
    n_directions : int
        Number of directions.

    Returns
    -------
    ndarray of shape (n_features,)
        Number of rows times the diagonal.
    """
    directions = _directions_on(total, support, n_directions)[support]
    across = total.scatter[:, support] @ directions / total.n_rows

    def left(matrix: Matrix) -> Vector:
        moved = matrix[:, support] @ directions
        inside = across @ (directions.T @ moved[support])
        twice = np.einsum("jk,jk->j", across, inside - 2.0 * moved)
        return np.asarray(np.diag(matrix) + twice)

    return left(total.between) - total.noise_floor * left(total.scatter)


def _directions_on(total: Summary, support: Index, n_directions: int) -> Matrix:
    """Return the directions that some variables show by themselves."""
    part = total.subset(support)
    basis = leading_directions(part.sigma, part.kernel, n_directions)[0]
    directions = np.zeros((total.n_features, basis.shape[1]))
    directions[support] = basis
    return directions


def _propose(total: Summary, support: Index, n_directions: int) -> Index | None:
    """Return the variables of the best direction that is left."""
    kernel, signal = beside_directions(total, support, n_directions)
    top = total.n_features - 1
    direction = scipy.linalg.eigh((signal + signal.T) / 2, subset_by_index=[top, top])[
        1
    ]
    moved = kernel @ direction
    size = float((direction.T @ moved)[0, 0])
    if size <= 0.0:
        return None
    regression = FunctionRegression(
        total.sigma,
        moved / np.sqrt(size),
        np.ones(1),
        total.n_rows,
        total.n_variables,
    )
    charge = float(np.log(total.n_rows) + np.log(total.n_variables))
    return best_on_path(regression, charge, max(total.n_rows // 10, 1))
