"""Kinds of kernels, and the slices and weights that follow from the responses.

Labels depend on the multiset of responses only, never on the order of the rows: tied
responses always share a slice.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.exceptions import (
    InputError,
    SiteError,
    SiteWarning,
    describe_site,
    warn_user,
)
from fedsdr.summaries.inputs import check_target
from fedsdr.summaries.rank_functions import (
    CHUNK,
    RankPolynomials,
    rank_polynomials,
    sizes_of_ties,
)

Response = Literal["auto", "ordered", "classes"]

#: What a response can be taken for.
RESPONSES = ("auto", "ordered", "classes")

#: A whole-numbered response with more distinct values than this is ordered.
MAX_AUTO_CLASSES = 10

#: Smallest number of rows: two slices of two rows each.
MIN_ROWS = 4

#: Default number of rows per slice.
SLICE_SIZE = 20

# Rows up to which the values of all functions of y are kept: about ten megabytes.
FEW_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Smooth:
    """Kernel of smooth, decaying functions of the rank of y, see `RankPolynomials`.

    Parameters
    ----------
    own : float, optional
        Weight of the sites' own means of x given y, from 0 to 1; the rest is the weight
        of the means over all sites, see `mix`. Chosen from the sums if not given.
    """

    own: float | None = None

    def __post_init__(self) -> None:
        own: Any = self.own
        if own is None:
            return
        if (
            isinstance(own, bool)
            or not isinstance(own, Real)
            or not 0 <= float(own) <= 1
        ):
            raise InputError(f"own must be a number from 0 to 1, got {own!r}")
        object.__setattr__(self, "own", float(own))


@dataclass(frozen=True, slots=True)
class Slices:
    """Between-slice covariance (eq2.6a), the paper's kernel.

    Parameters
    ----------
    size : int, optional
        Number of rows per slice, at least 2; 20 if neither size nor number is given.
    number : int, optional
        Number of slices at each site, at least 2, instead of their size.
    """

    size: int | None = None
    number: int | None = None

    def __post_init__(self) -> None:
        if self.size is not None and self.number is not None:
            raise InputError("slices have a size or a number, not both")
        if self.size is None and self.number is None:
            object.__setattr__(self, "size", SLICE_SIZE)
        for name in ("size", "number"):
            value: Any = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Integral) or value < 2:
                raise InputError(
                    f"the {name} of slices must be a whole number of at least 2, got "
                    f"{value!r}"
                )
            object.__setattr__(self, name, int(value))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sigma minus the two-point estimate of the within covariance (eq2.6)."""


Kernel = Smooth | Slices | Pairs


def read_response(response: Any, target: Any = None) -> Response:
    """Check what a response is to be taken for.

    Parameters
    ----------
    response : object
        "auto", "ordered" or "classes"; until version 0.4 also "continuous", the former
        name of "ordered", with a warning.
    target : object, default=None
        Value that was given under the former name of the parameter, with a warning.

    Returns
    -------
    {"auto", "ordered", "classes"}
        The checked value.
    """
    former = target is not None
    value = target if former else response
    word = value.strip().lower() if isinstance(value, str) else value
    known = "ordered" if word == "continuous" else word
    if known not in RESPONSES:
        close = get_close_matches(str(word), RESPONSES, n=1)
        hint = f": did you mean {close[0]!r}?" if close else ""
        raise InputError(
            f"response must be 'auto', 'ordered' or 'classes', got {value!r}{hint}"
        )
    if former or known != word:
        warn_user(
            f"write response={known!r} instead of target={value!r}; version 0.4 "
            "removes the former name",
            FutureWarning,
        )
    return cast("Response", known)


def is_discrete(y: Any, response: Response = "auto") -> bool:
    """Return whether each distinct response is a slice of its own.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Response.
    response : {"auto", "ordered", "classes"}, default="auto"
        "ordered" (numbers in their order) and "classes" (each value by itself, without
        an order) force the answer.

    Returns
    -------
    bool
        With "auto", True for text, booleans and categories, and for numbers that are
        all whole, take at most 10 distinct values, and at most half as many as there
        are rows.

    Notes
    -----
    All sites must use the same answer: decide once for a study and pass it on as
    `response`, because "auto" depends on the rows of one site only.
    """
    response = read_response(response)
    y = check_target(y)
    numeric = y.dtype.kind == "f"
    if response == "ordered" and not numeric:
        raise InputError(
            f"response='ordered' needs a numeric y, got values of type {y.dtype}"
        )
    if response != "auto":
        return response == "classes"
    if not numeric:
        return True
    if not np.array_equal(y, np.rint(y)):
        return False
    return len(np.unique(y)) <= min(MAX_AUTO_CLASSES, len(y) // 2)


def slice_labels(
    y: Any,
    slices: Slices | None = None,
    *,
    response: Response = "auto",
    site: object = None,
    target: str | None = None,
) -> NDArray[np.intp]:
    """Assign every row to a slice of the response.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Response of one site.
    slices : Slices, optional
        Size or number of the slices; a size gives ``n_rows // size`` slices.
    response : {"auto", "ordered", "classes"}, default="auto"
        What `y` is taken for, see `is_discrete`. Each class is a slice of its own, for
        any `slices`.
    site : object, default=None
        Label of the site, for messages.
    target : str, optional
        Former name of `response`, until version 0.4.

    Returns
    -------
    ndarray of shape (n_rows,), int
        Labels 0, 1, ..., increasing with the response.

    Notes
    -----
    A continuous response is cut at the ranks that would give near-equal slices (the
    first ones are one row longer if the rows do not divide evenly). Each cut is moved
    to the nearest rank between two distinct values, the lower one if two are equally
    near. Equal cuts are made once, so that many ties lead to fewer slices.
    """
    y = check_target(y)
    if is_discrete(y, read_response(response, target)):
        return dense_ranks(y)
    return cut_ordered(y, count_slices(len(y), slices or Slices(), site))


def count_slices(n_rows: int, slices: Slices, site: object = None) -> int:
    """Compute the number of slices of a continuous response.

    Parameters
    ----------
    n_rows : int
        Number of rows of the site.
    slices : Slices
        Size or number of the slices.
    site : object, default=None
        Label of the site, for messages.

    Returns
    -------
    int
        Number of slices, at least 2, and at most ``n_rows // 2``.
    """
    if n_rows < MIN_ROWS:
        raise SiteError(
            site,
            f"has {n_rows} row(s), too few for two slices",
            f"give it at least {MIN_ROWS} rows or leave it out",
        )
    wanted = slices.number or n_rows // (slices.size or SLICE_SIZE)
    used = int(np.clip(wanted, 2, n_rows // 2))
    if used != wanted:
        asked = f"{wanted} slices" if slices.number else f"slices of {slices.size}"
        problem = f"has {n_rows} rows, too few for {asked}"
        remedy = f"{used} slices are used; give it more rows or merge it with another"
        warn_user(describe_site(site, problem, remedy), SiteWarning)
    return used


def cut_ordered(y: NDArray[Any], n_slices: int) -> NDArray[np.intp]:
    """Cut a numeric response into near-equal slices without splitting ties.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Numeric response.
    n_slices : int
        Number of slices wanted, at most `n_rows`.

    Returns
    -------
    ndarray of shape (n_rows,), int
        Labels from 0; at least two of them when `y` has two distinct values.
    """
    _, ranks, counts = np.unique(y, return_inverse=True, return_counts=True)
    boundaries = np.cumsum(counts)[:-1]
    if not boundaries.size:
        return np.zeros(len(y), dtype=np.intp)
    sizes = np.full(n_slices, len(y) // n_slices)
    sizes[: len(y) % n_slices] += 1
    ideal = np.cumsum(sizes)[:-1]
    cuts = np.unique(_nearest(boundaries, ideal))
    # A distinct value lies above every cut that comes at or before its first rank.
    first_rank = np.cumsum(counts) - counts
    return np.searchsorted(cuts, first_rank, side="right")[ranks]


def dense_ranks(y: NDArray[Any]) -> NDArray[np.intp]:
    """Rank the rows by their response, 0, 1, ..., ties sharing a rank.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Response.

    Returns
    -------
    ndarray of shape (n_rows,), int
        Index of each row's value among the sorted distinct values.
    """
    if y.dtype.kind == "f" and y.size:
        order = np.argsort(y)
        if not np.isnan(y[order[-1]]):
            return _ranks_in_order(y, order)
    try:
        return np.unique(y, return_inverse=True)[1]
    except TypeError as error:
        raise InputError(
            "y mixes values that have no common order, such as text and numbers: "
            "use one type for all classes"
        ) from error


def _ranks_in_order(
    y: NDArray[np.floating[Any]], order: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Rank numbers of which the order is known, in half the time of numpy's unique."""
    ranks = np.empty(len(y), dtype=np.intp)
    rank, last = -1, np.nan
    # In pieces, since new memory for all rows takes as long as the comparisons.
    for start in range(0, len(y), CHUNK):
        own = order[start : start + CHUNK]
        values = y[own]
        steps = np.empty(len(own), dtype=np.intp)
        steps[0] = rank + int(values[0] != last)
        np.not_equal(values[1:], values[:-1], out=steps[1:])
        ranks[own] = np.cumsum(steps, out=steps)
        rank, last = int(steps[-1]), values[-1]
    return ranks


@dataclass(frozen=True, eq=False)
class Weights:
    """Quantities of the kernel of some rows that depend on their responses only.

    Parameters
    ----------
    form : {"none", "groups", "functions", "pairs"}
        Form of the kernel: none, from means of groups, from smooth functions of the
        rank, or from pairs of neighbours.
    ranks : ndarray of shape (n_rows,), int
        Group or dense rank of each row, 0, 1, ...
    ordered : bool
        Whether neighbouring ranks are similar; used for pairs only.
    """

    form: Literal["none", "groups", "functions", "pairs"]
    ranks: NDArray[np.integer]
    ordered: bool = True

    @property
    def has_functions(self) -> bool:
        """Whether the kernel is formed of functions of y, smooth ones or indicators."""
        return self.form in ("functions", "groups")

    @cached_property
    def polynomials(self) -> RankPolynomials:
        """Polynomials of the rank, which several sums of a fit need."""
        return rank_polynomials(sizes_of_ties(self.ranks))

    def polynomials_at(self, rows: slice) -> Matrix:
        """Evaluate the polynomials in some rows; of few rows, once for all sums.

        Parameters
        ----------
        rows : slice
            Numbers of the rows.

        Returns
        -------
        ndarray of shape (n_rows, n_polynomials)
            Values, which must not be overwritten.
        """
        if len(self.ranks) <= FEW_ROWS:
            return self._polynomials_of_all[rows]
        return self.polynomials.at(self.ranks[rows])

    @cached_property
    def _polynomials_of_all(self) -> Matrix:
        values = self.polynomials.at(self.ranks)
        values.flags.writeable = False
        return values


def weigh(
    y: NDArray[Any],
    *,
    kernel: Kernel,
    discrete: bool,
    on_degenerate: Literal["raise", "zero"] = "raise",
    site: object = None,
) -> Weights:
    """Compute the weights of rows in the kernel from their responses.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Responses.
    kernel : Smooth, Slices or Pairs
        Kind of kernel.
    discrete : bool
        Whether y holds classes.
    on_degenerate : {"raise", "zero"}, default="raise"
        Treatment of rows from which no kernel can be computed, see `summarize`.
    site : object, default=None
        Label of the site, for messages.

    Returns
    -------
    Weights
        Weights; their form is "none" if `on_degenerate` is "zero" and no kernel can be
        computed.
    """
    ranks = dense_ranks(y)
    problem = _degeneracy(ranks, discrete=discrete)
    if problem is not None:
        if on_degenerate == "raise":
            remedy = "leave it out, merge it with another, or give it more varied rows"
            raise SiteError(site, problem, remedy)
        remedy = "it contributes its covariance only"
        warn_user(describe_site(site, problem, remedy), SiteWarning)
        return Weights("none", ranks)
    if isinstance(kernel, Pairs):
        return Weights("pairs", ranks, ordered=not discrete)
    if discrete:
        return Weights("groups", ranks)
    if isinstance(kernel, Smooth):
        return Weights("functions", ranks)
    used = count_slices(len(y), kernel, site)
    return Weights("groups", cut_ordered(y, used))


def _degeneracy(ranks: NDArray[np.intp], *, discrete: bool) -> str | None:
    """Return why no kernel can be computed, or None if one can be computed."""
    if len(ranks) < MIN_ROWS:
        return f"has {len(ranks)} row(s), too few for two slices"
    highest = int(ranks.max())
    if highest == 0:
        return "has one class only" if discrete else "has a constant y"
    if discrete and highest == len(ranks) - 1:
        return f"has {len(ranks)} classes in {len(ranks)} rows, one row each"
    return None


def _nearest(candidates: NDArray[np.intp], wanted: NDArray[np.intp]) -> NDArray[Any]:
    """Pick the nearest of sorted candidates, the lower of two equally near."""
    above = np.searchsorted(candidates, wanted).clip(max=len(candidates) - 1)
    below = (above - 1).clip(min=0)
    lower, upper = candidates[below], candidates[above]
    return np.where(np.abs(wanted - lower) <= np.abs(upper - wanted), lower, upper)
