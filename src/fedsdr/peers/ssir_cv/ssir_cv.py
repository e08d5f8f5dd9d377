"""Sparse sliced inverse regression with K and the penalty by cross validation."""

from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import pandas as pd

from fedsdr.estimation import orthonormal
from fedsdr.estimators.checks import check_flag, check_number
from fedsdr.estimators.former_names import accept_former_names, renamed_attribute
from fedsdr.estimators.reducer import Reducer, aloud, random_generator
from fedsdr.exceptions import (
    ConvergenceWarning,
    InputError,
    WeakSignalWarning,
    warn_user,
)
from fedsdr.peers.slice_kernels import read_slices
from fedsdr.peers.ssir_cv.cross_validation import CrossValidation, cross_validate
from fedsdr.peers.ssir_cv.penalised_fits import (
    Fit,
    Solver,
    leading_eigenvectors,
    solve_as_shipped,
    solve_certified,
)
from fedsdr.peers.ssir_cv.pooled_rows import pool
from fedsdr.solver import single_threaded_blas
from fedsdr.summaries import Summary
from fedsdr.telling import tell

#: Default penalties, as multiples of sqrt(log d / n).
MULTIPLES = (0.2, 0.7, 1.2, 1.7, 2.2, 2.7)


class SSIRCV(Reducer):
    r"""Convex sparse SIR with the cross validation of Tan et al. (2018).

    The problem eq2.10 on pooled rows, for K from 1 to `max_directions` and a few
    penalties; what predicts held-out responses best is fitted on all rows. Solved to a
    certified gap, or for comparison the way the authors' code does it.

    Parameters
    ----------
    max_directions : int, default=3
        Largest K considered.
    penalties : sequence of float or None, default=None
        Multiples of :math:`\sqrt{\log d / n}`; 0.2, 0.7, ..., 2.7 if not given.
    kernel : str or Slices, default="slices(number=5)"
        Slices of an ordered response over all rows, by their number or their size,
        ``Slices(size=20)``. Classes are slices of their own.
    response : {"auto", "ordered", "classes"}, default="auto"
        What y is taken for, as in `FedSSIR`.
    n_folds : int, default=5
        Parts that are held out in turn.
    as_shipped : bool, default=False
        Run the linearised ADMM of the authors' code with its stopping rule, and round
        :math:`\Pi` to two decimals, instead of solving the problem. See Notes.
    tol : float or None, default=None
        Of the final fit. Relative duality gap, 1e-6 if not given; as shipped the change
        in :math:`\Pi`, 1e-4 if not given.
    cv_tol : float or None, default=None
        Of the fits in cross validation: a gap of 1e-3, as shipped a change of 5e-4.
    max_iter : int or None, default=None
        Iterations of one fit at most: 5,000, as shipped 1,000.
    random_state : int, RandomState instance, Generator or None, default=None
        Deals rows to folds.
    verbose : int, default=0
        With 1 or more, what is being done is written to stderr.

    Attributes
    ----------
    directions_ : ndarray of shape (n_features, n_directions_)
        Orthonormal basis; the largest entry of each column is positive.
    support_ : ndarray of bool, shape (n_features,)
        Selected variables.
    n_directions_ : int
        Dimension found; the K chosen, unless fewer directions could be separated.
    penalty_ : float
        rho chosen.
    validation_ : pandas.DataFrame
        One row per candidate: ``n_directions``, ``penalty``, ``error`` (mean squared),
        ``se`` over folds, ``converged`` on all folds, largest ``gap`` and ``n_iter``
        of a fold, ``chosen``.
    gap_ : float
        Certified relative duality gap of the final fit.
    converged_ : bool
        Whether every fit converged.
    n_unconverged_ : int
        How many did not.
    n_fits_ : int
        How many there were.
    n_iter_ : int
        Iterations of all fits.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, if they had any.

    Notes
    -----
    Held-out responses are predicted by the kernel regression eq2.14 with unit bandwidth
    on the reduced variables, or by their mean where the largest eigenvalue of
    :math:`\Pi` is below 0.01; classes through their indicators. The smallest error
    decides on K (the smaller of equals), then on the largest penalty that has it.

    As shipped, penalties are run from the smallest up, each from where the last one
    ended, for at most 1,000 iterations. A step has the size
    :math:`1 / (4 \lambda_{\max}^2(\Sigma))`: where sites whose means differ are pooled,
    :math:`\lambda_{\max}` grows, the steps become too small, and the numbers that come
    out have little to do with eq2.10. The authors' code does not say so; here a
    `ConvergenceWarning` does. As shipped, a fit counts as converged when its rule was
    met and its certified gap is at most 0.1. Departures: rows that do not divide evenly
    are dealt to folds instead of dropped, slices may differ by a row, and directions
    with a zero eigenvalue are left out, being arbitrary.

    When it fails: pooled rows of sites with different means look as if the shift were
    a direction, also when solved exactly: pass `sites`. The fixed bandwidth smooths too
    much, for which more dimensions make up: with every fit solved, on centred sites of
    the paper's setting 1 (K = 1, d = 20, N = 1000), K = 1 was chosen in 13 of 50 draws.
    Where K matters use `FedSSIR`. Columns are not put on a common scale, and penalty,
    bandwidth and the threshold 0.01 all depend on units. SIR is blind to links that are
    symmetric about the mean.

    References
    ----------
    K. M. Tan, Z. Wang, T. Zhang, H. Liu and R. D. Cook (2018), A convex formulation for
    high-dimensional sparse sliced inverse regression, Biometrika 105, 769-782.

    Examples
    --------
    >>> from fedsdr import SSIRCV
    >>> from fedsdr.simulate import make_setting
    >>> data = make_setting(1, n_features=10, random_state=0)
    >>> model = SSIRCV(random_state=0).fit(data.X, data.y, sites=data.sites)
    >>> model.support_.nonzero()[0], model.converged_
    (array([0, 1, 2]), True)
    """

    cv_results_ = renamed_attribute("cv_results_", "validation_")

    @accept_former_names
    def __init__(
        self,
        max_directions: int = 3,
        *,
        penalties: Any = None,
        kernel: Any = "slices(number=5)",
        response: str = "auto",
        n_folds: int = 5,
        as_shipped: bool = False,
        tol: float | None = None,
        cv_tol: float | None = None,
        max_iter: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_directions = max_directions
        self.penalties = penalties
        self.kernel = kernel
        self.response = response
        self.n_folds = n_folds
        self.as_shipped = as_shipped
        self.tol = tol
        self.cv_tol = cv_tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sites: Any = None) -> Self:
        """Choose K and the penalty, and find the directions.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Numbers, or classes.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site. Rows are then centred on the mean of their site
            before they are pooled; y is left as it is.

        Returns
        -------
        SSIRCV
            Itself, fitted.
        """
        with aloud(self):
            multiples = _check_parameters(self)
            slices = read_slices(self.kernel)
            pooled = pool(*self._validate(X, y), sites, slices, self.response)
            total = pooled.summary()
            if not total.scatter.any():
                raise InputError("every column of X is constant: nothing to reduce")
            n_rows, d = pooled.X.shape
            # One column has log d = 0, which would be no penalty at all.
            unit = float(np.sqrt(np.log(max(d, 2)) / n_rows))
            penalties = [c * unit for c in multiples]
            dimensions = range(1, self._largest_k(total) + 1)
            cross, final = self._solvers()
            folds = pooled.folds(self.n_folds, random_generator(self.random_state))
            with single_threaded_blas():
                table = cross_validate(folds, cross, dimensions, penalties)
                k, rho = table.choice
                tell("fitting with the chosen dimension and penalty")
                fit = final(total, k, [rho])[0]
            self.penalty_ = rho
            self.validation_ = pd.DataFrame(table.rows())
            self._note_convergence(table, fit)
            self._report(fit, k)
            return self

    def _largest_k(self, total: Summary) -> int:
        # Slice means span one dimension less than there are slices.
        useful = total.n_features if self.as_shipped else max(int(total.freedom), 1)
        return min(int(self.max_directions), total.n_features, useful)

    def _solvers(self) -> tuple[Solver, Solver]:
        """Bind the limits: for cross validation and for the final fit."""
        shipped = bool(self.as_shipped)
        tol, cv_tol, max_iter = (1e-4, 5e-4, 1000) if shipped else (1e-6, 1e-3, 5000)
        tol = tol if self.tol is None else float(self.tol)
        cv_tol = cv_tol if self.cv_tol is None else float(self.cv_tol)
        max_iter = max_iter if self.max_iter is None else int(self.max_iter)
        solver = solve_as_shipped if shipped else solve_certified
        return (
            partial(solver, tol=cv_tol, max_iter=max_iter),
            partial(solver, tol=tol, max_iter=max_iter),
        )

    def _note_convergence(self, table: CrossValidation, fit: Fit) -> None:
        self.gap_ = fit.gap
        self.n_iter_ = int(table.n_iter.sum()) + fit.n_iter
        self.n_fits_ = table.converged.size + 1
        self.n_unconverged_ = int((~table.converged).sum()) + (not fit.converged)
        self.converged_ = self.n_unconverged_ == 0
        if self.converged_:
            return
        remedy = (
            "these numbers are not a solution of the problem; use as_shipped=False, "
            "and pass sites if their means differ"
            if self.as_shipped
            else "put columns on a common scale, leave the smallest penalties out, or "
            "raise max_iter"
        )
        largest = max(float(table.gaps.max()), fit.gap)
        warn_user(
            f"{self.n_unconverged_} of {self.n_fits_} fits did not converge (largest "
            f"relative gap {largest:.1e}): {remedy}",
            ConvergenceWarning,
        )

    def _report(self, fit: Fit, k: int) -> None:
        pi = np.round(fit.pi, 2) if self.as_shipped else fit.pi
        directions = leading_eigenvectors(pi, k)[1]
        found = directions.shape[1]
        if found < k:
            warn_user(
                f"{found} direction(s) instead of the {k} chosen: the fit on all rows "
                "has no more, so that this choice of K is in doubt",
                WeakSignalWarning,
            )
        self.directions_ = orthonormal(directions) if found else directions
        if self.as_shipped:
            self.support_ = (self.directions_**2).sum(axis=1) > 1e-5
        else:
            self.support_ = pi.any(axis=1)
        self.n_directions_ = found


def _check_parameters(model: SSIRCV) -> Sequence[float]:
    """Complain about parameters out of range; return the penalties, ascending."""
    for name, low in (("max_directions", 1), ("n_folds", 2)):
        check_number(name, getattr(model, name), Integral, low=low)
    check_number("max_iter", model.max_iter, Integral, low=1, optional=True)
    for name in ("tol", "cv_tol"):
        check_number(name, getattr(model, name), Real, above=True, optional=True)
    check_flag("as_shipped", model.as_shipped)
    multiples = MULTIPLES if model.penalties is None else np.ravel(model.penalties)
    if len(multiples) == 0:
        raise InputError("penalties is empty: give at least one multiple, or None")
    for multiple in multiples:
        check_number("every one of penalties", multiple, Real, above=True)
    return sorted({float(multiple) for multiple in multiples})
