"""Sufficient summary plot: the response against each direction."""

from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.exceptions import InputError
from fedsdr.reporting.cells import COLOURS
from fedsdr.reporting.display import (
    ASIDE,
    FOUND,
    HEIGHT,
    INK,
    WIDTH,
    Display,
    holds_classes,
    need_findings,
    result_of,
    shorten,
)
from fedsdr.reporting.smooth_curves import density, smooth_curve
from fedsdr.result import Result
from fedsdr.summaries.safe_bins import centred

#: Points that are drawn; a curve is computed from all of them.
MOST_POINTS = 3000

#: Styles of lines, so that classes differ in more than colour.
LINES = ("-", "--", "-.", ":")


class SummaryDisplay(Display):
    """The response against each direction: points and a curve, or densities of classes.

    It shows rows. For rows that may not be shown, see `BinnedSummaryDisplay`.

    Parameters
    ----------
    positions : ndarray of shape (n_rows, n_directions)
        Places of the rows on the axes of the loadings.
    y : ndarray of shape (n_rows,)
        Responses.
    classes : bool, default=False
        Whether y holds classes.
    name : str, default="y"
        Name of the response.

    Attributes
    ----------
    curves_ : list of (ndarray, ndarray)
        Places and values of the curve in each panel, if y holds numbers.
    densities_ : list of dict
        Density of each class in each panel, and the "grid", if y holds classes.
    figure_ : matplotlib.figure.Figure
        Figure that was drawn on.
    axes_ : ndarray of matplotlib.axes.Axes
        Panels.
    """

    def __init__(
        self,
        positions: Matrix,
        y: NDArray[Any],
        *,
        classes: bool = False,
        name: str = "y",
    ) -> None:
        self.positions = np.asarray(positions, dtype=float)
        self.y = np.asarray(y)
        self.classes = classes
        self.name = name
        if self.positions.ndim != 2 or len(self.positions) != len(self.y):
            raise InputError(
                f"X and y must have as many rows, got {len(self.positions)} and "
                f"{len(self.y)}"
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, sites: Any = None, ax: Any = None
    ) -> Self:
        """Draw rows with the directions of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted reducer.
        X : array-like of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Responses.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site: positions are then deviations from its mean.
        ax : axes, optional
            Axes, one per direction.

        Returns
        -------
        SummaryDisplay
            The display.
        """
        return cls.from_result(result_of(estimator), X, y, sites=sites, ax=ax)

    @classmethod
    def from_result(
        cls, result: Result, X: Any, y: Any, *, sites: Any = None, ax: Any = None
    ) -> Self:
        """Draw rows with the directions of a result.

        Parameters
        ----------
        result : Result
            Result.
        X : array-like of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Responses.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site: positions are then deviations from its mean.
        ax : axes, optional
            Axes, one per direction.

        Returns
        -------
        SummaryDisplay
            The display.
        """
        need_findings(result)
        classes = holds_classes(result)
        name = str(getattr(y, "name", None) or "y")
        positions = result.place(X)
        if sites is not None:
            positions = centred(positions, sites)
        shown = cls(positions, np.asarray(y), classes=classes, name=name)
        return shown.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : axes, optional
            Axes, one per direction; a new figure if not given.

        Returns
        -------
        SummaryDisplay
            The display.
        """
        panels = self._take_panels(ax, self.positions.shape[1], (WIDTH, HEIGHT))
        self.curves_: list[tuple[Any, Any]] = []
        self.densities_: list[dict[str, Any]] = []
        draw = self._draw_classes if self.classes else self._draw_points
        for k, panel in enumerate(panels):
            draw(panel, k)
            panel.set_xlabel(f"direction {k + 1}", fontsize=9, color=INK)
        return self

    def _draw_points(self, panel: Axes, k: int) -> None:
        x, y = self.positions[:, k], self.y.astype(float)
        step = -(-x.size // MOST_POINTS)
        panel.plot(
            x[::step], y[::step], ".", color=ASIDE, markersize=3, alpha=0.5,
            rasterized=x.size > 500,
        )  # fmt: skip
        self.curves_.append(smooth_curve(x, y))
        panel.plot(*self.curves_[-1], color=FOUND, linewidth=2)
        panel.set_ylabel(shorten(self.name), fontsize=9, color=INK)

    def _draw_classes(self, panel: Axes, k: int) -> None:
        x = self.positions[:, k]
        low, high = x.min(), x.max()
        margin = 0.08 * (high - low)
        grid = np.linspace(low - margin, high + margin, 200)
        found: dict[str, Any] = {"grid": grid}
        for place, label in enumerate(np.unique(self.y)):
            values = density(x[self.y == label], grid)
            found[str(label)] = values
            colour = COLOURS[(2, 1, 3, 4, 5, 6, 0)[place % 7]]
            style = LINES[place % len(LINES)]
            text = shorten(f"{self.name} {label}")
            panel.plot(grid, values, style, color=colour, label=text)
            panel.fill_between(grid, values, color=colour, alpha=0.12, linewidth=0)
        self.densities_.append(found)
        panel.set_ylabel("density", fontsize=9, color=INK)
        panel.set_ylim(0.0, 1.3 * panel.get_ylim()[1])
        panel.legend(fontsize=8, frameon=False, ncols=2, loc="upper left")
