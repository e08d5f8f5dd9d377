"""Selection path: which variables enter as the penalty falls, with certificates."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from sklearn.base import clone

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import InputError
from fedsdr.reporting.cells import COLOURS
from fedsdr.reporting.display import (
    ASIDE,
    FOUND,
    HEIGHT,
    INK,
    LIMIT,
    WIDTH,
    Display,
    result_of,
    shorten,
)
from fedsdr.result import Result
from fedsdr.telling import tell

#: Variables whose lines have a name.
NAMED = 6

#: Smallest gap that is drawn: below it is rounding.
ROUNDING = 1e-16


class SelectionPathDisplay(Display):
    """Variables along a path of penalties, and the proved gap at each penalty.

    Parameters
    ----------
    penalties : ndarray of shape (n,)
        Penalties.
    names : tuple of str
        Names of the variables that are selected somewhere.
    sizes : ndarray of shape (n, n_names)
        Length of each variable's loadings in the solution of eq2.10 at each penalty.
    gaps : ndarray of shape (n,)
        Certified relative gap at each penalty.
    chosen : float
        Penalty of the fit.
    tol : float
        Gap that was asked for.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure that was drawn on.
    axes_ : ndarray of matplotlib.axes.Axes
        Two panels.
    """

    def __init__(
        self,
        penalties: Vector,
        names: tuple[str, ...],
        sizes: Matrix,
        gaps: Vector,
        chosen: float,
        tol: float = 1e-6,
    ) -> None:
        self.penalties = penalties
        self.names = names
        self.sizes = sizes
        self.gaps = gaps
        self.chosen = chosen
        self.tol = tol

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sites: Any = None,
        penalties: Any = None,
        ax: Any = None,
    ) -> Self:
        """Fit clones of an estimator at several penalties, and draw the path.

        Parameters
        ----------
        estimator : FedSSIR
            A fitted estimator.
        X : array-like of shape (n_rows, n_features)
            Rows of the fit.
        y : array-like of shape (n_rows,)
            Responses.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site.
        penalties : array-like, optional
            Penalties; 12 from a third of the chosen one to six times it if not given.
        ax : axes, optional
            Two axes.

        Returns
        -------
        SelectionPathDisplay
            The display.
        """
        found = result_of(estimator)
        grid = found.penalty * np.geomspace(1.0 / 3.0, 6.0, 12)
        if penalties is not None:
            grid = np.sort(np.asarray(penalties, dtype=float))
        plain = clone(estimator).set_params(
            n_directions=max(found.n_directions, 1), refit=False
        )
        results = _fit_ascending(plain, grid, (X, y, sites))
        return cls.from_results(results, found.penalty, ax=ax)

    @classmethod
    def from_results(
        cls, results: Sequence[Result], chosen: float, *, ax: Any = None
    ) -> Self:
        """Draw results of one data set at several penalties.

        Parameters
        ----------
        results : sequence of Result
            Results without a second stage (``refit=False``).
        chosen : float
            Penalty that was chosen.
        ax : axes, optional
            Two axes.

        Returns
        -------
        SelectionPathDisplay
            The display.
        """
        if not results:
            raise InputError("a path needs results at one penalty at least")
        ordered = sorted(results, key=lambda one: one.penalty)
        every = np.array([np.linalg.norm(one.loadings, axis=1) for one in ordered])
        used = np.flatnonzero(np.any([one.support for one in ordered], axis=0))
        return cls(
            np.array([one.penalty for one in ordered]),
            tuple(ordered[0].feature_names[j] for j in used),
            every[:, used],
            np.array([np.nan if one.gap is None else one.gap for one in ordered]),
            chosen,
            float(ordered[0].settings.get("tol", 1e-6)),
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : axes, optional
            Two axes; a new figure if not given.

        Returns
        -------
        SelectionPathDisplay
            The display.
        """
        panels = self._take_panels(ax, 2, (WIDTH + 0.4, HEIGHT + 0.2))
        self._draw_sizes(panels[0])
        gaps = np.maximum(self.gaps, ROUNDING)
        panels[1].plot(self.penalties, gaps, "o-", color=FOUND, markersize=4)
        panels[1].axhline(self.tol, color=LIMIT, linestyle="--", linewidth=1.2)
        panels[1].set_yscale("log")
        ends = [self.tol, *gaps[np.isfinite(gaps)]]
        panels[1].set_ylim(min(ends) / 5.0, 10.0 * max(ends))
        panels[1].set_ylabel("proved gap to the optimum", fontsize=9, color=INK)
        panels[1].annotate(
            "dashed: tolerance", (0.98, 0.97), xycoords="axes fraction", ha="right",
            va="top", fontsize=8, color=INK,
        )  # fmt: skip
        for panel in panels:
            panel.set_xscale("log")
            panel.axvline(self.chosen, color=INK, linestyle=":", linewidth=1.2)
            panel.set_xlabel("penalty (dotted: chosen)", fontsize=9, color=INK)
            panel.minorticks_off()
            ticks = np.geomspace(self.penalties[0], self.penalties[-1], 4)
            panel.set_xticks(ticks, [f"{tick:.2g}" for tick in ticks])
        return self

    def _draw_sizes(self, panel: Axes) -> None:
        order = np.argsort(-self.sizes.sum(axis=0), kind="stable")
        for place, j in enumerate(order):
            named = place < NAMED
            panel.plot(
                self.penalties, self.sizes[:, j],
                color=COLOURS[place % len(COLOURS)] if named else ASIDE,
                linestyle=("-", "--")[place % 2] if named else "-",
                linewidth=1.6 if named else 0.8,
                label=shorten(self.names[j], 18) if named else None,
            )  # fmt: skip
        # Room for the names above the longest line.
        panel.set_ylim(0.0, 1.45 * max(1.0, float(self.sizes.max(initial=0.0))))
        panel.set_ylabel("length of loadings", fontsize=9, color=INK)
        if order.size:
            legend = panel.legend(loc="upper center", ncols=2, fontsize=8, framealpha=1)
            legend.get_frame().set_edgecolor("none")


def _fit_ascending(
    estimator: Any, penalties: Vector, rows: tuple[Any, Any, Any]
) -> list[Result]:
    """Fit at each penalty, up to the first at which no variable is left."""
    X, y, sites = rows
    results: list[Result] = []
    with warnings.catch_warnings():
        # What a fit at an unusual penalty warns of is not about the chosen one.
        warnings.simplefilter("ignore", UserWarning)
        for done, rho in enumerate(penalties):
            tell("fitting along the path", done, len(penalties))
            try:
                fitted = estimator.set_params(penalty=float(rho)).fit(X, y, sites=sites)
            except InputError:
                if not results:
                    raise
                break
            results.append(fitted.result_)
    return results
