"""Sites side by side: whether the response follows a direction in the same way."""

from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError
from fedsdr.reporting.display import (
    ASIDE,
    FOUND,
    INK,
    Display,
    holds_classes,
    need_findings,
    result_of,
    shorten,
)
from fedsdr.reporting.smooth_curves import smooth_curve
from fedsdr.result import Result
from fedsdr.summaries.safe_bins import centred

#: Rows that a site needs for a curve, and sites that are drawn at most.
FEWEST, MOST_SITES = 10, 24

#: Panels side by side.
COLUMNS = 4


class SitesDisplay(Display):
    """Curve of each site, over the curve of all sites.

    It shows curves of single sites: for the analyst who holds all rows, or for a site
    that looks at itself.

    Parameters
    ----------
    position : ndarray of shape (n_rows,)
        Place of each row on one direction, less the mean of its site.
    y : ndarray of shape (n_rows,)
        Numbers; for classes, 1 for rows of the class in question.
    sites : ndarray of shape (n_rows,)
        Label of each row's site.
    name : str, default="y"
        What is on the vertical axis.
    direction : int, default=0
        Number of the direction, from 0.

    Attributes
    ----------
    curves_ : dict of str to (ndarray, ndarray)
        Curve of each site with at least 10 rows, and of "all sites".
    figure_ : matplotlib.figure.Figure
        Figure that was drawn on.
    axes_ : ndarray of matplotlib.axes.Axes
        One panel per site.
    """

    def __init__(
        self,
        position: Vector,
        y: Vector,
        sites: NDArray[Any],
        name: str = "y",
        direction: int = 0,
    ) -> None:
        self.position = position
        self.y = y
        self.sites = np.asarray(sites).astype(str)
        self.name = name
        self.direction = direction

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        sites: Any,
        *,
        direction: int = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the sites with a direction of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted reducer.
        X : array-like of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Responses. Of classes, the share of the last one is drawn.
        sites : array-like of shape (n_rows,)
            Label of each row's site.
        direction : int, default=0
            Number of the direction, from 0.
        ax : axes, optional
            Axes, one per site.

        Returns
        -------
        SitesDisplay
            The display.
        """
        found = result_of(estimator)
        return cls.from_result(found, X, y, sites, direction=direction, ax=ax)

    @classmethod
    def from_result(
        cls,
        result: Result,
        X: Any,
        y: Any,
        sites: Any,
        *,
        direction: int = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the sites with a direction of a result.

        Parameters
        ----------
        result : Result
            Result.
        X : array-like of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Responses. Of classes, the share of the last one is drawn.
        sites : array-like of shape (n_rows,)
            Label of each row's site.
        direction : int, default=0
            Number of the direction, from 0.
        ax : axes, optional
            Axes, one per site.

        Returns
        -------
        SitesDisplay
            The display.
        """
        need_findings(result)
        if not 0 <= direction < result.n_directions:
            raise InputError(
                f"direction must be from 0 to {result.n_directions - 1}, "
                f"got {direction}"
            )
        name, values = str(getattr(y, "name", None) or "y"), np.asarray(y)
        if holds_classes(result):
            last = np.unique(values)[-1]
            name, values = f"share of {name} {last}", values == last
        position = centred(result.place(X), sites)[:, direction]
        labels = np.asarray(sites)
        shown = cls(position, values.astype(float), labels, name, direction)
        return shown.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : axes, optional
            Axes, one per site, at most 24; a new figure if not given.

        Returns
        -------
        SitesDisplay
            The display.
        """
        labels, counts = np.unique(self.sites, return_counts=True)
        largest = np.sort(np.argsort(-counts, kind="stable")[:MOST_SITES])
        labels, counts = labels[largest], counts[largest]
        panels = self._take_panels(ax, labels.size, (2.5, 2.2), COLUMNS)
        everything = smooth_curve(self.position, self.y)
        self.curves_ = {"all sites": everything}
        low, high = np.quantile(self.y, [0.01, 0.99])
        margin = 0.08 * (high - low) or 1.0
        ends = np.quantile(self.position, [0.002, 0.998])
        for panel, label, count in zip(panels, labels, counts, strict=True):
            self._draw_site(panel, str(label), int(count))
            panel.plot(*everything, color=INK, linestyle=":", linewidth=1.3)
            panel.set_ylim(low - margin, high + margin)
            panel.set_xlim(*ends)
            panel.set_title(f"{shorten(str(label), 18)} ({count})", fontsize=9)
            panel.locator_params(nbins=5)
        across = f"direction {self.direction + 1} (dotted: all sites)"
        if ax is None:
            for place, panel in enumerate(panels):
                lowest = place + COLUMNS >= len(panels)
                panel.tick_params(labelbottom=lowest, labelleft=not place % COLUMNS)
            self.figure_.supxlabel(across, fontsize=9, color=INK)
            self.figure_.supylabel(shorten(self.name, 40), fontsize=9, color=INK)
        return self

    def _draw_site(self, panel: Axes, label: str, count: int) -> None:
        here = self.sites == label
        x, y = self.position[here], self.y[here]
        panel.plot(
            x[: 10 * MOST_SITES], y[: 10 * MOST_SITES], ".", color=ASIDE, markersize=2.5
        )
        if count >= FEWEST:
            grid, curve = smooth_curve(x, y)
            # A share stays one where a local line would leave its range.
            low, high = self.y.min(), self.y.max()
            self.curves_[label] = grid, np.clip(curve, low, high)
            panel.plot(*self.curves_[label], color=FOUND, linewidth=2)
