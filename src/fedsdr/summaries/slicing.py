"""Which slice each row belongs to.

Labels depend on the multiset of responses only, never on the order of the rows: tied
responses always share a slice.
"""

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedsdr.exceptions import InputError, SiteError, SiteWarning, describe_site
from fedsdr.summaries.inputs import check_target

Target = Literal["auto", "continuous", "classes"]

#: A whole-numbered response with more distinct values than this is continuous.
MAX_AUTO_CLASSES = 10

#: Two slices of two rows each: below this a slice mean says nothing.
MIN_ROWS = 4


def is_discrete(y: Any, target: Target = "auto") -> bool:
    """Say whether each distinct response is a slice of its own.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Response.
    target : {"auto", "continuous", "classes"}, default="auto"
        "continuous" and "classes" force the answer.

    Returns
    -------
    bool
        With "auto", True for text, booleans and categories, and for numbers that are
        all whole, take at most 10 distinct values, and at most half as many as there
        are rows.

    Notes
    -----
    Sites must agree: decide once for a study and pass the outcome on as `target`,
    because "auto" looks at one site's rows only.
    """
    if target not in ("auto", "continuous", "classes"):
        raise InputError(
            f"target must be 'auto', 'continuous' or 'classes', got {target!r}"
        )
    y = check_target(y)
    numeric = y.dtype.kind == "f"
    if target == "continuous" and not numeric:
        raise InputError(
            f"target='continuous' needs a numeric y, got values of type {y.dtype}"
        )
    if target != "auto":
        return target == "classes"
    if not numeric:
        return True
    if not np.array_equal(y, np.rint(y)):
        return False
    return len(np.unique(y)) <= min(MAX_AUTO_CLASSES, len(y) // 2)


def slice_labels(
    y: Any,
    *,
    slice_size: int = 20,
    n_slices: int | None = None,
    target: Target = "auto",
    site: object = None,
) -> NDArray[np.intp]:
    """Assign every row to a slice of the response.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Response of one site.
    slice_size : int, default=20
        Rows in a slice, at least 2; there are ``n_rows // slice_size`` slices.
    n_slices : int or None, default=None
        Number of slices, at least 2. When given, `slice_size` is not looked at.
    target : {"auto", "continuous", "classes"}, default="auto"
        What `y` is, see `is_discrete`. Classes are slices of their own, whatever
        `slice_size` and `n_slices` say.
    site : object, default=None
        Label of the site, for messages.

    Returns
    -------
    ndarray of shape (n_rows,), int
        Labels 0, 1, ..., increasing with the response.

    Notes
    -----
    A continuous response is cut at the ranks that would make near-equal slices (the
    first ones a row longer when the rows do not divide evenly), each cut moved to
    the nearest rank between two distinct values, the lower one when two are equally
    near. Cuts that fall together are made once, so heavy ties mean fewer slices.
    """
    y = check_target(y)
    if is_discrete(y, target):
        return dense_ranks(y)
    return cut_ordered(y, count_slices(len(y), slice_size, n_slices, site))


def count_slices(
    n_rows: int, slice_size: int, n_slices: int | None, site: object = None
) -> int:
    """Decide how many slices a continuous response gets.

    Parameters
    ----------
    n_rows : int
        Rows of the site.
    slice_size : int
        Rows in a slice, at least 2.
    n_slices : int or None
        Number of slices, at least 2; overrides `slice_size`.
    site : object, default=None
        Label of the site, for messages.

    Returns
    -------
    int
        At least 2, and never so many that a slice has fewer than 2 rows.
    """
    if n_slices is None and slice_size < 2:
        raise InputError(f"slice_size must be at least 2, got {slice_size}")
    if n_slices is not None and n_slices < 2:
        raise InputError(f"n_slices must be at least 2, got {n_slices}")
    if n_rows < MIN_ROWS:
        raise SiteError(
            site,
            f"has {n_rows} row(s), too few for two slices",
            f"give it at least {MIN_ROWS} rows or leave it out",
        )
    wanted = n_rows // slice_size if n_slices is None else n_slices
    used = int(np.clip(wanted, 2, n_rows // 2))
    if used != wanted:
        asked = f"slice_size={slice_size}" if n_slices is None else f"{n_slices=}"
        problem = f"has {n_rows} rows, too few for {asked}"
        remedy = f"{used} slices are used; give it more rows or merge it with another"
        warnings.warn(describe_site(site, problem, remedy), SiteWarning, stacklevel=2)
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
    try:
        return np.unique(y, return_inverse=True)[1]
    except TypeError as error:
        raise InputError(
            "y mixes values that have no common order, such as text and numbers: "
            "use one type for all classes"
        ) from error


def _nearest(candidates: NDArray[np.intp], wanted: NDArray[np.intp]) -> NDArray[Any]:
    """Pick the nearest of sorted candidates, the lower of two equally near."""
    above = np.searchsorted(candidates, wanted).clip(max=len(candidates) - 1)
    below = (above - 1).clip(min=0)
    lower, upper = candidates[below], candidates[above]
    return np.where(np.abs(wanted - lower) <= np.abs(upper - wanted), lower, upper)
