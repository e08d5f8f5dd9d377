"""Rows of all sites in one hand: pooled, centred, dealt to folds."""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.exceptions import InputError, SiteWarning
from fedsdr.peers.ssir_cv.cross_validation import Fold
from fedsdr.rows.own_sites import group_by_site
from fedsdr.summaries import (
    Slices,
    Summary,
    centre,
    is_discrete,
    prediction_errors,
    summarize,
)


@dataclass(frozen=True, slots=True, eq=False)
class PooledRows:
    """Rows that one analyst may look at.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Centred, see `pool`.
    y : ndarray of shape (n_rows,)
        Responses.
    slices : Slices
        Size or number of the slices of an ordered response.
    discrete : bool
        Whether y holds classes.
    """

    X: Matrix
    y: NDArray[Any]
    slices: Slices
    discrete: bool

    def summary(self) -> Summary:
        """Summarise all rows.

        Returns
        -------
        Summary
            As if they came from one site.
        """
        return self._summarize(self.X, self.y)

    def folds(self, n_folds: int, generator: np.random.Generator) -> list[Fold]:
        """Hold out one part of the rows after the other.

        Parameters
        ----------
        n_folds : int
            Number of parts; their sizes differ by at most one row.
        generator : numpy.random.Generator
            Deals the rows.

        Returns
        -------
        list of Fold
            What is left is summarised, what is held out is predicted.
        """
        if len(self.y) < 2 * n_folds:
            raise InputError(
                f"{n_folds} folds need {2 * n_folds} rows, got {len(self.y)}: use "
                "fewer folds"
            )
        parts = generator.permutation(len(self.y)) % n_folds
        with warnings.catch_warnings():
            # All rows together are judged by `summary`; what is left may be too few.
            warnings.simplefilter("ignore", SiteWarning)
            return [self._fold(parts == part) for part in range(n_folds)]

    def _fold(self, held: NDArray[np.bool_]) -> Fold:
        known = (self.X[~held], self.y[~held])
        wanted = (self.X[held], self.y[held])
        return Fold(
            self._summarize(*known, on_degenerate="zero"),
            int(held.sum()),
            partial(prediction_errors, known, wanted, discrete=self.discrete),
        )

    def _summarize(self, X: Matrix, y: NDArray[Any], **options: Any) -> Summary:
        return summarize(
            X,
            y,
            kernel=self.slices,
            response="classes" if self.discrete else "ordered",
            **options,
        )


def pool(
    X: Matrix, y: NDArray[Any], sites: Any, slices: Slices, response: Any = "auto"
) -> PooledRows:
    """Put the rows of all sites together.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows.
    y : ndarray of shape (n_rows,)
        Responses.
    sites : array-like of shape (n_rows,) or None
        Label of each row's site. Rows are centred on the mean of their site, or of all
        rows if not given.
    slices : Slices
        Size or number of the slices of an ordered response.
    response : {"auto", "ordered", "classes"}, default="auto"
        What y is taken for.

    Returns
    -------
    PooledRows
        In the order given.
    """
    centred = np.empty_like(X)
    for _, rows in group_by_site(sites, len(X)):
        centred[rows] = centre(X[rows])[0]
    return PooledRows(centred, y, slices, is_discrete(y, response))
