"""The tests of a fit without its estimates, and mirror statistics beside them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedsdr.inference.split_testing import half_sums
from fedsdr.inference.variable_tests import half_p_values, read_sums
from fedsdr.method import Method
from fedsdr.questions import Asking, ask_sites
from fedsdr.rows.own_sites import OwnSites, split_sites
from fedsdr.run import gather
from fedsdr.terms import Variables

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class HalfResults:
    """What halves of the rows say about variables.

    Parameters
    ----------
    p_values : ndarray of shape (n_halves, n_features)
        p-values; 1 where a variable was not tested.
    mirrors : ndarray of shape (n_halves, n_features)
        Mirror statistics; 0 where a variable was not tested.
    """

    p_values: Array
    mirrors: Array


def run_half_tests(
    X: Array,
    y: Array,
    sites: NDArray[np.int64],
    seed: int,
    *,
    discrete: bool = False,
    groups: NDArray[np.int64] | None = None,
) -> HalfResults:
    r"""Test on all halves as a fit does.

    Parameters
    ----------
    X, y, sites : ndarray
        Rows.
    seed : int
        Seed of the halves.
    discrete : bool, default=False
        Whether y holds classes.
    groups : ndarray of shape (n_rows,), optional
        Subject of each row.

    Returns
    -------
    HalfResults
        p-values and mirror statistics.

    Notes
    -----
    With the slopes :math:`a_j` of the half that selects, and the coefficients
    :math:`b_j` of the other half with their covariance :math:`V_j`, the mirror
    statistic is :math:`a_j' V_j^{-1} b_j`. A noise variable has :math:`b_j` about zero
    whatever the first half says, so its sign is a coin (Dai and others 2023).
    """
    rows = split_sites(X, y, sites, np.random.default_rng(seed), groups)
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    variables = Variables(names, discrete=discrete)
    method = Method(select="tested")

    def stages() -> Asking[HalfResults]:
        gathered = yield from gather(variables, method)
        evidence, limit = gathered.evidence, method.n_directions.max_directions
        _, tests, sums = yield from half_sums(evidence, gathered.frame, limit)
        shape = (len(tests), evidence.total.n_features)
        found = HalfResults(np.ones(shape), np.zeros(shape))
        for i, (test, own) in enumerate(zip(tests, sums, strict=True)):
            found.p_values[i, test.columns] = half_p_values(test, own)
            b, covariance, _ = read_sums(test, own)
            part = evidence.halves[i].subset(test.columns).mixed(test.own)
            a = np.linalg.pinv(part.sigma, hermitian=True) @ part.kernel @ test.basis
            inverse = np.linalg.pinv(covariance, rcond=1e-10, hermitian=True)
            mirror = np.einsum("jk,jkl,jl->j", a, inverse, b)
            found.mirrors[i, test.columns] = mirror
        return found

    return ask_sites(OwnSites(rows, variables), stages())


def select_by_mirrors(mirrors: Array, level: float) -> NDArray[np.bool_]:
    r"""Select variables by mirror statistics of several halves.

    Parameters
    ----------
    mirrors : ndarray of shape (n_halves, n_features)
        Mirror statistics; 0 where a variable was not tested.
    level : float
        False discovery rate.

    Returns
    -------
    ndarray of bool
        Selected variables.

    Notes
    -----
    A half selects :math:`M_j \ge t` with the smallest t for which
    :math:`1 + \#\{M_j \le -t\}` is at most the level times :math:`\#\{M_j \ge t\}`.
    The inclusion rate is the mean over halves of :math:`1\{j \in S\} / |S|`; variables
    are left out, least included first, while their rates add up to at most the level,
    but none that is included as often as one that is kept (multiple data splitting, Dai
    and others 2023). Without the 1 halves of pure noise
    select in every sample.
    """
    chosen = np.zeros(mirrors.shape)
    for own, one in zip(chosen, mirrors, strict=True):
        for t in np.sort(np.abs(one[one != 0.0])):
            if 1 + (one <= -t).sum() <= level * (one >= t).sum():
                own[one >= t] = 1.0 / (one >= t).sum()
                break
    rates = chosen.mean(axis=0)
    order = np.argsort(rates, kind="stable")
    first_kept = int((np.cumsum(rates[order]) <= level).sum())
    least = rates[order[min(first_kept, rates.size - 1)]]
    return np.asarray((rates > 0.0) & (rates >= least))
