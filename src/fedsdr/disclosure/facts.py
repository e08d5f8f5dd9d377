"""Facts about rows that rules may use: counts and names, never a value."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedsdr.disclosure.column_origin import (
    PRINT_DIGITS,
    ColumnOrigin,
    Fingerprint,
)
from fedsdr.disclosure.counting import (
    Mask,
    count_in_parts,
    differing,
    largest_shares,
    rare_rows,
)
from fedsdr.exceptions import InputError, SiteWarning
from fedsdr.summaries.slicing import (
    MIN_ROWS,
    Kernel,
    Slices,
    count_slices,
    cut_ordered,
    dense_ranks,
)


@dataclass(frozen=True, slots=True)
class Increment:
    """The rows of an earlier release, as they are now, and those that came after them.

    Parameters
    ----------
    prints : mapping of str to str
        Fingerprint of each column of the data, of its first rows only: as many as were
        read for the earlier release.
    n_new : int
        Number of rows after them that enter the sums.
    new : Facts or None, default=None
        Facts about these; None if there are none.
    """

    prints: Mapping[str, str]
    n_new: int
    new: "Facts | None" = None

    def joined(self, other: "Increment") -> "Increment":
        """Add the facts about further columns of the same rows.

        Parameters
        ----------
        other : Increment
            Of these columns.

        Returns
        -------
        Increment
            Of all columns.
        """
        if self.new is None or other.new is None:
            return self
        return replace(self, new=self.new.joined(other.new))


@dataclass(frozen=True, slots=True)
class Facts:
    """Counts and names of one site's rows.

    Parameters
    ----------
    n_rows : int
        Number of rows of the site.
    smallest_part : int
        Number of rows in the smallest set whose sums are released, or can be computed
        as a difference of released sums: a fold, the rows held out, parts of halves, or
        all.
    smallest_slice : int or None
        Number of rows in the smallest slice or class; None if the kernel uses neither.
    slices : {"slice", "class"}
        Which of the two.
    minorities : mapping of str to int
        For each column, the number of rows in which it differs from its most frequent
        value, exact if these are fewer than half.
    prints : mapping of str to str, default={}
        Fingerprint of each column of the site's data that the columns come from.
    target : mapping of str to str, default={}
        Name in the data of the response, and its fingerprint.
    sources : mapping of str to str, default={}
        For each column the name of the column that it comes from in the data, where it
        differs.
    indicators : mapping of str to str, default={}
        For each column that is the indicator of a level, the categorical column.
    sizes : tuple of int, default=()
        Number of rows, in all of them, in every part, and in what a part leaves.
    levels : mapping of str to tuple of int, default={}
        Number of rows, as for `sizes`, that have the level of an indicator, and of any
        other column those that have a value other than the most frequent one; where a
        column has gaps, also those that have a value and those that have none.
    rare : mapping of str to frozenset of int, default={}
        Rows of columns that are constant but for a few rows. It never leaves the
        process.
    shares : mapping of str to float, default={}
        Largest share that one row has of the scatter of a column.
    n_held : int, default=0
        Number of rows held out.
    n_candidates : int, default=0
        Number of candidates whose errors on them a study may ask for.
    n_read : int, default=0
        Number of rows of the data, also of those that the study leaves out; 0 if that
        is not known.
    increments : mapping of int to Increment, default={}
        By the number of rows that were read for earlier releases, see
        `fedsdr.disclosure.increments`.
    picture_rows : int, default=0
        Fewest rows of a cell in pictures; 0 if the study has none.
    group_rows : int, default=0
        Fewest rows of a group in a model of y; 0 if the study fits none.
    n_models : int, default=0
        Number of models that the study fits: one, and one without each fold.
    """

    n_rows: int
    smallest_part: int
    smallest_slice: int | None
    slices: Literal["slice", "class"]
    minorities: Mapping[str, int]
    prints: Mapping[str, str] = field(default_factory=dict)
    target: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    indicators: Mapping[str, str] = field(default_factory=dict)
    sizes: tuple[int, ...] = ()
    levels: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    rare: Mapping[str, frozenset[int]] = field(default_factory=dict, repr=False)
    shares: Mapping[str, float] = field(default_factory=dict)
    n_held: int = 0
    n_candidates: int = 0
    n_read: int = 0
    increments: Mapping[int, Increment] = field(default_factory=dict)
    picture_rows: int = 0
    group_rows: int = 0
    n_models: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the covariates, in their order."""
        return tuple(self.minorities)

    @property
    def part_share(self) -> float:
        """Share of the rows that the smallest part has."""
        return self.smallest_part / self.n_rows

    def joined(self, other: "Facts") -> "Facts":
        """Add the facts about further columns of the same rows.

        Parameters
        ----------
        other : Facts
            Facts about these columns.

        Returns
        -------
        Facts
            Facts about all columns.
        """
        names = (
            "minorities", "prints", "sources", "indicators", "levels", "rare", "shares",
        )  # fmt: skip
        both: dict[str, Any] = {
            name: {**getattr(self, name), **getattr(other, name)} for name in names
        }
        increments = {
            length: one.joined(other.increments[length])
            for length, one in self.increments.items()
        }
        return replace(self, **both, increments=increments)


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
    max_candidates: int = 0,
    gaps: Mask | None = None,
    parts: Sequence[Mask] = (),
    origin: ColumnOrigin | None = None,
    scored: bool = False,
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
    max_candidates : int, default=0
        Number of candidates whose errors on rows held out a study may ask for.
    gaps : ndarray of bool, shape (n_rows, n_features), optional
        Where values were missing, which the site has filled for now.
    parts : sequence of ndarray of bool, shape (n_rows,), default=()
        Rows of every fold, rows held out, the others, and the smallest sets whose sums
        follow from those of halves.
    origin : ColumnOrigin, optional
        Where columns come from in the data; if not given, they are the data.
    scored : bool, default=False
        Whether columns are replaced by normal scores, of which none is far from the
        others.

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
    sizes = count_in_parts(np.ones((n_rows, 1), dtype=bool), parts)[0]
    part = min(_smallest_part(n_rows, n_folds, validation_fraction), *sizes, n_rows)
    smallest: int | None = None
    if discrete:
        smallest = int(np.bincount(dense_ranks(y)).min())
    elif isinstance(kernel, Slices) and n_rows >= MIN_ROWS:
        smallest = _smallest_slice(y, part, kernel)
    there = differing(X, gaps)
    prints, target_print = {}, {}
    if fingerprint is not None:
        # A gap is a gap, whatever it is filled with for now.
        held = X if gaps is None or origin is not None else np.where(gaps, np.nan, X)
        prints = _prints(held, columns, fingerprint, origin)
        target_print = _prints(y[:, None], [target], fingerprint, origin)
    sources, indicators = {}, {}
    if origin is not None:
        sources = {name: origin.name(name) for name in columns}
        indicators = {n: sources[n] for n in columns if n in origin.indicators}
    levels = np.where([name in indicators for name in columns], X == 1.0, there)
    found = Facts(
        n_rows=n_rows,
        smallest_part=part,
        smallest_slice=smallest,
        slices="class" if discrete else "slice",
        minorities=dict(zip(columns, there.sum(axis=0).tolist(), strict=True)),
        prints=prints,
        target=target_print,
        sources=sources,
        indicators=indicators,
        sizes=sizes,
        levels={
            **dict(zip(columns, count_in_parts(levels, parts), strict=True)),
            **_gap_counts(columns, gaps, parts),
        },
        rare=rare_rows(there, columns),
        shares={} if scored else largest_shares(X, parts, columns),
        n_held=round(validation_fraction * n_rows),
        n_candidates=max_candidates,
        n_read=0 if origin is None else origin.n_rows,
    )
    if origin is None or fingerprint is None:
        return found

    look = partial(
        observe, columns=columns, discrete=discrete, kernel=kernel, target=target,
        origin=replace(origin, earlier={}), scored=scored,
    )  # fmt: skip
    prints_then = origin.earlier_prints(fingerprint)
    increments = {}
    for length, earlier in origin.earlier.items():
        last = slice(n_rows - earlier.n_new, None)
        new = None
        if earlier.n_new:
            new = look(X[last], y[last], gaps=None if gaps is None else gaps[last])
        increments[length] = Increment(prints_then[length], earlier.n_new, new)
    return replace(found, increments=increments)


def _prints(
    columns: NDArray[Any],
    names: Sequence[str],
    fingerprint: Fingerprint,
    origin: ColumnOrigin | None,
) -> dict[str, str]:
    """Fingerprint columns under their names in the data of the site."""
    if origin is not None:
        found: dict[str, str] = {}
        for name in names:
            found |= origin.prints_of(name, fingerprint)
        return found
    own = zip(names, np.ascontiguousarray(columns.T), strict=True)
    return {name: fingerprint(column)[:PRINT_DIGITS] for name, column in own}


def _gap_counts(
    columns: Sequence[str], gaps: Mask | None, parts: Sequence[Mask]
) -> dict[str, tuple[int, ...]]:
    """Count values and gaps: a column that has both has two levels more."""
    if gaps is None:
        return {}
    places = np.flatnonzero(gaps.any(axis=0)).tolist()
    found = {}
    for words, there in (("values in", ~gaps), ("gaps in", gaps)):
        counts = count_in_parts(there[:, places], parts)
        for j, own in zip(places, counts, strict=True):
            found[f"{words} {columns[j]}"] = own
    return found


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
