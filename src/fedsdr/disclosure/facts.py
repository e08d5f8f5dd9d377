"""Facts about rows that rules may use: counts and names, never a value."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedsdr.exceptions import InputError, SiteWarning
from fedsdr.summaries.slicing import (
    MIN_ROWS,
    Kernel,
    Slices,
    count_slices,
    cut_ordered,
    dense_ranks,
)

#: Computes a keyed fingerprint of an array, see `fedsdr.disclosure.Ledger.fingerprint`.
Fingerprint = Callable[[NDArray[Any]], str]

#: Hexadecimal digits that are kept of a column's fingerprint: enough to notice that
#: rows have changed, but not to resist somebody who knows the key.
PRINT_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Facts:
    """Counts and names of one site's rows.

    Parameters
    ----------
    n_rows : int
        Number of rows of the site.
    smallest_part : int
        Number of rows in the smallest set whose sums are released, or can be computed
        as a difference of released sums: a fold, the rows held out, or all.
    smallest_slice : int or None
        Number of rows in the smallest slice or class; None if the kernel uses neither.
    slices : {"slice", "class"}
        Which of the two.
    minorities : mapping of str to int
        For each column, the number of rows in which it differs from its most frequent
        value, exact if these are fewer than half.
    prints : mapping of str to str, default={}
        Fingerprint of each column.
    target : mapping of str to str, default={}
        Name of the response and its fingerprint.
    """

    n_rows: int
    smallest_part: int
    smallest_slice: int | None
    slices: Literal["slice", "class"]
    minorities: Mapping[str, int]
    prints: Mapping[str, str] = field(default_factory=dict)
    target: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the covariates, in their order."""
        return tuple(self.minorities)

    @property
    def part_share(self) -> float:
        """Share of the rows that the smallest part has."""
        return self.smallest_part / self.n_rows


def observe(
    X: NDArray[np.float64],
    y: NDArray[Any],
    columns: Sequence[str],
    *,
    discrete: bool,
    kernel: Kernel,
    n_folds: int = 0,
    validation_fraction: float = 0.0,
    target: str = "y",
    fingerprint: Fingerprint | None = None,
) -> Facts:
    """Count what the rules need, at the site.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        The site's rows, one at least.
    y : ndarray of shape (n_rows,)
        Its responses.
    columns : sequence of str
        Names of the columns of X, all different.
    discrete : bool
        Whether y holds classes.
    kernel : Smooth, Slices or Pairs
        Kind of kernel.
    n_folds : int, default=0
        Number of folds whose sums are released as well; 0 for none.
    validation_fraction : float, default=0.0
        Share of the rows that is held out.
    target : str, default="y"
        Name of the response.
    fingerprint : callable, optional
        Computes fingerprints of columns; without it, changed rows are not noticed.

    Returns
    -------
    Facts
        Counts and names.

    Notes
    -----
    Classes are slices under every kernel. Numbers are cut into slices for "slices"
    only: "smooth" weighs all rows in every term, and "pairs" adds one difference of two
    rows to the next, as a covariance adds rows, so that the number of columns for each
    row is what limits them.

    Folds are drawn later and at random; how large their slices will be is worked out
    from their size, without regard to ties.
    """
    n_rows = len(X)
    if len(columns) != X.shape[1] or len(set(columns)) < len(columns):
        raise InputError("columns must give each column of X a name of its own")
    if n_rows == 0 or len(y) != n_rows:
        raise InputError("X and y must have the same rows, one at least")
    if not isinstance(kernel, Kernel):
        # Anything else would pass the rule about slices without being looked at.
        raise InputError(
            f"kernel must be Smooth(), Slices() or Pairs(), got {kernel!r}"
        )
    part = _smallest_part(n_rows, n_folds, validation_fraction)
    smallest: int | None = None
    if discrete:
        smallest = int(np.bincount(dense_ranks(y)).min())
    elif isinstance(kernel, Slices) and n_rows >= MIN_ROWS:
        smallest = _smallest_slice(y, part, kernel)
    named = dict(zip(columns, np.ascontiguousarray(X.T), strict=True))
    prints, target_print = {}, {}
    if fingerprint is not None:
        prints = {name: fingerprint(own)[:PRINT_DIGITS] for name, own in named.items()}
        target_print = {target: fingerprint(y)[:PRINT_DIGITS]}
    return Facts(
        n_rows=n_rows,
        smallest_part=part,
        smallest_slice=smallest,
        slices="class" if discrete else "slice",
        minorities={name: _minority(own) for name, own in named.items()},
        prints=prints,
        target=target_print,
    )


def _smallest_part(n_rows: int, n_folds: int, validation_fraction: float) -> int:
    """Count the rows of the smallest part; the complement of a part is a part too."""
    parts = [n_rows]
    if n_folds:
        parts.append(n_rows // n_folds)
    if validation_fraction:
        held = round(validation_fraction * n_rows)
        parts += [held, n_rows - held]
    return min(parts)


def _smallest_slice(y: NDArray[Any], part: int, slices: Slices) -> int:
    with warnings.catch_warnings():
        # Computing the kernel warns about short slices; counting need not.
        warnings.simplefilter("ignore", SiteWarning)
        labels = cut_ordered(y, count_slices(len(y), slices))
        smallest = int(np.bincount(labels).min())
        if MIN_ROWS <= part < len(y):
            smallest = min(smallest, part // count_slices(part, slices))
    return smallest


def _minority(column: NDArray[np.float64]) -> int:
    # A value that more than half of the rows have is the median.
    middle = len(column) // 2
    return int((column != np.partition(column, middle)[middle]).sum())
