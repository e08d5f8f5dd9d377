"""Plot of means against a number, with one panel per setting."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fedsdr.reporting.cells import COLOURS, DPI, MARKERS, plain_metadata


@dataclass(frozen=True, slots=True)
class Look:
    """Appearance of curves.

    Parameters
    ----------
    x_label, y_label : str
        Names of the axes.
    joined : bool, default=False
        Whether points of a series are joined by lines.
    """

    x_label: str
    y_label: str
    joined: bool = False


def draw_curves(
    frame: pd.DataFrame, path: Path, look: Look, lines: pd.DataFrame | None = None
) -> None:
    """Draw means with bars of two standard errors, and straight lines.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns setting (one panel each), series (one colour each), group (one marker
        each), x, mean and error.
    path : Path
        File for the plot; its extension determines the format.
    look : Look
        Appearance of the curves.
    lines : pandas.DataFrame or None, default=None
        Straight lines: columns setting, series, slope and intercept.
    """
    settings = list(frame.setting.unique())
    columns = min(3, len(settings))
    rows = -(-len(settings) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.1 * rows + 0.6), layout="constrained")
    axes = np.ravel(figure.subplots(rows, columns, squeeze=False))
    series, groups = list(frame.series.unique()), list(frame.group.unique())
    for panel, setting in zip(axes, settings, strict=False):
        here = frame[frame.setting == setting]
        for colour, name in zip(COLOURS, series, strict=False):
            for marker, group in zip(MARKERS, groups, strict=False):
                own = here[(here.series == name) & (here.group == group)]
                panel.errorbar(
                    own.x, own["mean"], yerr=2 * own.error.fillna(0.0), color=colour,
                    marker=marker, markersize=4, linewidth=1,
                    linestyle="-" if look.joined else "none",
                    label=f"{name}, {group}" if group else name,
                )  # fmt: skip
            if lines is not None:
                own = lines[(lines.setting == setting) & (lines.series == name)]
                _draw_lines(panel, own, np.asarray(here.x, dtype=float), colour)
        panel.set_title(f"setting {setting}", fontsize=10)
        panel.set_xlabel(look.x_label)
        panel.set_ylabel(look.y_label)
        panel.set_ylim(bottom=0.0)
        panel.grid(alpha=0.3)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, frameon=False
    )
    figure.savefig(path, dpi=DPI, metadata=plain_metadata(path))


def _draw_lines(
    panel: Axes, lines: pd.DataFrame, x: NDArray[np.float64], colour: str
) -> None:
    for slope, intercept in zip(lines.slope, lines.intercept, strict=True):
        ends = np.array([x.min(), x.max()])
        panel.plot(ends, intercept + slope * ends, color=colour, linewidth=0.8)
