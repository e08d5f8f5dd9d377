"""Plots of the report: shares of the possible speed, bytes, certificates."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedsdr.reporting.cells import COLOURS, DPI, MARKERS, plain_metadata

Rows = Sequence[dict[str, str]]


def draw_shares(rows: Rows, path: Path) -> None:
    """Draw the speed of the sums as a share of what cannot be beaten."""
    rows = [row for row in rows if row.get("ratio")]
    labels = [
        f"{int(row['n']):,} x {int(row['d']):,} {row['case']}, "
        f"{row['threads']} thread{'s' if row['threads'] != '1' else ''}"
        for row in rows
    ]
    figure = Figure(figsize=(7, 0.3 * len(rows) + 1), layout="constrained")
    panel = figure.subplots()
    colours = [COLOURS[2] if row["part"] == "memory" else COLOURS[1] for row in rows]
    panel.barh(labels, [float(row["ratio"]) for row in rows], color=colours)
    panel.axvline(1.0, color="black", linewidth=0.8)
    panel.invert_yaxis()
    panel.set_xlabel("share of dsyrk (blue), of a plain read (orange)")
    figure.savefig(path, dpi=DPI, metadata=plain_metadata(path))


def draw_bytes(rows: dict[str, Rows], path: Path) -> None:
    """Draw what one site sends against the number of columns."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    panel = figure.subplots()
    wide = [(row["d"], float(row["bytes"]) / 1e6) for row in rows["wide_federation"]]
    study = [
        (row["d"], float(row["nodes_bytes_up"]) / 1e6)
        for row in rows["federation"]
        if row["part"] == "study"
    ]
    paper = [
        (row["d"], float(row["paper_bytes_up"]) / 1e6)
        for row in rows["federation"]
        if row["part"] == "paper"
    ]
    alone = [
        (row["d"], float(row["megabytes"]))
        for row in rows["fits"]
        if row["part"] == "sizes"
    ]
    series = {
        "study over nodes": study,
        "study of many columns over nodes": wide,
        "one process": alone,
        "the paper's protocol": paper,
    }
    for number, (name, points) in enumerate(series.items()):
        _line(panel, number, name, [(float(d), size) for d, size in points])
    sizes = np.geomspace(50, 100_000, 30)
    panel.plot(
        sizes,
        16e-6 * sizes * (sizes + 1),
        color="grey",
        linestyle="--",
        label="all pairs of columns",
    )
    panel.set_xlabel("columns d")
    panel.set_ylabel("MB of one site")
    _finish(figure, panel, path)


def draw_certificates(rows: dict[str, Rows], path: Path) -> None:
    """Draw the gap that was certified against the seconds that it took."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    panel = figure.subplots()
    fits = [row for row in rows["fits"] if row["part"] in ("genes", "blocks")]
    groups = {
        "default fits, genes": [row for row in fits if row["part"] == "genes"],
        "default fits, blocks": [row for row in fits if row["part"] == "blocks"],
        "solved once": rows["columns"],
    }
    for number, (name, own) in enumerate(groups.items()):
        for hollow in (False, True):
            points = [row for row in own if _is_screened(row) == hollow]
            panel.plot(
                [float(row["seconds"]) for row in points],
                # A gap of rounding errors has no place on a logarithmic axis.
                [max(float(row["gap"]), 1e-12) for row in points],
                linestyle="none",
                marker=MARKERS[number],
                markersize=5,
                color=COLOURS[number],
                fillstyle="none" if hollow else "full",
                label="" if hollow else name,
            )
    panel.axhline(1e-3, color="grey", linestyle="--", linewidth=0.8)
    panel.set_xlabel("seconds")
    panel.set_ylabel("certified gap")
    _finish(figure, panel, path)


def _is_screened(row: dict[str, str]) -> bool:
    """Return whether not all variables are certified."""
    among = row.get("among") or row["certified"]
    return float(among) < float(row["d"])


def _line(
    panel: Axes, number: int, label: str, points: list[tuple[float, float]]
) -> None:
    points = sorted(points)
    panel.plot(
        [x for x, _ in points],
        [y for _, y in points],
        color=COLOURS[number],
        marker=MARKERS[number],
        markersize=5,
        linewidth=1,
        label=label,
    )


def _finish(figure: Figure, panel: Axes, path: Path) -> None:
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.grid(alpha=0.3)
    panel.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=DPI, metadata=plain_metadata(path))
