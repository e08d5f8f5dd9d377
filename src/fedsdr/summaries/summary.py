"""The only thing about its rows that a site ever needs to tell."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedsdr.exceptions import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    r"""Sums over the rows of one or more sites.

    Summaries are sums, not averages: adding those of two sites gives the summary of
    both, ``sum(summaries)`` the pooled one.

    Parameters
    ----------
    n_rows : int
        Number of rows behind the sums, at least 1.
    scatter : array-like of shape (n_features, n_features)
        Sum of :math:`n_i \hat\Sigma_i`, each site centred on its own mean.
    between : array-like of shape (n_features, n_features)
        Sum of :math:`n_i T_i`.
    n_sites : int, default=1
        Number of sites behind the sums.
    freedom, freedom_squared : float, default=0
        Sums of :math:`\mathrm{tr} W_i` and :math:`\mathrm{tr} W_i^2`, where
        :math:`n_i T_i = X_i' W_i X_i` for centred rows. For slices both are the number
        of slices minus one.

    Notes
    -----
    If y says nothing about x, T is on average `noise_floor` times sigma.
    With N rows over all sites (section 2.1 of the paper)

    .. math:: \hat\Sigma = \sum_i \frac{n_i}{N} \hat\Sigma_i , \qquad
              \hat T = \sum_i \frac{n_i}{N} \hat T_i .
    """

    n_rows: int
    scatter: NDArray[np.float64]
    between: NDArray[np.float64]
    n_sites: int = 1
    freedom: float = 0.0
    freedom_squared: float = 0.0

    def __post_init__(self) -> None:
        if self.n_rows < 1:
            raise InputError(f"a summary needs at least one row, got {self.n_rows}")
        object.__setattr__(self, "n_rows", int(self.n_rows))
        for name in ("scatter", "between"):
            object.__setattr__(self, name, _read_only_square(getattr(self, name), name))
        if self.scatter.shape != self.between.shape:
            raise InputError(
                f"scatter is {self.scatter.shape} but between is {self.between.shape}"
            )

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return self.scatter.shape[0]

    @property
    def sigma(self) -> NDArray[np.float64]:
        """Pooled within-site covariance of x, shape (n_features, n_features)."""
        return self.scatter / self.n_rows

    @property
    def kernel(self) -> NDArray[np.float64]:
        """Pooled covariance of E[x | y], shape (n_features, n_features)."""
        return self.between / self.n_rows

    @property
    def noise_floor(self) -> float:
        """Generalised eigenvalue of (T, sigma) that noise alone gives on average."""
        return self.freedom / max(self.n_rows - self.n_sites, 1)

    @property
    def effective_freedom(self) -> float:
        """Degrees of freedom of the chi-square with the mean and variance of noise."""
        return self.freedom**2 / self.freedom_squared if self.freedom_squared else 0.0

    def __add__(self, other: "Summary") -> "Summary":
        if not isinstance(other, Summary):
            return NotImplemented
        if self.n_features != other.n_features:
            raise InputError(
                f"cannot add summaries of {self.n_features} and {other.n_features} "
                "columns: every site must hold the same columns"
            )
        return Summary(
            n_rows=self.n_rows + other.n_rows,
            scatter=self.scatter + other.scatter,
            between=self.between + other.between,
            n_sites=self.n_sites + other.n_sites,
            freedom=self.freedom + other.freedom,
            freedom_squared=self.freedom_squared + other.freedom_squared,
        )

    def __radd__(self, other: object) -> "Summary":
        # sum() starts from 0.
        return self if other == 0 else NotImplemented

    def scaled(self, scale: ArrayLike) -> "Summary":
        """Summarise the same rows with every column divided by a constant.

        Parameters
        ----------
        scale : array-like of shape (n_features,)
            What each column is divided by; positive and finite.

        Returns
        -------
        Summary
            Summary of ``X / scale``.
        """
        scale = np.asarray(scale, dtype=np.float64)
        if scale.shape != (self.n_features,):
            raise InputError(
                f"scale has shape {scale.shape}, expected ({self.n_features},)"
            )
        if not (np.isfinite(scale) & (scale > 0)).all():
            raise InputError("scale must be positive and finite in every column")
        both = np.outer(scale, scale)
        return replace(self, scatter=self.scatter / both, between=self.between / both)

    def subset(self, index: ArrayLike) -> "Summary":
        """Summarise the same rows with some of the columns.

        Parameters
        ----------
        index : array-like of int or of bool
            Columns to keep, in this order, or a mask of length n_features.

        Returns
        -------
        Summary
            Summary of ``X[:, index]``.
        """
        block = np.arange(self.n_features)[np.asarray(index)]
        both = np.ix_(block, block)
        return replace(self, scatter=self.scatter[both], between=self.between[both])

    def allclose(self, other: "Summary", rtol: float = 1e-12) -> bool:
        """Compare with another summary up to rounding.

        Parameters
        ----------
        other : Summary
            The other one.
        rtol : float, default=1e-12
            Largest difference, relative to the largest entry of each matrix.

        Returns
        -------
        bool
            Whether the counts are equal and both matrices agree.
        """
        if (self.n_rows, self.n_features) != (other.n_rows, other.n_features):
            return False
        pairs = ((self.scatter, other.scatter), (self.between, other.between))
        return all(
            np.abs(mine - theirs).max() <= rtol * np.abs(mine).max()
            for mine, theirs in pairs
        )


def _read_only_square(matrix: Any, name: str) -> NDArray[np.float64]:
    # A view, so that the caller's own array stays writeable.
    view = np.asarray(matrix, dtype=np.float64).view()
    if view.ndim != 2 or view.shape[0] != view.shape[1]:
        raise InputError(f"{name} must be a square matrix, got shape {view.shape}")
    view.flags.writeable = False
    return view
