"""Plain sliced inverse regression."""

import warnings
from typing import Any, Self

from fedsdr.estimators.reducer import Reducer
from fedsdr.exceptions import InputError, WeakSignalWarning
from fedsdr.selection import bic_dimension, leading_directions, orthonormal
from fedsdr.summaries import summarize
from fedsdr.summaries.one_site import Kernel


class SIR(Reducer):
    r"""Sliced inverse regression (Li 1991), dense, on one data set.

    Parameters
    ----------
    n_directions : int or "bic", default="bic"
        Dimension of the subspace, or chosen by the criterion eq2.14a.
    slice_size : int, default=20
        Rows in a slice of a continuous response.
    n_slices : int or None, default=None
        Number of slices; overrides `slice_size`.
    kernel : {"slices", "smooth", "pairs"}, default="slices"
        See `fedsdr.summaries.summarize`.

    Attributes
    ----------
    directions_ : ndarray of shape (n_features, n_directions_)
        Orthonormal basis; the largest entry of each column is positive.
    eigenvalues_ : ndarray of shape (n_directions_,)
        Share of each direction's variance that y explains.
    n_directions_ : int
        Dimension.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, if they had any.

    Notes
    -----
    Solves :math:`T V = \Sigma V \Lambda` (eq2.5c). Blind to links that are symmetric
    about the mean. With fewer rows than columns the answer is a perfect fit of noise:
    use `SSIR`.

    Examples
    --------
    >>> import numpy as np
    >>> from fedsdr import SIR
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> SIR(n_directions=1).fit(X, X[:, 0] ** 3).transform(X).shape
    (200, 1)
    """

    def __init__(
        self,
        n_directions: Any = "bic",
        *,
        slice_size: int = 20,
        n_slices: int | None = None,
        kernel: Kernel = "slices",
    ) -> None:
        self.n_directions = n_directions
        self.slice_size = slice_size
        self.n_slices = n_slices
        self.kernel = kernel

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
        SIR
            Itself, fitted.
        """
        rows, responses = self._validate(X, y)
        summary = summarize(
            rows,
            responses,
            slice_size=self.slice_size,
            n_slices=self.n_slices,
            kernel=self.kernel,
        )
        sigma, kernel = summary.sigma, summary.kernel
        n_rows, d = rows.shape
        if n_rows <= d:
            warnings.warn(
                f"{n_rows} rows for {d} columns: SIR fits noise there, use SSIR",
                WeakSignalWarning,
                stacklevel=2,
            )
        k = self.n_directions
        if k == "bic":
            k = bic_dimension(kernel, n_rows, max(d - 1, 1))
        elif isinstance(k, str) or not 1 <= k <= d:
            raise InputError(
                f"n_directions must be 'bic' or an integer from 1 to {d}, got {k!r}"
            )
        directions, eigenvalues = leading_directions(sigma, kernel, int(k))
        if directions.shape[1] == 0:
            raise InputError("every column of X is constant")
        self.directions_ = orthonormal(directions)
        self.eigenvalues_ = eigenvalues[: directions.shape[1]]
        self.n_directions_ = directions.shape[1]
        return self
