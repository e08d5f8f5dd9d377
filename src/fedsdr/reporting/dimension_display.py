"""Eigenvalues, and the tests that chose the dimension."""

from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from fedsdr.arrays import Mask, Vector
from fedsdr.reporting.display import (
    ASIDE,
    FOUND,
    HEIGHT,
    INK,
    LIMIT,
    WIDTH,
    Display,
    result_of,
)
from fedsdr.result import Result

#: Steps of the table that test dimensions; the last one that was taken counts.
STEPS = ("sites", "dimension")


class DimensionDisplay(Display):
    """Share that y explains of each direction, and evidence for each dimension.

    Parameters
    ----------
    eigenvalues : ndarray of shape (n,)
        Share of the variance of each direction that y explains, also of directions that
        were considered and left out.
    chosen : ndarray of bool, shape (n,)
        Directions that were kept.
    noise : float or None, default=None
        Share that noise alone explains on average.
    evidence, needed : ndarray of shape (n,) or None, default=None
        Evidence for each direction, and how much a direction needs.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure that was drawn on.
    axes_ : ndarray of matplotlib.axes.Axes
        Panels: eigenvalues and, where there were tests, evidence.
    """

    def __init__(
        self,
        eigenvalues: Vector,
        chosen: Mask,
        noise: float | None = None,
        evidence: Vector | None = None,
        needed: Vector | None = None,
    ) -> None:
        self.eigenvalues = eigenvalues
        self.chosen = chosen
        self.noise = noise
        self.evidence = evidence
        self.needed = needed

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw how a fitted estimator chose its dimension.

        Parameters
        ----------
        estimator : estimator
            A fitted reducer.
        ax : axes, optional
            Axes, one or two, as `n_panels` says.

        Returns
        -------
        DimensionDisplay
            The display.
        """
        return cls.from_result(result_of(estimator), ax=ax)

    @classmethod
    def from_result(cls, result: Result, *, ax: Any = None) -> Self:
        """Draw how the dimension of a result was chosen.

        Parameters
        ----------
        result : Result
            Result.
        ax : axes, optional
            Axes, one or two, as `n_panels` says.

        Returns
        -------
        DimensionDisplay
            The display.
        """
        return cls.of(result).plot(ax=ax)

    @classmethod
    def of(cls, result: Result) -> Self:
        """Collect what is drawn of a result, without drawing.

        Parameters
        ----------
        result : Result
            Result.

        Returns
        -------
        DimensionDisplay
            The display.
        """
        for step in STEPS:
            rows = [row for row in result.validation if row["step"] == step]
            if rows:
                return cls._of_tests(rows, result)
        values = np.array(result.eigenvalues)
        return cls(values, np.full(values.size, not result.weak))

    @classmethod
    def _of_tests(cls, rows: list[dict[str, Any]], result: Result) -> Self:
        columns = {
            name: np.array([row[name] for row in rows], dtype=float)
            for name in ("eigenvalue", "noise_ratio", "evidence", "needed")
        }
        chosen = np.array([row["chosen"] for row in rows]) & (not result.weak)
        first = rows[0]["noise_ratio"]
        noise = rows[0]["eigenvalue"] / first if first > 0.0 else None
        return cls(
            columns["eigenvalue"], chosen, noise, columns["evidence"], columns["needed"]
        )

    @property
    def n_panels(self) -> int:
        """Number of panels: 2 where dimensions were tested, otherwise 1."""
        return 1 if self.evidence is None else 2

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : axes, optional
            Axes, one or two, as `n_panels` says; a new figure if not given.

        Returns
        -------
        DimensionDisplay
            The display.
        """
        panels = self._take_panels(ax, self.n_panels, (WIDTH * 0.85, HEIGHT))
        places = np.arange(1, self.eigenvalues.size + 1)
        colours = np.where(self.chosen, FOUND, ASIDE)
        panels[0].bar(places, self.eigenvalues, width=0.55, color=colours)
        panels[0].set_ylabel("share that y explains", fontsize=9, color=INK)
        if self.noise is not None:
            panels[0].axhline(self.noise, color=LIMIT, linestyle="--", linewidth=1.2)
            _note(panels[0], "dashed: noise alone")
        if self.evidence is not None and self.needed is not None:
            panels[1].bar(places, self.evidence, width=0.55, color=colours)
            panels[1].hlines(
                self.needed, places - 0.4, places + 0.4, color=LIMIT, linewidth=2
            )
            panels[1].set_yscale("symlog", linthresh=10.0)
            panels[1].set_ylim(bottom=0.0, top=4.0 * self._largest())
            panels[1].set_ylabel("evidence", fontsize=9, color=INK)
            _note(panels[1], "line: needed to be kept")
        for panel in panels:
            panel.set_xticks(places)
            panel.set_xlabel("direction", fontsize=9, color=INK)
            panel.grid(visible=False, axis="x")
        panels[0].set_ylim(0.0, 1.25 * max(self.eigenvalues.max(initial=0.0), 1e-3))
        kept = int(self.chosen.sum())
        panels[0].set_title(f"{kept} kept (blue)", fontsize=10, color=INK)
        return self

    def _largest(self) -> float:
        tests = [
            values for values in (self.evidence, self.needed) if values is not None
        ]
        return max(10.0, *(float(values.max(initial=0.0)) for values in tests))


def _note(panel: Axes, text: str) -> None:
    panel.annotate(
        text, (0.98, 0.97), xycoords="axes fraction", ha="right", va="top",
        fontsize=8, color=INK,
    )  # fmt: skip
