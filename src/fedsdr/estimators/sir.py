"""Plain sliced inverse regression."""

from numbers import Integral
from typing import Any, Self

import numpy as np

from fedsdr.choices import Bic
from fedsdr.estimation import leading_directions, orthonormal
from fedsdr.estimators.former_names import accept_former_names
from fedsdr.estimators.reducer import Reducer, aloud
from fedsdr.exceptions import InputError, WeakSignalWarning, warn_user
from fedsdr.method import read_parameter
from fedsdr.questions import MomentsOf, RowSettings, ask_sites
from fedsdr.rows.row_marks import RowMarks
from fedsdr.run import agree_on_powers
from fedsdr.summaries import bic_dimension
from fedsdr.telling import tell
from fedsdr.terms import Terms


class SIR(Reducer):
    r"""Sliced inverse regression (Li 1991), dense.

    Parameters
    ----------
    n_directions : int, "bic" or Bic, default="bic"
        Dimension of the subspace; "bic" chooses it by the criterion eq2.14a.
    kernel : str, Slices, Smooth or Pairs, default="slices"
        Estimate of the covariance of E[x | y], see `fedsdr.summaries.summarize`;
        ``Slices(number=10)`` sets the number of slices.
    response : {"auto", "ordered", "classes"}, default="auto"
        What y is taken for, as in `FedSSIR`.
    verbose : int, default=0
        With 1 or more, what is being done is written to stderr.

    Attributes
    ----------
    directions_ : ndarray of shape (n_features, n_directions_)
        Orthonormal basis; the entry of largest absolute value in each column is
        positive.
    eigenvalues_ : ndarray of shape (n_directions_,)
        Share of each direction's variance that y explains.
    n_directions_ : int
        Dimension.
    n_features_in_ : int
        Number of columns in fit.
    feature_names_in_ : ndarray of str
        Names of the columns in fit, if X had names.

    Notes
    -----
    Solves :math:`T V = \Sigma V \Lambda` (eq2.5c). SIR cannot find links that are
    symmetric about the mean. With fewer rows than columns it fits the noise perfectly:
    use `SSIR`.

    Examples
    --------
    >>> import numpy as np
    >>> from fedsdr import SIR
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> SIR(n_directions=1).fit(X, X[:, 0] ** 3).transform(X).shape
    (200, 1)
    """

    @accept_former_names
    def __init__(
        self,
        n_directions: Any = "bic",
        *,
        kernel: Any = "slices",
        response: str = "auto",
        verbose: int = 0,
    ) -> None:
        self.n_directions = n_directions
        self.kernel = kernel
        self.response = response
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sites: Any = None) -> Self:
        """Estimate the directions.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows of all sites.
        y : array-like of shape (n_rows,)
            Response: numbers, or classes.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site; each site is centred on its own mean. One site if
            not given.

        Returns
        -------
        SIR
            The fitted estimator.
        """
        with aloud(self):
            kernel = read_parameter("kernel", self.kernel)
            response = read_parameter("response", self.response)
            generator = np.random.default_rng(0)
            sites_sum = self._own_sites(X, y, RowMarks(sites), generator, response)
            d, variables = self.n_features_in_, sites_sum.variables
            terms = Terms(
                d, kernel, discrete=variables.discrete, strict=variables.strict
            )
            powers = None
            if sites_sum.is_wide:
                powers = ask_sites(sites_sum, agree_on_powers(variables, terms))
            tell("adding over the sites")
            total = sites_sum(MomentsOf(terms, RowSettings(powers))).parts["total"]
            scale = np.sqrt(np.diag(total.sigma))
            usable = scale > 0.0
            if not usable.any():
                raise InputError("every column of X is constant")
            total = total.subset(usable).scaled(scale[usable])
            n_rows = total.n_rows
            if n_rows <= d:
                warn_user(
                    f"{n_rows} rows for {d} columns: SIR fits noise there, use SSIR",
                    WeakSignalWarning,
                )
            k = self.n_directions
            if k == "bic" or isinstance(k, Bic):
                limit = k.max_directions if isinstance(k, Bic) else max(d - 1, 1)
                k = bic_dimension(total.kernel, n_rows, limit)
            elif not isinstance(k, Integral) or not 1 <= int(k) <= d:
                raise InputError(
                    f"n_directions must be 'bic' or an integer from 1 to {d}, got {k!r}"
                )
            fitted, eigenvalues = leading_directions(total.sigma, total.kernel, int(k))
            units = scale if powers is None else np.ldexp(scale, powers)
            directions = np.zeros((d, fitted.shape[1]))
            directions[usable] = fitted / units[usable, None]
            self.directions_ = orthonormal(directions)
            self.eigenvalues_ = eigenvalues[: directions.shape[1]]
            self.n_directions_ = directions.shape[1]
            return self
