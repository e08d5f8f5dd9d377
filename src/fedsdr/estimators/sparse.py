"""Sparse sliced inverse regression, on one data set and over sites."""

from typing import Any, Self

import numpy as np
import pandas as pd

from fedsdr.estimators.evidence import Slicing, gather_evidence
from fedsdr.estimators.parameters import check_choices, random_generator
from fedsdr.estimators.reducer import Reducer
from fedsdr.result import make_result
from fedsdr.selection import estimate
from fedsdr.solver.threads import single_threaded_blas


class FedSSIR(Reducer):
    r"""Federated sparse sliced inverse regression.

    Finds the few variables, in few linear combinations, that y depends on at all
    sites, when neither the distribution of x nor the link need be the same at each.

    Parameters
    ----------
    n_directions : int or {"auto", "bic", "votes"}, default="auto"
        Dimension K. "auto" adds directions while each is more than noise on the
        variables selected; "bic" is the criterion eq2.14a on the pooled kernel; "votes"
        is the paper's way, the most frequent choice of the sites' own BIC.
    penalty : float or {"universal", "moments", "holdout"}, default="universal"
        rho, for columns on the common scale. "universal" is
        :math:`\frac12\sqrt{\log d / N}`, raised where the directions found are noisier
        than that allows for, and followed by a test for missed variables. "moments"
        cross-validates on held-out moments, "holdout" is the paper's way: kernel
        regression eq2.14 on rows held out.
    kernel : {"smooth", "slices", "pairs"}, default="smooth"
        How the movement of x with y is measured; see `fedsdr.summaries.summarize`.
        "slices" is the paper's.
    slice_size : int, default=20
        Rows in a slice, for ``kernel="slices"``.
    refit : bool or float, default=True
        True reports plain SIR on the selected variables, False the top eigenvectors of
        the penalised solution (the paper's way). A number in (0, 1) solves again on the
        selected variables with the penalty times that number.
    standardize : bool, default=True
        The l1 penalty depends on units: put columns on a common scale first, by the
        pooled within-site variance. Directions are reported in the data's own units.
    max_directions : int, default=5
        Largest dimension considered when it is chosen.
    n_folds : int, default=5
        For ``penalty="moments"``.
    validation_fraction : float, default=0.3
        For ``penalty="holdout"``.
    n_penalties : int, default=20
        Size of the grid for "moments" and "holdout".
    min_ratio : float, default=0.15
        Smallest penalty of that grid over the one that selects nothing.
    tol : float, default=1e-6
        Relative duality gap of the convex problem.
    random_state : int, RandomState instance, Generator or None, default=None
        Splits rows for "moments" and "holdout" and decides ties between "votes"; the
        defaults use no randomness.

    Attributes
    ----------
    directions_ : ndarray of shape (n_features, n_directions_)
        Orthonormal basis of the central subspace, in the data's own units; the largest
        entry of each column is positive.
    support_ : ndarray of bool, shape (n_features,)
        Selected variables.
    n_directions_ : int
        Dimension.
    penalty_ : float
        rho used, for columns on the common scale.
    eigenvalues_ : ndarray of shape (n_directions_,)
        Share of each direction's variance that y explains.
    gap_ : float
        Certified relative duality gap.
    validation_ : pandas.DataFrame
        The table behind the choices.
    result_ : fedsdr.result.Result
        All of it, frozen, with provenance; `to_json` writes it.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, if they had any.

    Notes
    -----
    Each site centres its rows and contributes sums only (sigma and kernel); the convex
    problem eq2.10 is then solved once. When it fails: SIR is blind to links that are
    symmetric about the mean of the reduced variables, and needs the conditional mean of
    x to be near linear in them. Of duplicated columns either or both may be selected,
    constant columns never are.

    Examples
    --------
    >>> from fedsdr import FedSSIR
    >>> from fedsdr.simulate import make_setting
    >>> data = make_setting(1, n_features=30, random_state=0)
    >>> model = FedSSIR().fit(data.X, data.y, sites=data.sites)
    >>> model.n_directions_, model.support_.nonzero()[0]
    (1, array([0, 1, 2]))
    """

    def __init__(
        self,
        n_directions: Any = "auto",
        *,
        penalty: Any = "universal",
        kernel: Any = "smooth",
        slice_size: int = 20,
        refit: Any = True,
        standardize: bool = True,
        max_directions: int = 5,
        n_folds: int = 5,
        validation_fraction: float = 0.3,
        n_penalties: int = 20,
        min_ratio: float = 0.15,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_directions = n_directions
        self.penalty = penalty
        self.kernel = kernel
        self.slice_size = slice_size
        self.refit = refit
        self.standardize = standardize
        self.max_directions = max_directions
        self.n_folds = n_folds
        self.validation_fraction = validation_fraction
        self.n_penalties = n_penalties
        self.min_ratio = min_ratio
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sites: Any = None) -> Self:
        """Find the central subspace shared by all sites.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows of all sites.
        y : array-like of shape (n_rows,)
            Numbers, or classes.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site; one site if not given.

        Returns
        -------
        FedSSIR
            Itself, fitted.
        """
        return self._fit(X, y, sites)

    def _fit(self, X: Any, y: Any, sites: Any) -> Self:
        choices = check_choices(self)
        rows, responses = self._validate(X, y)
        generator = random_generator(self.random_state)
        with single_threaded_blas():
            evidence = gather_evidence(
                rows,
                responses,
                sites,
                Slicing(self.kernel, self.slice_size),
                choices,
                n_folds=self.n_folds,
                validation_fraction=self.validation_fraction,
                generator=generator,
            )
            found = estimate(evidence, choices, generator)
        total = evidence.total
        self.result_ = make_result(
            found,
            self._feature_names(),
            n_rows=total.n_rows,
            n_sites=total.n_sites,
            settings={"estimator": type(self).__name__, **self.get_params()},
        )
        self.directions_ = np.array(found.directions)
        self.support_ = np.array(found.support)
        self.eigenvalues_ = np.array(found.eigenvalues)
        self.n_directions_ = self.directions_.shape[1]
        self.penalty_ = found.solution.penalty
        self.gap_ = found.solution.gap
        self.validation_ = pd.DataFrame(list(found.validation))
        return self


class SSIR(FedSSIR):
    r"""Sparse sliced inverse regression on one data set (Tan et al. 2018).

    The convex estimator eq2.10 on pooled rows, solved to a certified gap, with the
    paper's slices and without a refit unless asked for.

    Parameters
    ----------
    n_directions : int or {"auto", "bic"}, default="bic"
        Dimension K, or how to choose it.
    penalty : float or {"moments", "holdout", "universal"}, default="moments"
        rho, or how to choose it.
    kernel : {"slices", "smooth", "pairs"}, default="slices"
        How the movement of x with y is measured.
    slice_size : int, default=20
        Rows in a slice.
    refit : bool or float, default=False
        As in `FedSSIR`.
    standardize : bool, default=True
        Put columns on a common scale first.
    max_directions : int, default=5
        Largest dimension considered when it is chosen.
    n_folds : int, default=5
        For ``penalty="moments"``.
    validation_fraction : float, default=0.3
        For ``penalty="holdout"``.
    n_penalties : int, default=20
        Size of the grid for "moments" and "holdout".
    min_ratio : float, default=0.15
        Smallest penalty of that grid over the one that selects nothing.
    tol : float, default=1e-6
        Relative duality gap.
    random_state : int, RandomState instance, Generator or None, default=None
        Splits rows for "moments" and "holdout".

    Attributes
    ----------
    directions_ : ndarray of shape (n_features, n_directions_)
        Orthonormal basis, in the data's own units.
    support_ : ndarray of bool, shape (n_features,)
        Selected variables.

    Notes
    -----
    Rows of different sites must not be pooled when their means differ: a shift of x
    between sites looks like a direction. Use `FedSSIR` with ``sites``. For n_folds to
    make sense there must be at least two rows a fold.

    Examples
    --------
    >>> import numpy as np
    >>> from fedsdr import SSIR
    >>> X = np.random.default_rng(0).normal(size=(300, 10))
    >>> SSIR(1, penalty=0.1).fit(X, X[:, 0] + X[:, 1]).support_.nonzero()[0]
    array([0, 1])
    """

    def __init__(
        self,
        n_directions: Any = "bic",
        *,
        penalty: Any = "moments",
        kernel: Any = "slices",
        slice_size: int = 20,
        refit: Any = False,
        standardize: bool = True,
        max_directions: int = 5,
        n_folds: int = 5,
        validation_fraction: float = 0.3,
        n_penalties: int = 20,
        min_ratio: float = 0.15,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_directions,
            penalty=penalty,
            kernel=kernel,
            slice_size=slice_size,
            refit=refit,
            standardize=standardize,
            max_directions=max_directions,
            n_folds=n_folds,
            validation_fraction=validation_fraction,
            n_penalties=n_penalties,
            min_ratio=min_ratio,
            tol=tol,
            random_state=random_state,
        )

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Find the central subspace of one data set.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Numbers, or classes.

        Returns
        -------
        SSIR
            Itself, fitted.
        """
        return self._fit(X, y, None)
