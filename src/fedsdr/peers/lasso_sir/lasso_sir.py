"""Sliced inverse regression by the lasso."""

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.estimation import orthonormal
from fedsdr.estimators.parameters import check_value
from fedsdr.estimators.reducer import Reducer, random_generator
from fedsdr.exceptions import InputError, SiteError, WeakSignalWarning
from fedsdr.peers.lasso_sir.lasso_paths import cross_validate, fit_lasso, penalty_grids
from fedsdr.peers.lasso_sir.pseudo_responses import (
    count_strong,
    deal_folds,
    most_varying,
    pseudo_responses,
)
from fedsdr.solver import single_threaded_blas
from fedsdr.summaries import Slices, is_discrete, slice_labels
from fedsdr.summaries.summary import centre

# Below these a column is constant (its spread over its largest entry), and a unit
# vector lies in the span of others (its length outside of it).
CONSTANT = 1e-13
DEPENDENT = 1e-8


class LassoSIR(Reducer):
    r"""Sparse sliced inverse regression by the lasso (Lin, Zhao and Liu 2019).

    One data set; every direction is a lasso of a pseudo-response made from slice means.

    Parameters
    ----------
    n_directions : int or "auto", default="auto"
        Dimension of the subspace. "auto" splits the strengths of all candidate
        directions into two clusters and counts the upper one; for classes it is their
        number minus one.
    n_slices : int, default=20
        Slices of a continuous response. Classes are slices of their own.
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
    penalties_ : ndarray of shape (n_directions_,)
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

    When it fails: rows are centred on their common mean, so a shift of x between sites
    that are pooled bends the slice means. On five sites with far shifts (setting 1,
    ``alpha=10``) its subspace was 0.45 from the truth, that of `FedSSIR` with ``sites``
    0.06. Links that are symmetric about the mean are invisible, as for all of SIR.
    Among strongly correlated columns the lasso picks at will. The pseudo-responses are
    made from the rows that they are then regressed on, so noise variables are selected
    with small coefficients, most of all with few rows in a slice, and a y that has
    nothing to do with x gives directions too.

    Examples
    --------
    >>> import numpy as np
    >>> from fedsdr import LassoSIR
    >>> X = np.random.default_rng(0).normal(size=(300, 10))
    >>> model = LassoSIR(random_state=0).fit(X, X[:, 0] + X[:, 1])
    >>> model.n_directions_, model.coefficients_[:2, 0].round(1)
    (1, array([0.7, 0.7]))
    """

    def __init__(
        self,
        n_directions: Any = "auto",
        *,
        n_slices: int = 20,
        standardize: bool = True,
        screening: bool = False,
        n_folds: int = 10,
        n_repeats: int = 3,
        max_directions: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_directions = n_directions
        self.n_slices = n_slices
        self.standardize = standardize
        self.screening = screening
        self.n_folds = n_folds
        self.n_repeats = n_repeats
        self.max_directions = max_directions
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Numbers, or classes.

        Returns
        -------
        LassoSIR
            Itself, fitted.
        """
        self._check_parameters()
        rows, y = self._validate(X, y)
        discrete = is_discrete(y)
        labels = _slices(y, self.n_slices, discrete=discrete)
        generator = random_generator(self.random_state)
        n_folds = min(self.n_folds, len(y))
        folds = deal_folds(y, n_folds, self.n_repeats, generator)
        with single_threaded_blas():
            columns, scale = _centre_and_scale(rows, standardize=self.standardize)
            index = np.arange(rows.shape[1])
            if self.screening:
                index = most_varying(columns, labels, len(y))
            fitted, eigenvalues, penalties = self._regress(
                columns[:, index], labels, folds, discrete=discrete
            )
        new = _independent(fitted)
        if len(new) < fitted.shape[1]:
            warnings.warn(
                f"{len(new)} direction(s) instead of {fitted.shape[1]}: in the others "
                "the lasso selects nothing, or nothing that is not there already",
                WeakSignalWarning,
                stacklevel=2,
            )
        coefficients = np.zeros((rows.shape[1], len(new)))
        coefficients[index] = fitted[:, new] / scale[index, None]
        self.coefficients_ = _normalised(coefficients)
        self.directions_ = orthonormal(self.coefficients_)
        self.support_ = self.coefficients_.any(axis=1)
        self.n_directions_ = len(new)
        self.eigenvalues_ = eigenvalues[new]
        self.penalties_ = penalties[new]
        return self

    def _regress(
        self,
        columns: Matrix,
        labels: NDArray[np.intp],
        folds: NDArray[np.intp],
        *,
        discrete: bool,
    ) -> tuple[Matrix, Matrix, Matrix]:
        """Find lasso directions, their eigenvalues and their penalties."""
        eigenvalues, responses = pseudo_responses(columns, labels)
        k = self._n_candidates(responses.shape[1], discrete=discrete)
        responses = responses[:, :k]
        grids = penalty_grids(columns, responses)
        chosen = cross_validate(columns, responses, grids, folds)
        fitted = fit_lasso(columns, responses, grids, chosen)
        strengths = np.linalg.norm(fitted, axis=0) * eigenvalues[:k]
        self.strengths_ = strengths / (strengths.max() or 1.0)
        if self.n_directions == "auto" and not discrete:
            # Directions along which slice means do not vary at all count as weak.
            missing = np.zeros(len(eigenvalues) - k)
            strong = count_strong(np.append(self.strengths_, missing))
            k = min(strong, self.max_directions or k)
        if not fitted[:, :k].any():
            warnings.warn(
                "the lasso selects no variable at all: the one that would enter first "
                "is reported, which may be noise",
                WeakSignalWarning,
                stacklevel=3,
            )
            k, chosen[0] = 1, 1
            fitted = fit_lasso(columns, responses[:, :1], grids, chosen[:1])
        penalties = grids[np.arange(k), chosen[:k]]
        return fitted[:, :k], eigenvalues[:k], penalties

    def _n_candidates(self, rank: int, *, discrete: bool) -> int:
        """Say for how many directions a lasso is needed."""
        if self.n_directions == "auto":
            limit = self.max_directions if discrete else None
            return min(rank, limit or rank)
        if self.n_directions > rank:
            raise InputError(
                f"n_directions={self.n_directions} is not possible: it must be from 1 "
                f"to {rank}, the rank of the slice means (at most the number of "
                "columns, and less than the number of slices or classes)"
            )
        return int(self.n_directions)

    def _check_parameters(self) -> None:
        check_value(self.n_directions, "n_directions", ("auto",), Integral, low=1)
        check_value(self.n_slices, "n_slices", (), Integral, low=2)
        check_value(self.n_folds, "n_folds", (), Integral, low=2)
        check_value(self.n_repeats, "n_repeats", (), Integral, low=1)
        if self.max_directions is not None:
            check_value(self.max_directions, "max_directions", (), Integral, low=1)


def _slices(y: NDArray[Any], n_slices: int, *, discrete: bool) -> NDArray[np.intp]:
    labels = slice_labels(y, Slices(number=n_slices))
    sizes = np.bincount(labels)
    remedy = "give it rows with more varied responses"
    if len(sizes) == 1:
        problem = "has one class only" if discrete else "has a constant y"
        raise SiteError(None, problem, remedy)
    if sizes.max() == 1:
        raise SiteError(None, f"has {len(sizes)} classes in as many rows", remedy)
    return labels


def _centre_and_scale(rows: Matrix, *, standardize: bool) -> tuple[Matrix, Matrix]:
    """Centre columns, set constant ones to zero, and say what to divide them by."""
    columns, _ = centre(rows)
    spread = np.sqrt((columns**2).mean(axis=0))
    usable = spread > CONSTANT * np.abs(rows).max(axis=0)
    if not usable.any():
        raise InputError("every column of X is constant: there is nothing to reduce")
    columns[:, ~usable] = 0.0
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
