"""What the method assumes of the selected variables, looked at one by one."""

from typing import Any, Self

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.reporting.display import (
    FOUND,
    INK,
    LIMIT,
    MOST_BARS,
    WIDTH,
    Display,
    bars_height,
    name_bars,
    need_findings,
    result_of,
)
from fedsdr.result import Result
from fedsdr.summaries.safe_bins import centred

#: Skewness from which `SkewnessWarning` is given, and the share of a variable's
#: variance in curves of the directions that begins to matter.
SKEWED, CURVED = 1.5, 0.05


class AssumptionsDisplay(Display):
    r"""Skewness of the selected variables, and how curved they are in the directions.

    Parameters
    ----------
    names : tuple of str
        Names of the selected variables.
    skewness : ndarray of shape (n_names,)
        Skewness within sites.
    curvature : ndarray of shape (n_names,)
        Share of each variable's variance within sites that squares of the directions
        explain beyond the directions themselves.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure that was drawn on.
    axes_ : ndarray of matplotlib.axes.Axes
        Two panels.

    Notes
    -----
    SIR needs :math:`E[x \mid B'x]` to be linear in :math:`B'x`. The curvature is the
    gain in :math:`R^2` from adding the squares of :math:`B'x` to a regression of a
    variable on :math:`B'x`; it is 0 in the population for normal x.
    """

    def __init__(
        self, names: tuple[str, ...], skewness: Vector, curvature: Vector
    ) -> None:
        self.names = names
        self.skewness = skewness
        self.curvature = curvature

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, sites: Any = None, ax: Any = None
    ) -> Self:
        """Look at the variables that a fitted estimator selected.

        Parameters
        ----------
        estimator : estimator
            A fitted reducer.
        X : array-like of shape (n_rows, n_features)
            Rows.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site.
        ax : axes, optional
            Two axes.

        Returns
        -------
        AssumptionsDisplay
            The display.
        """
        return cls.from_result(result_of(estimator), X, sites=sites, ax=ax)

    @classmethod
    def from_result(
        cls, result: Result, X: Any, *, sites: Any = None, ax: Any = None
    ) -> Self:
        """Look at the variables that a result selected.

        Parameters
        ----------
        result : Result
            Result.
        X : array-like of shape (n_rows, n_features)
            Rows.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site.
        ax : axes, optional
            Two axes.

        Returns
        -------
        AssumptionsDisplay
            The display.
        """
        need_findings(result)
        columns = centred(result.selected_columns(X), sites)
        axes = centred(result.place(X), sites)
        skewness, curvature = _skewness(columns), _curvature(columns, axes)
        worst = np.maximum(np.abs(skewness) / SKEWED, curvature / CURVED)
        order = np.argsort(-worst, kind="stable")[:MOST_BARS]
        names = tuple(result.selected[j] for j in order)
        return cls(names, skewness[order], curvature[order]).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : axes, optional
            Two axes; a new figure if not given.

        Returns
        -------
        AssumptionsDisplay
            The display.
        """
        size = (WIDTH + 0.4, bars_height(len(self.names)))
        panels = self._take_panels(ax, 2, size)
        shown = (
            (np.abs(self.skewness), SKEWED, "skewness, without its sign", 2.5),
            (self.curvature, CURVED, "curved in the directions, share", 0.1),
        )
        for panel, (values, limit, label, least) in zip(panels, shown, strict=True):
            colours = np.where(values > limit, LIMIT, FOUND)
            panel.barh(range(values.size), values, height=0.62, color=colours)
            panel.axvline(limit, color=INK, linestyle="--", linewidth=1.0)
            panel.set_xlim(0.0, max(least, 1.08 * float(values.max(initial=0.0))))
            panel.set_xlabel(label, fontsize=9, color=INK)
            name_bars(panel, self.names)
        return self


def _skewness(columns: Matrix) -> Vector:
    spread = columns.std(axis=0)
    z = columns / np.where(spread > 0.0, spread, 1.0)
    return np.asarray((z**3).mean(axis=0))


def _curvature(columns: Matrix, axes: Matrix) -> Vector:
    """Compute the gain in R squared from the squares of the axes."""
    squares = np.column_stack([axes, axes**2])
    total = (columns**2).sum(axis=0)
    lines = _explained(columns, axes)
    gain = _explained(columns, squares - squares.mean(axis=0)) - lines
    return np.asarray(np.maximum(gain, 0.0) / np.where(total > 0.0, total, 1.0))


def _explained(columns: Matrix, by: Matrix) -> Vector:
    basis, sizes, _ = np.linalg.svd(by, full_matrices=False)
    kept = basis[:, sizes > 1e-10 * sizes.max(initial=1e-300)]
    return np.asarray(((kept.T @ columns) ** 2).sum(axis=0))
