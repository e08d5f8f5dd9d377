"""Stability: how often each variable is selected when rows are drawn again."""

from typing import Any, Self

import numpy as np

from fedsdr.arrays import Mask, Vector
from fedsdr.exceptions import InputError
from fedsdr.reporting.display import (
    ASIDE,
    FOUND,
    INK,
    LIMIT,
    MOST_BARS,
    WIDTH,
    Display,
    bars_height,
    name_bars,
    result_of,
)
from fedsdr.result import Result


class StabilityDisplay(Display):
    """Share of repetitions in which each variable was selected.

    Parameters
    ----------
    names : tuple of str
        Names, the most frequent first.
    frequencies : ndarray of shape (n_names,)
        Shares, from 0 to 1.
    selected : ndarray of bool, shape (n_names,)
        Variables of the reported selection.
    threshold : float or None, default=None
        Share above which a variable counts as stable.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure that was drawn on.
    axes_ : ndarray of matplotlib.axes.Axes
        One panel.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        frequencies: Vector,
        selected: Mask,
        threshold: float | None = None,
    ) -> None:
        self.names = names
        self.frequencies = frequencies
        self.selected = selected
        self.threshold = threshold

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        frequencies: Any = None,
        *,
        threshold: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw frequencies beside the selection of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted reducer.
        frequencies : array-like of shape (n_features,), optional
            Shares of repetitions; those of the result if not given.
        threshold : float, optional
            Share above which a variable counts as stable.
        ax : axes, optional
            One axes.

        Returns
        -------
        StabilityDisplay
            The display.
        """
        found = result_of(estimator)
        return cls.from_result(found, frequencies, threshold=threshold, ax=ax)

    @classmethod
    def from_result(
        cls,
        result: Result,
        frequencies: Any = None,
        *,
        threshold: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw frequencies beside the selection of a result.

        Parameters
        ----------
        result : Result
            Result.
        frequencies : array-like of shape (n_features,), optional
            Shares of repetitions; those of the result if not given.
        threshold : float, optional
            Share above which a variable counts as stable.
        ax : axes, optional
            One axes.

        Returns
        -------
        StabilityDisplay
            The display. Variables that were never selected are not drawn.
        """
        known = frequencies_of(result) if frequencies is None else frequencies
        if known is None:
            raise InputError(
                "the result has no selection frequencies: pass them, one per column"
            )
        shares = np.asarray(known, dtype=float)
        if shares.shape != result.support.shape:
            raise InputError(
                f"frequencies must have shape {result.support.shape}, one per column, "
                f"got {shares.shape}"
            )
        if not ((shares >= 0.0) & (shares <= 1.0)).all():
            raise InputError("frequencies must be shares from 0 to 1")
        listed = np.flatnonzero((shares > 0.0) | result.support)
        order = listed[np.argsort(-shares[listed], kind="stable")][:MOST_BARS]
        names = tuple(result.feature_names[j] for j in order)
        return cls(names, shares[order], result.support[order], threshold).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : axes, optional
            One axes; a new figure if not given.

        Returns
        -------
        StabilityDisplay
            The display.
        """
        size = (WIDTH + 0.6, bars_height(len(self.names)))
        (panel,) = self._take_panels(ax, 1, size)
        colours = np.where(self.selected, FOUND, ASIDE)
        panel.barh(range(len(self.names)), self.frequencies, height=0.62, color=colours)
        if self.threshold is not None:
            panel.axvline(self.threshold, color=LIMIT, linestyle="--", linewidth=1.2)
        panel.set_xlim(0.0, 1.0)
        name_bars(panel, self.names)
        text = "share of repetitions in which selected"
        panel.set_xlabel(text, fontsize=9, color=INK)
        panel.set_title("blue: selected in the fit", fontsize=10, color=INK)
        return self


def frequencies_of(result: Result) -> Any:
    """Look for selection frequencies in a result.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    array-like or None
        Shares, one per column; None if the result has none.
    """
    return getattr(getattr(result, "certainty", None), "frequencies", None)
