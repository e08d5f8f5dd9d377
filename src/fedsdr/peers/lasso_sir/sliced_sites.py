"""Rows of all sites, centred and sliced within each site."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import (
    InputError,
    SiteError,
    SiteWarning,
    describe_site,
    warn_user,
)
from fedsdr.rows.own_sites import group_by_site
from fedsdr.summaries import is_discrete, slice_labels
from fedsdr.summaries.slicing import Response, Slices, dense_ranks
from fedsdr.summaries.summary import centre


@dataclass(frozen=True, slots=True, eq=False)
class SlicedSites:
    """What LassoSIR needs of the rows.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows, centred on the mean of their site.
    labels : ndarray of shape (n_rows,), int
        Slice of each row, 0, 1, ...; no slice has rows of two sites.
    weights : ndarray of shape (n_slices,)
        Square root of what each slice counts. Slices of one site count alike, and sites
        count as much as they have rows; ones for a single site.
    ranks : ndarray of shape (n_rows,), int
        Order of the responses within each site, one site after the other.
    most : int
        Classes of y, or the largest number of slices of a site.
    discrete : bool
        Whether y holds classes.
    """

    X: Matrix
    labels: NDArray[np.intp]
    weights: Vector
    ranks: NDArray[np.intp]
    most: int
    discrete: bool


def slice_sites(
    X: Matrix, y: NDArray[Any], sites: Any, slices: Slices, response: Any = "auto"
) -> SlicedSites:
    """Centre rows on the mean of their site, and slice the responses of every site.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows of all sites.
    y : ndarray of shape (n_rows,)
        Responses.
    sites : array-like of shape (n_rows,) or None
        Label of each row's site; None for one site.
    slices : Slices
        Size or number of the slices at each site; classes are slices of their own.
    response : {"auto", "ordered", "classes"}, default="auto"
        What y is taken for.

    Returns
    -------
    SlicedSites
        In the order of the rows. A shift of x or y between sites does not show in it.

    Raises
    ------
    SiteError
        If there is one site only, and its y says nothing about x.
    InputError
        If that is so at every site.

    Warns
    -----
    SiteWarning
        About every site, among others, whose y says nothing about x.
    """
    discrete = is_discrete(y, response)
    groups = group_by_site(sites, len(y))
    centred = centre(X)[0] if len(groups) == 1 else np.empty_like(X)
    labels, ranks = np.empty(len(y), dtype=np.intp), np.empty(len(y), dtype=np.intp)
    numbers: list[int] = []
    for site, rows in groups:
        try:
            own = _slice_one(y[rows], slices, discrete=discrete, site=site)
        except SiteError as error:
            if len(groups) == 1:
                raise
            remedy = "it contributes the covariance of its columns only"
            warn_user(describe_site(site, error.args[1], remedy), SiteWarning)
            own = np.zeros(len(rows), dtype=np.intp)
        if len(groups) > 1:
            centred[rows] = centre(X[rows])[0]
        labels[rows] = own + sum(numbers)
        ranks[rows] = dense_ranks(y[rows]) + len(y) * len(numbers)
        numbers.append(int(own.max()) + 1)
    if max(numbers) == 1:
        raise InputError(
            "no site shows any movement of X with y, so there are no directions to "
            "find; check that y varies within the sites"
        )
    most = len(np.unique(y)) if discrete else max(numbers)
    # Whole numbers, of which one site has the same above and below: exactly one.
    counts = [
        len(rows) * sum(numbers) / (len(y) * number)
        for (_, rows), number in zip(groups, numbers, strict=True)
    ]
    weights = np.sqrt(np.repeat(counts, numbers))
    return SlicedSites(centred, labels, weights, ranks, most, discrete)


def _slice_one(
    y: NDArray[Any], slices: Slices, *, discrete: bool, site: object
) -> NDArray[np.intp]:
    """Slice the responses of one site, of which at least two slices must be left."""
    response: Response = "classes" if discrete else "ordered"
    labels = slice_labels(y, slices, response=response, site=site)
    sizes = np.bincount(labels)
    remedy = "give it rows with more varied responses"
    if len(sizes) == 1:
        problem = "has one class only" if discrete else "has a constant y"
        raise SiteError(site, problem, remedy)
    if sizes.max() == 1:
        raise SiteError(site, f"has {len(sizes)} classes in as many rows", remedy)
    return labels
