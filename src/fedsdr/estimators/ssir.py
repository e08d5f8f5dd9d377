"""Sparse sliced inverse regression on one data set."""

from typing import Any

from fedsdr.estimators.fed_ssir import FedSSIR
from fedsdr.estimators.former_names import accept_former_names


class SSIR(FedSSIR):
    r"""Sparse sliced inverse regression on one data set (Tan et al. 2018).

    The convex estimator eq2.10 on pooled rows, solved to a certified gap, by default
    with the paper's slices and without a refit.

    Parameters
    ----------
    n_directions : int, str, Auto, Bic or Votes, default="bic"
        Dimension K, or the rule that chooses it, as in `FedSSIR`.
    penalty : float, str, Universal, Moments or HoldOut, default="moments"
        Penalty rho, or the rule that chooses it, as in `FedSSIR`.
    kernel : str, Smooth, Slices or Pairs, default="slices"
        Estimate of the covariance of E[x | y], as in `FedSSIR`.
    refit : bool, "pooled" or float, default=False
        Whether to estimate the directions again, as in `FedSSIR`.
    standardize : bool, default=True
        Whether to put columns on a common scale first.
    tol : float, default=1e-6
        Relative duality gap.
    scores : {"none", "normal"}, default="none"
        Whether columns are replaced by normal scores first, as in `FedSSIR`.
    response : {"auto", "ordered", "classes"}, default="auto"
        What y is taken for, as in `FedSSIR`.
    random_state : int, RandomState instance, Generator or None, default=None
        Source of randomness that splits rows for "moments" and "holdout".
    verbose : int, default=0
        With 1 or more, what is being done is written to stderr.

    Attributes
    ----------
    directions_ : ndarray of shape (n_features, n_directions_)
        Orthonormal basis, in the units of the data.
    support_ : ndarray of bool, shape (n_features,)
        Selected variables.

    Notes
    -----
    If the means of pooled sites differ, the shift of x between sites appears as a
    direction: pass ``sites``, so that each site is centred on its own mean. Folds need
    at least two rows each.

    Examples
    --------
    >>> import numpy as np
    >>> from fedsdr import SSIR
    >>> X = np.random.default_rng(0).normal(size=(300, 10))
    >>> SSIR(1, penalty=0.1).fit(X, X[:, 0] + X[:, 1]).support_.nonzero()[0]
    array([0, 1])
    """

    @accept_former_names
    def __init__(
        self,
        n_directions: Any = "bic",
        *,
        penalty: Any = "moments",
        kernel: Any = "slices",
        refit: Any = False,
        standardize: bool = True,
        tol: float = 1e-6,
        scores: str = "none",
        response: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_directions,
            penalty=penalty,
            kernel=kernel,
            refit=refit,
            standardize=standardize,
            tol=tol,
            scores=scores,
            response=response,
            random_state=random_state,
            verbose=verbose,
        )
