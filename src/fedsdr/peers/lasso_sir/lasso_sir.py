"""Sliced inverse regression by the lasso."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.estimation import orthonormal
from fedsdr.estimators.checks import check_flag, check_number
from fedsdr.estimators.former_names import accept_former_names, renamed_attribute
from fedsdr.estimators.reducer import Reducer, aloud, random_generator
from fedsdr.exceptions import InputError, WeakSignalWarning, warn_user
from fedsdr.peers.lasso_sir.lasso_paths import (
    choose_penalties,
    fit_lasso,
    penalty_grids,
)
from fedsdr.peers.lasso_sir.pseudo_responses import (
    count_strong,
    deal_folds,
    most_varying,
    pseudo_responses,
)
from fedsdr.peers.lasso_sir.sliced_sites import SlicedSites, slice_sites
from fedsdr.peers.slice_kernels import read_slices
from fedsdr.solver import single_threaded_blas
from fedsdr.telling import tell

# Below these a column is constant (its spread over its largest entry), and a unit
# vector lies in the span of others (its length outside of it).
CONSTANT = 1e-13
DEPENDENT = 1e-8


class LassoSIR(Reducer):
    r"""Sparse sliced inverse regression by the lasso (Lin, Zhao and Liu 2019).

    Every direction is a lasso of a pseudo-response made from slice means.

    Parameters
    ----------
    n_directions : int or "auto", default="auto"
        Dimension of the subspace. "auto" splits the strengths of all candidate
        directions into two clusters and counts the upper one; for classes it is their
        number minus one.
    kernel : str or Slices, default="slices(number=20)"
        Slices of an ordered response at each site, by their number or their size,
        ``Slices(size=20)``. Classes are slices of their own.
    response : {"auto", "ordered", "classes"}, default="auto"
        What y is taken for, as in `FedSSIR`.
    standardize : bool, default=True
        Whether directions are sought on columns of unit variance. If not, a column of
        large numbers can drown all others. The lasso itself standardises in either
        case.
    screening : bool, default=False
        With more columns than rows, keep only as many columns as there are rows, those
        whose slice means vary most. Nothing is dropped otherwise.
    n_folds : int, default=10
        Folds of the cross-validation; one row each when there are fewer rows.
    n_repeats : int, default=3
        How often the folds are drawn anew; errors are averaged. More repeats make the
        result depend less on `random_state`, and take longer.
    max_directions : int or None, default=None
        Largest dimension that "auto" may choose; None sets no limit.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws the folds.
    verbose : int, default=0
        With 1 or more, what is being done is written to stderr.

    Attributes
    ----------
    directions_ : ndarray of shape (n_features, n_directions_)
        Orthonormal basis, in the data's own units; the largest entry of each column is
        positive.
    support_ : ndarray of bool, shape (n_features,)
        Selected variables.
    n_directions_ : int
        Dimension.
    coefficients_ : ndarray of shape (n_features, n_directions_)
        The lasso directions themselves: unit length, not orthogonal.
    penalty_ : ndarray of shape (n_directions_,)
        Penalty of each lasso, for columns of unit variance.
    eigenvalues_ : ndarray of shape (n_directions_,)
        Variance of the slice means along each direction that the lasso imitates.
    strengths_ : ndarray of shape (n_candidates,)
        Strength of every direction that was tried, over the largest: `n_directions` of
        them if that is a number, for "auto" as many as slice means vary along.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, if they had any.

    Notes
    -----
    With the H slice means :math:`m_h` of the centred rows as the rows of M, and the
    singular value decomposition :math:`M / \sqrt H = \sum_i \sqrt{\lambda_i}\, u_i
    \eta_i'`, a row in slice h gets the pseudo-responses
    :math:`\tilde y_i = m_h' \eta_i / \lambda_i`, and

    .. math:: \hat\beta_i = \arg\min_b \frac{1}{2n} \|\tilde y_i - X b\|^2
              + \rho_i \sum_j \mathrm{sd}(x_j) |b_j|

    with :math:`\rho_i` at the minimum of the cross-validated error, on the grid of the
    R package glmnet. The strengths are :math:`\|\hat\beta_i\| \lambda_i`. Folds are
    dealt along the sorted response, so that they are alike, and more than once: the
    penalty then depends less on the draw. The R package LassoSIR is
    ``standardize=False, n_repeats=1``.

    With ``sites``, rows are centred on the mean of their site, and every site slices
    its own responses, so that neither a shift of x nor another link at a site looks
    like a direction. Slices of one site count alike, sites as much as they have rows.
    `kernel` says how many slices each site has: 20 slices of 100 rows select noise, and
    5 do better.
    The paper compares with LassoSIR on pooled rows, which is the fit without ``sites``.

    When it fails: without ``sites`` rows are centred on their common mean, so a shift
    of x between sites that are pooled bends the slice means. On five sites with far
    shifts (setting 1, ``alpha=10``) its subspace was 0.45 from the truth, that of
    `FedSSIR` with ``sites`` 0.06. Links that are symmetric about the mean are
    invisible, as for all of SIR. Among strongly correlated columns the lasso picks at
    will. The pseudo-responses are made from the rows that they are then regressed on,
    so noise variables are selected with small coefficients, most of all with few rows
    in a slice, and a y that has nothing to do with x gives directions too.

    Examples
    --------
    >>> import numpy as np
    >>> from fedsdr import LassoSIR
    >>> X = np.random.default_rng(0).normal(size=(300, 10))
    >>> model = LassoSIR(random_state=0).fit(X, X[:, 0] + X[:, 1])
    >>> model.n_directions_, model.coefficients_[:2, 0].round(1)
    (1, array([0.7, 0.7]))
    """

    penalties_ = renamed_attribute("penalties_", "penalty_")

    @accept_former_names
    def __init__(
        self,
        n_directions: Any = "auto",
        *,
        kernel: Any = "slices(number=20)",
        response: str = "auto",
        standardize: bool = True,
        screening: bool = False,
        n_folds: int = 10,
        n_repeats: int = 3,
        max_directions: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_directions = n_directions
        self.kernel = kernel
        self.response = response
        self.standardize = standardize
        self.screening = screening
        self.n_folds = n_folds
        self.n_repeats = n_repeats
        self.max_directions = max_directions
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sites: Any = None) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows of all sites.
        y : array-like of shape (n_rows,)
            Numbers, or classes.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site; one site if not given. Rows are centred on the
            mean of their site, and slices hold rows of one site.

        Returns
        -------
        LassoSIR
            Itself, fitted.
        """
        with aloud(self):
            self._check_parameters()
            slices = read_slices(self.kernel)
            rows, y = self._validate(X, y)
            sliced = slice_sites(rows, y, sites, slices, self.response)
            generator = random_generator(self.random_state)
            n_folds = min(self.n_folds, len(y))
            folds = deal_folds(sliced.ranks, n_folds, self.n_repeats, generator)
            with single_threaded_blas():
                columns, scale = _scale_columns(
                    sliced.X, rows, standardize=self.standardize
                )
                index = np.arange(rows.shape[1])
                if self.screening:
                    index = most_varying(columns, sliced.labels, len(y))
                fitted, eigenvalues, penalties = self._regress(
                    columns[:, index], sliced, folds
                )
            new = _independent(fitted)
            if len(new) < fitted.shape[1]:
                warn_user(
                    f"{len(new)} direction(s) instead of {fitted.shape[1]}: in the "
                    "others the lasso selects nothing, or nothing that is not there "
                    "already",
                    WeakSignalWarning,
                )
            coefficients = np.zeros((rows.shape[1], len(new)))
            coefficients[index] = fitted[:, new] / scale[index, None]
            self.coefficients_ = _normalised(coefficients)
            self.directions_ = orthonormal(self.coefficients_)
            self.support_ = self.coefficients_.any(axis=1)
            self.n_directions_ = len(new)
            self.eigenvalues_ = eigenvalues[new]
            self.penalty_ = penalties[new]
            return self

    def _regress(
        self,
        columns: Matrix,
        sliced: SlicedSites,
        folds: NDArray[np.intp],
    ) -> tuple[Matrix, Matrix, Matrix]:
        """Find lasso directions, their eigenvalues and their penalties."""
        eigenvalues, responses = pseudo_responses(
            columns, sliced.labels, sliced.weights
        )
        k = self._n_candidates(responses.shape[1], sliced)
        responses = responses[:, :k]
        grids = penalty_grids(columns, responses)
        tell(f"cross-validating the penalties of {k} direction(s)")
        chosen = choose_penalties(columns, responses, grids, folds)
        tell("fitting the lasso of each direction")
        fitted = fit_lasso(columns, responses, grids, chosen)
        strengths = np.linalg.norm(fitted, axis=0) * eigenvalues[:k]
        self.strengths_ = strengths / (strengths.max() or 1.0)
        if self.n_directions == "auto" and not sliced.discrete:
            # Directions along which slice means do not vary at all count as weak.
            missing = np.zeros(min(len(eigenvalues), sliced.most) - k)
            strong = count_strong(np.append(self.strengths_, missing))
            k = min(strong, self.max_directions or k)
        if not fitted[:, :k].any():
            warn_user(
                "the lasso selects no variable at all: the one that would enter first "
                "is reported, which may be noise",
                WeakSignalWarning,
            )
            k, chosen[0] = 1, 1
            fitted = fit_lasso(columns, responses[:, :1], grids, chosen[:1])
        penalties = grids[np.arange(k), chosen[:k]]
        return fitted[:, :k], eigenvalues[:k], penalties

    def _n_candidates(self, rank: int, sliced: SlicedSites) -> int:
        """Count the directions for which a lasso is needed."""
        if self.n_directions == "auto":
            limit = self.max_directions if sliced.discrete else None
            return min(rank, sliced.most - 1, limit or rank)
        if self.n_directions > rank:
            raise InputError(
                f"n_directions={self.n_directions} is not possible: it must be from 1 "
                f"to {rank}, the rank of the slice means (at most the number of "
                "columns, and less than the number of slices or classes)"
            )
        return int(self.n_directions)

    def _check_parameters(self) -> None:
        check_number(
            "n_directions", self.n_directions, Integral, low=1, words=("auto",)
        )
        check_flag("standardize", self.standardize)
        check_flag("screening", self.screening)
        check_number("n_folds", self.n_folds, Integral, low=2)
        check_number("n_repeats", self.n_repeats, Integral, low=1)
        check_number(
            "max_directions", self.max_directions, Integral, low=1, optional=True
        )


def _scale_columns(
    columns: Matrix, rows: Matrix, *, standardize: bool
) -> tuple[Matrix, Matrix]:
    """Set constant columns to zero, and divide the others by their spread."""
    spread = np.sqrt((columns**2).mean(axis=0))
    usable = spread > CONSTANT * np.abs(rows).max(axis=0)
    if not usable.any():
        raise InputError("every column of X is constant: there is nothing to reduce")
    columns = np.where(usable, columns, 0.0)
    scale = np.where(usable & standardize, spread, 1.0)
    return columns / scale, scale


def _independent(columns: Matrix) -> NDArray[np.intp]:
    """Choose the columns that are not in the span of those before them."""
    chosen: list[int] = []
    basis = np.zeros((len(columns), 0))
    for k in range(columns.shape[1]):
        column = columns[:, k]
        outside = column - basis @ (basis.T @ column)
        if np.linalg.norm(outside) > DEPENDENT * np.linalg.norm(column):
            chosen.append(k)
            basis = np.linalg.qr(np.column_stack([basis, outside]))[0]
    return np.array(chosen, dtype=np.intp)


def _normalised(columns: Matrix) -> Matrix:
    """Give columns unit length and a positive largest entry."""
    peaks = columns[np.abs(columns).argmax(axis=0), np.arange(columns.shape[1])]
    # Adding zero turns negative zeros into plain ones.
    return (columns / peaks) / np.linalg.norm(columns / peaks, axis=0) + 0.0
