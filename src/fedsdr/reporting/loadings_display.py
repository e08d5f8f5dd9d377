"""Loadings: how much each selected variable counts, per standard deviation."""

from typing import Any, Self

import numpy as np

from fedsdr.arrays import Matrix
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


class LoadingsDisplay(Display):
    """Loadings of the selected variables, one panel per direction.

    Parameters
    ----------
    names : tuple of str
        Names of the selected variables, the largest first.
    loadings : ndarray of shape (n_selected, n_directions)
        Coefficients per standard deviation.
    n_hidden : int, default=0
        Number of selected variables with smaller loadings that are not drawn.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure that was drawn on.
    axes_ : ndarray of matplotlib.axes.Axes
        Panels.
    """

    def __init__(
        self, names: tuple[str, ...], loadings: Matrix, n_hidden: int = 0
    ) -> None:
        self.names = names
        self.loadings = loadings
        self.n_hidden = n_hidden

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the loadings of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted reducer.
        ax : axes, optional
            Axes, one per direction.

        Returns
        -------
        LoadingsDisplay
            The display.
        """
        return cls.from_result(result_of(estimator), ax=ax)

    @classmethod
    def from_result(cls, result: Result, *, ax: Any = None) -> Self:
        """Draw the loadings of a result.

        Parameters
        ----------
        result : Result
            Result.
        ax : axes, optional
            Axes, one per direction.

        Returns
        -------
        LoadingsDisplay
            The display.
        """
        need_findings(result)
        loadings = result.loadings[result.support]
        order = np.argsort(-np.linalg.norm(loadings, axis=1), kind="stable")
        shown = order[:MOST_BARS]
        names = tuple(result.selected[j] for j in shown)
        return cls(names, loadings[shown], order.size - shown.size).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : axes, optional
            Axes, one per direction; a new figure if not given.

        Returns
        -------
        LoadingsDisplay
            The display.
        """
        n_panels = self.loadings.shape[1]
        size = (WIDTH + 0.6, bars_height(len(self.names)))
        limit = 1.1 * max(float(np.abs(self.loadings).max(initial=0.0)), 0.05)
        for k, panel in enumerate(self._take_panels(ax, n_panels, size)):
            values = self.loadings[:, k]
            colours = np.where(values < 0.0, LIMIT, FOUND)
            panel.barh(np.arange(values.size), values, height=0.62, color=colours)
            panel.axvline(0.0, color=INK, linewidth=0.8)
            panel.set_xlim(-limit, limit)
            name_bars(panel, self.names)
            panel.set_xlabel("loading per standard deviation", fontsize=9, color=INK)
            panel.set_title(f"direction {k + 1}", fontsize=10, color=INK)
            if self.n_hidden:
                panel.annotate(
                    f"and {self.n_hidden} smaller", (1.0, 0.0), ha="right", va="bottom",
                    xycoords="axes fraction", fontsize=8, color=INK,
                )  # fmt: skip
        return self
