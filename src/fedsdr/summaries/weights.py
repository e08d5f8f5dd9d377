"""How rows count in a kernel: all that follows from the responses alone."""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedsdr.exceptions import SiteError, SiteWarning, describe_site
from fedsdr.summaries.slicing import (
    MIN_ROWS,
    count_slices,
    cut_ordered,
    dense_ranks,
)

Kernel = Literal["slices", "pairs", "smooth"]


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """What the responses of some rows say about their kernel.

    Parameters
    ----------
    form : {"none", "groups", "functions", "pairs"}
        No kernel; means of groups; smooth functions of the rank; pairs of neighbours.
    ranks : ndarray of shape (n_rows,), int
        Group or dense rank of each row, 0, 1, ...
    ordered : bool
        Whether neighbouring ranks are alike; for pairs.
    """

    form: Literal["none", "groups", "functions", "pairs"]
    ranks: NDArray[np.integer]
    ordered: bool = True


def weigh(
    y: NDArray[Any],
    *,
    kernel: Kernel,
    discrete: bool,
    slice_size: int = 20,
    n_slices: int | None = None,
    on_degenerate: Literal["raise", "zero"] = "raise",
    site: object = None,
) -> Weights:
    """Work out what the responses say about the kernel, see `summarize`.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Responses.
    kernel : {"slices", "pairs", "smooth"}
        Kind of kernel.
    discrete : bool
        Whether y holds classes.
    slice_size : int, default=20
        Rows in a slice of a continuous response.
    n_slices : int or None, default=None
        Number of slices; overrides `slice_size`.
    on_degenerate : {"raise", "zero"}, default="raise"
        What to do with rows that cannot say how x moves with y.
    site : object, default=None
        Label of the site, for messages.

    Returns
    -------
    Weights
        Of form "none" where `on_degenerate` is "zero" and no kernel can be had.
    """
    ranks = dense_ranks(y)
    problem = _degeneracy(ranks, discrete=discrete)
    if problem is not None:
        if on_degenerate == "raise":
            remedy = "leave it out, merge it with another, or give it more varied rows"
            raise SiteError(site, problem, remedy)
        remedy = "it contributes its covariance only"
        warnings.warn(describe_site(site, problem, remedy), SiteWarning, stacklevel=3)
        return Weights("none", ranks)
    if kernel == "pairs":
        return Weights("pairs", ranks, ordered=not discrete)
    if discrete:
        return Weights("groups", ranks)
    if kernel == "smooth":
        return Weights("functions", ranks)
    used = count_slices(len(y), slice_size, n_slices, site)
    return Weights("groups", cut_ordered(y, used))


def _degeneracy(ranks: NDArray[np.intp], *, discrete: bool) -> str | None:
    """Say why no kernel can be computed, or None when one can."""
    counts = np.bincount(ranks)
    if len(ranks) < MIN_ROWS:
        return f"has {len(ranks)} row(s), too few for two slices"
    if len(counts) == 1:
        return "has one class only" if discrete else "has a constant y"
    if discrete and counts.max() == 1:
        return f"has {len(counts)} classes in {len(ranks)} rows, one row each"
    return None
