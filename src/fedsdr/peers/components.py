"""What principal components have in common, however they were found."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from fedsdr.arrays import Matrix
from fedsdr.estimators.checks import check_columns
from fedsdr.estimators.reducer import Reducer
from fedsdr.exceptions import InputError, WeakSignalWarning, warn_user
from fedsdr.summaries.inputs import refuse_masked


class Components(Reducer):
    """Coordinates along orthonormal directions, measured from a mean."""

    components_: Matrix
    mean_: Matrix
    n_components_: int

    def transform(self, X: Any) -> Matrix:
        """Reduce rows to the directions found.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows, with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_components_)
            Coordinates, measured from `mean_`.
        """
        check_is_fitted(self)
        return (self._rows(X, reset=False) - self.mean_) @ self.directions_

    def inverse_transform(self, X: Any) -> Matrix:
        """Put reduced rows back into the space of the columns.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_components_)
            Coordinates, as `transform` gives them.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The nearest rows of the form ``mean_ + directions_ @ c`` to those reduced.
        """
        check_is_fitted(self)
        scores = np.asarray(X, dtype=np.float64)
        if scores.ndim != 2 or scores.shape[1] != self.n_components_:
            raise InputError(
                f"expected rows of {self.n_components_} coordinate(s), got shape "
                f"{scores.shape}"
            )
        return scores @ self.components_ + self.mean_

    def _rows(self, X: Any, *, reset: bool, least: int = 1) -> Matrix:
        """Check rows with scikit-learn's own validation."""
        refuse_masked("X", X)
        check_columns(X)
        rows: Matrix = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_min_samples=least
        )
        return rows

    def _set_directions(self, basis: Matrix) -> Matrix:
        """Take orthonormal columns, the largest entry of each made positive."""
        peaks = np.abs(basis).argmax(axis=0) if basis.size else np.empty(0, np.intp)
        signs = np.sign(basis[peaks, np.arange(basis.shape[1])])
        self.directions_ = basis * signs
        self.components_ = self.directions_.T
        self.n_components_ = basis.shape[1]
        return signs

    def _warn_if_fewer(self, wanted: int) -> None:
        if self.n_components_ < wanted:
            warn_user(
                f"{self.n_components_} direction(s) found where {wanted} were asked "
                "for: the rows vary in no other",
                WeakSignalWarning,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
