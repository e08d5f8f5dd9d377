"""The lasso of several responses on the same rows, penalties by cross-validation."""

from dataclasses import dataclass
from typing import Any, Self
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.exceptions import warn_user

#: Penalties on a path, and the smallest over the largest: the second ratio is for fewer
#: rows than columns. A path ends early where a fit explains this share of its response.
#: These are the values that the R package glmnet documents.
N_PENALTIES = 100
RATIOS = (1e-4, 1e-2)
SATURATED = 0.999

# Duality gap of a fit over the squared length of its response, and passes over the
# columns at most: to predict, and to report coefficients. Near copies among the columns
# delay the digits of coefficients, not those of predictions.
ROUGH = {"tol": 1e-5, "max_iter": 1_000}
EXACT = {"tol": 1e-7, "max_iter": 100_000}
# A path is followed STRIDE penalties at a time. It ends where the lowest error lies
# BEHIND penalties back and was left by CLEARLY standard errors: of 372 simulated paths,
# half of them with more columns than rows, none had its minimum beyond.
STRIDE = 5
BEHIND = 10
CLEARLY = 2.0
# Variance of a column in some rows, over that in all, below which it is constant there.
CONSTANT = 1e-10


def penalty_grids(rows: Matrix, responses: Matrix) -> Matrix:
    r"""Lay out the penalties to try for every response.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Centred columns of any unit; constant ones are zero.
    responses : ndarray of shape (n_rows, n_responses)
        One lasso per column.

    Returns
    -------
    ndarray of shape (n_responses, 100)
        Descending, evenly spaced logarithms. The first is the smallest penalty that
        selects nothing, :math:`\max_j |z_j' y| / n` with standardised columns z and
        centred y.
    """
    n_rows, n_features = rows.shape
    centred = responses - responses.mean(axis=0)
    correlations = (rows.T @ centred) / (n_rows * _spread(rows)[:, None])
    smallest = RATIOS[0] if n_rows >= n_features else RATIOS[1]
    largest = np.abs(correlations).max(axis=0)
    return np.outer(largest, smallest ** np.linspace(0.0, 1.0, N_PENALTIES))


def choose_penalties(
    rows: Matrix, responses: Matrix, grids: Matrix, folds: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Find the penalty of smallest prediction error for every response.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Centred columns of any unit; constant ones are zero.
    responses : ndarray of shape (n_rows, n_responses)
        One lasso per column.
    grids : ndarray of shape (n_responses, n_penalties)
        Penalties to try, descending.
    folds : ndarray of shape (n_repeats, n_rows), int
        Fold of each row, from 0; every line is a way to split the rows.

    Returns
    -------
    ndarray of shape (n_responses,), int
        Index of the chosen penalty in each grid.

    Notes
    -----
    Every fit standardises its own columns, and squared errors are averaged over all
    held-out rows, as in R's cv.glmnet. Small penalties take nearly all of the time and
    are hardly ever chosen, so a path is not followed to its end: it stops where the
    error has risen clearly above its minimum, or where a fit explains its response
    altogether.
    """
    whole = _Design.of(rows / _spread(rows), responses)
    n_folds = int(folds.max()) + 1
    splits = [_Split(whole, line == fold) for line in folds for fold in range(n_folds)]
    sizes = np.array([len(split.held) for split in splits])
    chosen = np.zeros(len(grids), dtype=np.intp)
    errors = np.empty((len(grids), len(splits), 0))
    going = list(range(len(grids)))
    for first in range(0, grids.shape[1], STRIDE):
        part = grids[:, first : first + STRIDE]
        block = np.full((len(grids), len(splits), part.shape[1]), np.inf)
        for s, split in enumerate(splits):
            block[going, s] = split.follow(going, part)
        errors = np.concatenate([errors, block], axis=2)
        for k in going:
            chosen[k] = np.average(errors[k], axis=0, weights=sizes).argmin()
        going = [
            k
            for k in going
            if not _has_turned(errors[k], int(chosen[k]), n_folds)
            and not any(split.is_saturated(k) for split in splits)
        ]
        if not going:
            break
    return chosen


def fit_lasso(
    rows: Matrix, responses: Matrix, grids: Matrix, chosen: NDArray[np.intp]
) -> Matrix:
    r"""Fit every response at its penalty.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Centred columns of any unit; constant ones are zero.
    responses : ndarray of shape (n_rows, n_responses)
        One lasso per column.
    grids : ndarray of shape (n_responses, n_penalties)
        Penalties, descending.
    chosen : ndarray of shape (n_responses,), int
        Index of the penalty in each grid.

    Returns
    -------
    ndarray of shape (n_features, n_responses)
        Coefficients in the units of the columns, of

        .. math:: \min_{a, b} \frac{1}{2n} \|y - a - X b\|^2
                  + \rho \sum_j \mathrm{sd}(x_j) |b_j| .
    """
    spread = _spread(rows)
    whole = _Design.of(rows / spread, responses)
    columns = np.zeros((rows.shape[1], len(chosen)))
    for k, index in enumerate(chosen):
        start = whole.path(k, grids[k, : index + 1], **ROUGH)[0][:, -1]
        path, gaps = whole.path(k, grids[k, [index]], coef_init=start, **EXACT)
        columns[:, k] = path[:, 0]
        if gaps[0] > ROUGH["tol"]:
            from fedsdr.exceptions import ConvergenceWarning

            warn_user(
                f"a lasso stopped at a relative duality gap of {gaps[0]:.1g}: some "
                "columns of X may be near copies of each other; drop one of them",
                ConvergenceWarning,
            )
    return columns / spread[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class _Design:
    """Centred responses on standardised rows, and what a fit needs of them."""

    rows: Matrix
    responses: Matrix
    products: Matrix
    gram: Matrix | None

    @classmethod
    def of(cls, rows: Matrix, responses: Matrix) -> Self:
        """Take standardised rows and responses of any mean."""
        centred = responses - responses.mean(axis=0)
        gram = rows.T @ rows if rows.shape[0] > rows.shape[1] else None
        return cls(np.asfortranarray(rows), centred, rows.T @ centred, gram)

    def path(self, k: int, penalties: Matrix, **options: Any) -> tuple[Matrix, Matrix]:
        """Fit response k along descending penalties: one column each, and the gaps."""
        from sklearn import config_context
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import lasso_path

        known = self.gram is not None
        response = np.ascontiguousarray(self.responses[:, k])
        # Thousands of alike calls: scikit-learn need not look at their types each time,
        # and callers judge convergence by the gaps.
        with config_context(skip_parameter_validation=True), catch_warnings():
            simplefilter("ignore", ConvergenceWarning)
            _, coefficients, gaps = lasso_path(
                self.rows,
                response,
                alphas=penalties,
                precompute=self.gram if known else False,
                Xy=np.ascontiguousarray(self.products[:, k]) if known else None,
                check_input=False,
                **options,
            )
        return coefficients, gaps * len(response) / (response @ response)


class _Split:
    """Rows to predict, and a design of all others, standardised among themselves."""

    def __init__(self, whole: _Design, held: NDArray[np.bool_]) -> None:
        n_kept = int((~held).sum())
        outside = whole.rows[held]
        mean = -outside.sum(axis=0) / n_kept
        responses = whole.responses[~held]
        offset = responses.mean(axis=0)
        if whole.gram is None:
            rows = whole.rows[~held] - mean
            scale = _usable_scale((rows**2).mean(axis=0))
            rows = np.asfortranarray(rows / scale)
            products = rows.T @ responses
            self.design = _Design(rows, responses - offset, products, None)
        else:
            # Sums over the kept rows are sums over all minus those over the others:
            # nothing of the size of the data is copied.
            gram = whole.gram - outside.T @ outside - n_kept * np.outer(mean, mean)
            scale = _usable_scale(np.diag(gram) / n_kept)
            products = whole.products - outside.T @ whole.responses[held]
            products = (products - n_kept * np.outer(mean, offset)) / scale[:, None]
            gram = gram / np.outer(scale, scale)
            # With a Gram matrix scikit-learn looks at no more than the shape of rows.
            rows = whole.rows[:n_kept]
            self.design = _Design(rows, responses - offset, products, gram)
        self.held = (outside - mean) / scale
        self.wanted = whole.responses[held] - offset
        self.starts: dict[int, Matrix] = {}

    def is_saturated(self, k: int) -> bool:
        """Say whether the last fit of response k leaves nothing to be explained."""
        design, last = self.design, self.starts[k]
        if design.gram is None:
            fitted = ((design.rows @ last) ** 2).sum()
        else:
            fitted = last @ design.gram @ last
        explained = 2.0 * last @ design.products[:, k] - fitted
        return bool(explained >= SATURATED * (design.responses[:, k] ** 2).sum())

    def follow(self, going: list[int], penalties: Matrix) -> Matrix:
        """Follow the paths of some responses, and return their mean squared errors."""
        errors = np.empty((len(going), penalties.shape[1]))
        for place, k in enumerate(going):
            start = self.starts.get(k)
            path, _ = self.design.path(k, penalties[k], coef_init=start, **ROUGH)
            self.starts[k] = path[:, -1].copy()
            missed = self.wanted[:, [k]] - self.held @ path
            errors[place] = (missed**2).mean(axis=0)
        return errors


def _spread(rows: Matrix) -> Matrix:
    spread = np.sqrt((rows**2).mean(axis=0))
    return np.where(spread > 0.0, spread, 1.0)


def _usable_scale(variances: Matrix) -> Matrix:
    # A column that is constant in the kept rows must not be blown up to unit variance;
    # divided by infinity it selects nothing and predicts nothing.
    usable = variances > CONSTANT
    return np.where(usable, np.sqrt(np.where(usable, variances, 1.0)), np.inf)


def _has_turned(errors: Matrix, best: int, n_folds: int) -> bool:
    """Say whether the last errors (splits x penalties) lie clearly above the lowest."""
    if errors.shape[1] - 1 - best < BEHIND:
        return False
    rise = errors[:, -1] - errors[:, best]
    # Repeats split the same rows again and do not make the mean more certain.
    return bool(rise.mean() > CLEARLY * rise.std(ddof=1) / np.sqrt(n_folds))
