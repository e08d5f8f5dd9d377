"""Sparse sliced inverse regression on one data set."""

from typing import Any, Self

from fedsdr.estimators.fed_ssir import FedSSIR


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
