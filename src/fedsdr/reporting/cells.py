"""Plot of a table, with one panel per condition and metric."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

#: Colours that colour-blind readers can distinguish (Okabe and Ito).
COLOURS = ("#000000", "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "sDo^vPX"
DPI = 110

#: Number of panels side by side, if the table does not determine it.
WIDEST = 3


def draw_cells(
    frame: pd.DataFrame,
    path: Path,
    *,
    x_label: str = "",
    logarithmic: Sequence[str] = (),
) -> None:
    """Draw means with bars of two standard errors.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns condition and metric (one panel per pair), setting (along the axis),
        series, mean and error.
    path : Path
        File for the plot; its extension determines the format.
    x_label : str, default=""
        Label of the axis with the settings.
    logarithmic : sequence of str, default=()
        Metrics that are drawn on a logarithmic axis.
    """
    series = list(frame.series.unique())
    panels = list(frame.groupby(["condition", "metric"], sort=False))
    metrics = frame.metric.nunique()
    columns = metrics if metrics < len(panels) else min(WIDEST, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(4.2 * columns, 2.7 * rows + 0.6), layout="constrained")
    axes = np.ravel(figure.subplots(rows, columns, squeeze=False))
    for panel, ((condition, metric), here) in zip(axes, panels, strict=False):
        places = {s: k for k, s in enumerate(here.setting.unique())}
        for number, name in enumerate(series):
            own = here[here.series == name]
            shift = 0.7 * ((number + 0.5) / len(series) - 0.5)
            panel.errorbar(
                [places[s] + shift for s in own.setting], own["mean"],
                yerr=2 * own.error.fillna(0.0), label=name, linestyle="none",
                marker=MARKERS[number % len(MARKERS)], markersize=4,
                color=COLOURS[number % len(COLOURS)],
            )  # fmt: skip
        panel.set_xticks(list(places.values()), list(places))
        panel.set_title(f"{metric}, {condition}", fontsize=10)
        panel.set_xlabel(x_label)
        panel.grid(axis="y", alpha=0.3)
        if metric in logarithmic:
            _scale(panel)
    for panel in axes[len(panels) :]:
        panel.set_axis_off()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(series), frameon=False
    )
    figure.savefig(path, dpi=DPI, metadata=plain_metadata(path))


def _scale(panel: Axes) -> None:
    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter(NullFormatter())


def plain_metadata(path: Path) -> dict[str, str | None]:
    """Return metadata without version and date: equal data give equal files.

    Parameters
    ----------
    path : Path
        File for the plot.

    Returns
    -------
    dict of str to str or None
        Metadata for ``savefig``.
    """
    return {"Software": None} if path.suffix == ".png" else {"Date": None}
