"""Functions of y regressed on all variables, from sums: one penalty per variable.

Directions on some variables carry functions of y. Regressed on all variables with a
group penalty, they say which variables belong to the directions; sets of variables are
compared by a score with a charge for each variable.
"""

from dataclasses import dataclass, field
from math import hypot
from operator import mul

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.estimation.directions import leading_directions
from fedsdr.selection.covariance_factor import (
    factorised,
    inverse_of,
    solve_in_rows,
    solved_with,
)
from fedsdr.summaries.summary import Summary

Index = NDArray[np.intp]

# Penalties of the path, and the smallest one relative to the largest.
N_PENALTIES = 25
MIN_RATIO = 0.08
# Penalties after the best one.
PATIENCE = 6
# Largest number of single variables that are added or dropped.
MOST_CHANGES = 60
# Sweeps over the active variables, and the change at which they end.
MOST_SWEEPS = 100
SETTLED = 1e-4
# Largest share of a response that variables are said to explain.
MOST_SHARE = 0.999


@dataclass(frozen=True, slots=True, eq=False)
class FunctionRegression:
    """Functions of y as responses, each with noise of unit variance.

    Parameters
    ----------
    sigma : ndarray of shape (d, d)
        Covariance of x.
    products : ndarray of shape (d, K)
        Covariances of x with the K responses.
    variances : ndarray of shape (K,)
        Variances of the responses.
    n_rows : int
        Number of rows N.
    n_variables : int
        Number of variables that were searched, at least d.
    known : dict of bytes to ndarray, optional
        Shares of the responses that variables explain, once they were computed.
    """

    sigma: Matrix
    products: Matrix
    variances: Vector
    n_rows: int
    n_variables: int
    known: dict[bytes, Vector] = field(default_factory=dict)

    def score(self, variables: Index, charge: float) -> float:
        """Return how badly some variables explain the responses, with a charge each.

        Parameters
        ----------
        variables : ndarray of int
            Indices of some variables.
        charge : float
            Charge of every variable.

        Returns
        -------
        float
            The smaller, the better.
        """
        return variables.size * charge - self.gain(variables)

    def gain(self, variables: Index) -> float:
        r"""Return how much some variables explain.

        Parameters
        ----------
        variables : ndarray of int
            Indices of some variables.

        Returns
        -------
        float
            :math:`-N \sum_k \log(1 - R_k^2)`, a likelihood ratio statistic.
        """
        return self.gain_of(self.shares(variables))

    def gain_of(self, shares: Vector) -> float:
        """Return how much variables explain whose shares are known, see `gain`.

        Parameters
        ----------
        shares : ndarray of shape (K,)
            Parts of the variances of the responses.

        Returns
        -------
        float
            Likelihood ratio statistic.
        """
        bounded = np.minimum(np.maximum(shares, 0.0), MOST_SHARE)
        return float(-self.n_rows * np.log(1 - bounded).sum())

    def charge(self, variables: Index) -> float:
        r"""Return what a variable must explain beside others like the given ones.

        Parameters
        ----------
        variables : ndarray of int
            The s variables selected so far.

        Returns
        -------
        float
            :math:`2 L + \min(\log g, (\mu / 2 - L / \mu)^2) + 2 (K - 1)` with
            :math:`L = \log((d - s) / s)`, :math:`g = G / s` the mean gain of a selected
            variable and :math:`\mu^2 = g - 1`.

        Notes
        -----
        This is the gain from which a variable is more likely to matter than to be
        noise, if a share s / d of all variables matter: with the logarithm for normal
        coefficients of variance g (George and Foster 2000, empirical Bayes), with the
        square for coefficients of equal size; the smaller one is taken. Where few
        variables explain much, the charge is high and noise stays out; where many
        explain little each, it is low. One of the K coefficients of a variable is
        charged so, the others as in Akaike's criterion: most variables belong to one
        direction.
        """
        d, k = self.n_variables, self.products.shape[1]
        s = max(variables.size, 1)
        mean = max(self.gain(variables) / s, 2.0)
        rare = np.log(max((d - s) / s, 1.0))
        size = np.sqrt(mean - 1.0)
        known = min(np.log(mean), (size / 2 - rare / size) ** 2)
        return float(2 * rare + known + 2 * (k - 1))

    def losses(self, variables: Index) -> Vector:
        """Compute what each variable explains beside the others.

        Parameters
        ----------
        variables : ndarray of int
            Indices of some variables.

        Returns
        -------
        ndarray of float
            For each of these, a chi-square with K degrees of freedom if it is noise.
        """
        drops, noise = self.drops(variables), 1 - self.shares(variables)
        return np.asarray(self.n_rows * (drops / noise).sum(axis=1))

    def drops(self, variables: Index) -> Matrix:
        """Compute the shares of the responses that are lost without each variable.

        Parameters
        ----------
        variables : ndarray of int
            Indices of s variables.

        Returns
        -------
        ndarray of shape (s, K)
            Parts of the variances of the responses.
        """
        inverse = inverse_of(self._inside(variables), rcond=1e-15)
        solved = inverse @ self.products[variables]
        room = np.maximum(inverse.diagonal(), 1e-300)[:, None]
        return np.asarray(solved**2 / (room * self.variances))

    def rises(self, variables: Index) -> Matrix:
        """Compute the shares of the responses that each further variable adds.

        Parameters
        ----------
        variables : ndarray of int
            Indices of some variables.

        Returns
        -------
        ndarray of shape (d, K)
            Parts of the variances of the responses; 0 for the given variables, and for
            those that are a combination of them.
        """
        across = self.sigma[:, variables]
        shared = solved_with(across[variables], across.T).T
        return self._rises(variables, shared, across)

    def _rises(self, variables: Index, shared: Matrix, across: Matrix) -> Matrix:
        """See `rises`, from coefficients of all variables on the given ones."""
        own = self.sigma.diagonal()
        left = self.products - shared @ self.products[variables]
        room = own - np.einsum("js,js->j", shared, across)
        usable = room > 1e-6 * own
        usable[variables] = False
        room = np.where(usable, room, np.inf)[:, None]
        return np.asarray(left**2 / (room * self.variances))

    def changes(self, variables: Index) -> tuple[Vector, Matrix, Matrix]:
        """Compute shares, and what one variable less or more changes, with one factor.

        Parameters
        ----------
        variables : ndarray of int
            Indices of s variables.

        Returns
        -------
        shares : ndarray of shape (K,)
            See `shares`.
        drops : ndarray of shape (s, K)
            See `drops`.
        rises : ndarray of shape (d, K)
            See `rises`.
        """
        across, wanted = self.sigma[:, variables], self.products[variables]
        factor = factorised(across[variables])
        if factor is None:
            return self.shares(variables), self.drops(variables), self.rises(variables)
        s, k = wanted.shape
        solved = np.concatenate([np.eye(s), wanted.T, across])
        solve_in_rows(factor, solved)
        inverse, slopes, shared = solved[:s], solved[s : s + k].T, solved[s + k :]
        shares = (wanted * slopes).sum(axis=0) / self.variances
        shares = np.minimum(np.maximum(shares, 0.0), MOST_SHARE)
        self.known[variables.tobytes()] = shares
        drops = slopes**2 / (inverse.diagonal()[:, None] * self.variances)
        return shares, drops, self._rises(variables, shared, across)

    def shares(self, variables: Index) -> Vector:
        """Compute the shares of the responses that some variables explain together.

        Parameters
        ----------
        variables : ndarray of int
            Indices of some variables.

        Returns
        -------
        ndarray of shape (K,)
            Parts of the variances of the responses, below 1.
        """
        found = self.known.get(variables.tobytes())
        if found is None:
            wanted = self.products[variables]
            solved = solved_with(self._inside(variables), wanted)
            found = (wanted * solved).sum(axis=0) / self.variances
            found = np.minimum(np.maximum(found, 0.0), MOST_SHARE)
            self.known[variables.tobytes()] = found
        return found

    def _inside(self, variables: Index) -> Matrix:
        return self.sigma[variables[:, None], variables]


def regression_on(
    total: Summary, support: Index, n_directions: int
) -> FunctionRegression | None:
    r"""Make responses of the directions on the support.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    support : ndarray of int
        Indices of the variables selected so far.
    n_directions : int
        Dimension K.

    Returns
    -------
    FunctionRegression or None
        Regression of functions of y on all variables; None if no direction explains
        more than noise.

    Notes
    -----
    With generalised eigenvalue :math:`\lambda_k` and :math:`T v_k = F (F' v_k)`, the
    response :math:`g_k = F' v_k / \lambda_k` has the regression coefficients
    :math:`v_k`, variance :math:`1 / \lambda_k` and residual variance
    :math:`(1 - \lambda_k) / \lambda_k`, by which it is divided. The noise floor must
    not be subtracted: T has the noise as well, and the share of a response that the
    support explains would exceed :math:`\lambda_k`, for a strong signal 1.
    """
    block, n_rows = (support[:, None], support), total.n_rows
    vectors, values = leading_directions(
        total.scatter[block] / n_rows, total.between[block] / n_rows, n_directions
    )
    kept = values[: vectors.shape[1]] - total.noise_floor > 1e-3
    if not kept.any():
        return None
    shares = np.clip(values[: vectors.shape[1]][kept], 1e-3, 0.99)
    moved = total.between[:, support] @ vectors[:, kept]
    products = moved / (total.n_rows * np.sqrt(shares * (1 - shares)))
    rows = max(total.n_rows - total.n_sites, 1)
    return FunctionRegression(
        total.sigma, products, 1 / (1 - shares), rows, total.n_variables
    )


def best_on_path(
    regression: FunctionRegression, charge: float, most: int
) -> Index | None:
    """Find the variables with the best score on the path of penalties.

    Parameters
    ----------
    regression : FunctionRegression
        Regression of functions of y on all variables.
    charge : float
        Charge of every variable.
    most : int
        Largest number of variables.

    Returns
    -------
    ndarray of int or None
        Indices, ascending; None if no penalty of the path selects between one and
        `most` variables.
    """
    sizes = np.linalg.norm(regression.products, axis=1)
    coefficients = np.zeros_like(regression.products)
    best: tuple[float, Index] | None = None
    since = 0
    for penalty in sizes.max() * np.geomspace(1.0, MIN_RATIO, N_PENALTIES)[1:]:
        active = group_lasso(
            regression.sigma, regression.products, penalty, coefficients
        )
        if active.size > most:
            break
        if not active.size:
            continue
        score = regression.score(active, charge)
        if best is None or score < best[0]:
            best, since = (score, active), 0
        else:
            since += 1
            if since >= PATIENCE:
                break
    return None if best is None else improve_singly(regression, best[1], charge, most)


def improve_singly(
    regression: FunctionRegression, variables: Index, charge: float, most: int
) -> Index:
    """Add and drop single variables while the score gets better.

    Parameters
    ----------
    regression : FunctionRegression
        Regression of functions of y on all variables.
    variables : ndarray of int
        Indices of the variables to begin with.
    charge : float
        Charge of every variable.
    most : int
        Largest number of variables.

    Returns
    -------
    ndarray of int
        Indices, ascending.

    Notes
    -----
    A lasso lets the neighbours of a variable in before it; what is best without a
    penalty is found one variable at a time.
    """
    score = regression.score(variables, charge)
    for _ in range(MOST_CHANGES):
        size = variables.size
        shares, drops, rises = regression.changes(variables)
        weakest = int((drops / (1 - shares)).sum(axis=1).argmin())
        without = shares - drops[weakest]
        found = np.inf, variables
        if size > 1:
            changed = (size - 1) * charge - regression.gain_of(without)
            found = changed, np.delete(variables, weakest)
        if size < most:
            strongest = int((rises / (1 - shares)).sum(axis=1).argmax())
            changed = (size + 1) * charge - regression.gain_of(
                shares + rises[strongest]
            )
            if changed < found[0]:
                found = changed, np.append(variables, strongest)
        if found[0] >= score - 1e-9 * abs(score):
            break
        score, variables = found
    return np.sort(variables)


def group_lasso(
    sigma: Matrix, products: Matrix, penalty: float, coefficients: Matrix
) -> Index:
    r"""Solve a group lasso from sums, by descent over the variables that matter.

    Parameters
    ----------
    sigma : ndarray of shape (d, d)
        Covariance of x.
    products : ndarray of shape (d, K)
        Covariances C of x with K responses.
    penalty : float
        Penalty of the length of a variable's coefficients.
    coefficients : ndarray of shape (d, K)
        Start; overwritten with the solution.

    Returns
    -------
    ndarray of int
        Variables whose coefficients are not zero.

    Notes
    -----
    .. math:: \min_B \tfrac12 \mathrm{tr}\, B' \Sigma B - \mathrm{tr}\, B' C +
              \rho \sum_j |b_j|

    Variables enter when they violate the optimality condition
    :math:`|c_j - \Sigma_j B| \le \rho`.
    """
    active = np.flatnonzero(coefficients.any(axis=1))
    while True:
        across = sigma[active]
        rows, wanted = across[:, active].tolist(), products[active].tolist()
        own = coefficients[active].T.tolist()
        for _ in range(MOST_SWEEPS):
            if _sweep(rows, wanted, own, float(penalty)) < SETTLED:
                break
        found = np.array(own)
        coefficients[active] = found.T
        rest = products - (found @ across).T
        violations = np.sqrt(np.einsum("jk,jk->j", rest, rest)) - penalty
        violations[active] = 0.0
        entering = np.flatnonzero(violations > 1e-6 * penalty)
        if not entering.size:
            return active[found.any(axis=0)]
        active = np.union1d(active, entering[np.argsort(-violations[entering])][:20])


def _sweep(
    rows: list[list[float]],
    wanted: list[list[float]],
    own: list[list[float]],
    penalty: float,
) -> float:
    """Move the coefficients of each variable in turn, and return the largest step.

    `rows` are those of the covariance, `wanted` the products of each variable with the
    responses, `own` the coefficients of each response. So few numbers are faster as
    numbers of Python than as arrays.
    """
    change = 0.0
    for i, (row, products) in enumerate(zip(rows, wanted, strict=True)):
        scale = row[i]
        pulled = [
            product - sum(map(mul, row, one)) + scale * one[i]
            for product, one in zip(products, own, strict=True)
        ]
        length = hypot(*pulled)
        shrink = (1.0 - penalty / length) / scale if length > penalty else 0.0
        for one, pull in zip(own, pulled, strict=True):
            new = shrink * pull
            change = max(change, abs(new - one[i]))
            one[i] = new
    return change
