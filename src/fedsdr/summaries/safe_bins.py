"""Sums in bins that may be shown, without small cells and what gives them away."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.exceptions import InputError

#: Rows that a cell must have, and bins of a direction, if nothing else is said.
FEWEST_ROWS, N_BINS = 10, 10


@dataclass(frozen=True, slots=True, eq=False)
class SafeBins:
    """Sums in bins of one direction, of which small cells have been removed.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Ends of the bins.
    counts : ndarray of shape (n_bins, n_classes)
        Rows per bin and class, with one column if y holds numbers; NaN where hidden.
    means : ndarray of shape (n_bins,) or None
        Mean of y per bin, NaN where hidden; None if y holds classes.
    labels : tuple of str
        Names of the classes; empty if y holds numbers.
    minimum : int
        Rows that every cell shown has at least.
    """

    edges: Vector
    counts: Matrix
    means: Vector | None
    labels: tuple[str, ...]
    minimum: int

    @classmethod
    def of(
        cls,
        edges: Any,
        counts: Any,
        means: Any = None,
        *,
        labels: tuple[str, ...] = (),
        minimum: int = FEWEST_ROWS,
    ) -> "SafeBins":
        """Remove small cells from sums over all sites.

        Parameters
        ----------
        edges : array-like of shape (n_bins + 1,)
            Ends of the bins, ascending.
        counts : array-like of shape (n_bins,) or (n_bins, n_classes)
            Rows per bin, or per bin and class.
        means : array-like of shape (n_bins,), optional
            Mean of y per bin, if y holds numbers.
        labels : tuple of str, default=()
            Names of the classes, if y holds classes.
        minimum : int, default=10
            Rows that a cell must have to be shown.

        Returns
        -------
        SafeBins
            Sums without small cells, and without those that would give them away.
        """
        table = np.asarray(counts, dtype=float)
        table = table[:, None] if table.ndim == 1 else table
        ends = np.asarray(edges, dtype=float)
        _check(ends, table, means, labels)
        shown = suppress_small(table, minimum)
        safe = np.where(shown[:, None], table, np.nan)
        if means is None:
            return cls(ends, safe, None, labels, minimum)
        values = np.where(shown, np.asarray(means, dtype=float), np.nan)
        return cls(ends, safe, values, (), minimum)

    @property
    def shown(self) -> Mask:
        """Bins that are shown."""
        return np.asarray(np.isfinite(self.counts).all(axis=1))

    def table(self) -> dict[str, Any]:
        """Write the bins for a file.

        Returns
        -------
        dict
            Lists, with None where a bin is hidden.
        """
        return {
            "edges": self.edges.tolist(),
            "counts": _listed(self.counts),
            "means": None if self.means is None else _listed(self.means),
            "labels": list(self.labels),
            "minimum": self.minimum,
        }

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> "SafeBins":
        """Read bins that `table` wrote.

        Parameters
        ----------
        table : dict
            Lists.

        Returns
        -------
        SafeBins
            Bins.
        """
        means = table["means"]
        return cls(
            np.array(table["edges"], dtype=float),
            np.array(table["counts"], dtype=float),
            None if means is None else np.array(means, dtype=float),
            tuple(table["labels"]),
            int(table["minimum"]),
        )


def suppress_small(counts: Matrix, minimum: int) -> Mask:
    """Decide which bins may be shown beside the totals of each class.

    Parameters
    ----------
    counts : ndarray of shape (n_bins, n_classes)
        Rows per bin and class.
    minimum : int
        Rows that a cell must have; at least 2.

    Returns
    -------
    ndarray of bool, shape (n_bins,)
        Bins in which every cell has enough rows, less those that must be hidden too.

    Notes
    -----
    A bin with one small cell is hidden whole. What is hidden can be computed from a
    total less all that is shown. So one bin at least that is not small is hidden too,
    and more until `2 minimum` rows of each class are hidden, or all bins. These are the
    nearest ones, not the smallest: which they are then says nothing about counts, and a
    small cell can have any number of rows below the minimum, even for somebody who
    knows this rule.
    """
    if minimum < 2:
        raise InputError("minimum must be at least 2: one row is no group")
    table = np.asarray(counts, dtype=float)
    hidden: Mask = np.asarray((table < minimum).any(axis=1))
    small = np.flatnonzero(hidden)
    if not small.size:
        return ~hidden
    others = np.flatnonzero(~hidden)
    away = np.abs(others[:, None] - small).min(axis=1)
    for j in others[np.argsort(away, kind="stable")]:
        enough = (table[hidden].sum(axis=0) >= 2 * minimum).all()
        if hidden.sum() > small.size and enough:
            break
        hidden[j] = True
    return ~hidden


def bin_rows(
    positions: Matrix,
    y: Any,
    sites: Any = None,
    *,
    classes: bool,
    n_bins: int = N_BINS,
    minimum: int = FEWEST_ROWS,
) -> tuple[SafeBins, ...]:
    """Put rows into bins of each direction, as safe sums.

    Parameters
    ----------
    positions : ndarray of shape (n_rows, n_directions)
        Places of the rows on the directions.
    y : array-like of shape (n_rows,)
        Responses.
    sites : array-like of shape (n_rows,), optional
        Label of each row's site, whose mean is subtracted from the positions.
    classes : bool
        Whether y holds classes.
    n_bins : int, default=10
        Number of bins, of as many rows each.
    minimum : int, default=10
        Rows that a cell must have to be shown.

    Returns
    -------
    tuple of SafeBins
        One per direction.
    """
    values = np.asarray(y)
    labels: tuple[str, ...] = ()
    weights = np.ones((values.size, 1))
    if classes:
        levels = np.unique(values)
        labels = tuple(_label(level) for level in levels.tolist())
        weights = (values[:, None] == levels).astype(float)
    found = []
    for position in centred(positions, sites).T:
        ends = _round_ends(position, n_bins)
        place = np.searchsorted(ends[1:-1], position, side="right")
        counts = _sums(place, weights, ends.size - 1)
        means = None
        if not labels:
            sums = _sums(place, values.astype(float)[:, None], ends.size - 1)
            means = (sums / np.maximum(counts, 1.0)).ravel()
        found.append(SafeBins.of(ends, counts, means, labels=labels, minimum=minimum))
    return tuple(found)


def centred(values: Matrix, sites: Any) -> Matrix:
    """Subtract from each row the mean of its site.

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Rows.
    sites : array-like of shape (n,) or None
        Label of each row's site; None for one site.

    Returns
    -------
    ndarray of shape (n, k)
        Deviations.
    """
    if sites is None:
        return values - values.mean(axis=0)
    _, index = np.unique(np.asarray(sites).astype(str), return_inverse=True)
    counts = np.bincount(index)
    means = [np.bincount(index, column) / counts for column in values.T]
    return values - np.column_stack(means)[index]


def _round_ends(position: Vector, n_bins: int) -> Vector:
    """Divide a direction into bins of about as many rows, at round numbers.

    A quantile, and the smallest and largest value, is the value of one row. So ends are
    rounded to a tenth of the spread, and the outermost bins are drawn as wide as the
    others are on average, though they hold all rows beyond.
    """
    inner = np.quantile(position, np.linspace(0.0, 1.0, n_bins + 1)[1:-1])
    spread = float(inner[-1] - inner[0])
    unit = 10.0 ** np.floor(np.log10(spread)) / 10.0 if spread > 0.0 else 1.0
    inner = np.unique(np.round(inner / unit)) * unit
    width = (inner[-1] - inner[0]) / max(inner.size - 1, 1) or unit
    return np.concatenate([[inner[0] - width], inner, [inner[-1] + width]])


def _label(level: Any) -> str:
    """Write the name of a class; whole numbers without a decimal point."""
    return f"{level:g}" if isinstance(level, float) else str(level)


def _sums(place: Any, values: Matrix, n_bins: int) -> Matrix:
    return np.column_stack(
        [np.bincount(place, column, minlength=n_bins) for column in values.T]
    )


def _listed(values: Matrix) -> Any:
    """Write lists with None where there is no number, which JSON does not have."""
    found = values.astype(object)
    found[~np.isfinite(values)] = None
    return found.tolist()


def _check(edges: Vector, counts: Matrix, means: Any, labels: tuple[str, ...]) -> None:
    n_bins, n_classes = counts.shape
    if edges.size != n_bins + 1 or (np.diff(edges) <= 0.0).any():
        raise InputError(
            f"edges must be {n_bins + 1} ascending numbers, one more than bins"
        )
    if (counts < 0.0).any() or not np.isfinite(counts).all():
        raise InputError("counts must be numbers of rows")
    if means is None and len(labels) != n_classes:
        raise InputError("give means of y, or one label per class")
    if means is not None and (n_classes != 1 or len(means) != n_bins):
        raise InputError("means must be as many as bins, with one count per bin")
