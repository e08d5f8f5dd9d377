"""Tables, fitted exponents and the picture of how times grow."""

import math
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.growth_systems import MEMORY_GB, SYSTEMS
from benchmarks.ledger import Ledger
from fedsdr.reporting.cells import COLOURS, DPI, MARKERS, plain_metadata

Rows = list[dict[str, str]]
#: The system that others are compared with.
OURS = "FedSSIR"
#: What grows in each sweep: the column, its name, and from where exponents are fitted.
GROWING = {
    "variables": ("n_features", "variables d", 1_000),
    "wide": ("n_features", "variables d, N = 500", 1_000),
    "rows": ("n_rows", "rows N", 2_000),
    "sites": ("n_sites", "sites m", 5),
    "directions": ("n_directions", "directions K", 1),
}
#: Sizes of what does not grow, and those of one sweep that differ.
USUAL = {"n_rows": "2000", "n_features": "200", "n_sites": "10", "n_directions": "1"}
OTHER = {"wide": {"n_rows": "500"}}


def write_page(ledger: Ledger, folder: Path) -> str:
    """Write the page and its picture, and return the text of the page."""
    last = ledger.rows[-1]
    dates = " to ".join(sorted({row["date"] for row in ledger.rows}))
    lines = [
        "# How times grow",
        "",
        (
            f"`python -m benchmarks.growth`, code at commit {ledger.commit}, {dates}, "
            f"{last['cpus']} CPUs, Python {last['python']}, numpy {last['numpy']}, "
            "scipy "
            f"{last['scipy']}. CPU seconds of one core, one fit per cell, each in a "
            "process of its own; N = 2,000 rows at 10 sites, d = 200, K = 1 where a "
            "sweep does not say otherwise. `>`: stopped after that time, or at that "
            "memory; larger problems of the sweep were left out. *FedSSIR* chooses K "
            "and the penalty; *LassoCV* chooses the penalty; *LassoSIR* is told K; the "
            "others choose nothing."
        ),
        "",
        "![times](growth.png)",
        "",
    ]
    lines += not_measured(ledger.rows)
    for sweep in measured(ledger.rows):
        lines += sweep_table(sweep, ledger.rows)
    lines += accuracy_table(ledger.rows)
    text = "\n".join(lines)
    (folder / "growth.md").write_text(text)
    draw_times(ledger.rows, folder / "growth.png")
    return text


def of_sweep(sweep: str, rows: Rows) -> Rows:
    """Return the rows of one sweep: all other sizes are the usual ones."""
    usual = {**USUAL, **OTHER.get(sweep, {})}
    del usual[GROWING[sweep][0]]
    return [row for row in rows if all(row[name] == usual[name] for name in usual)]


def measured(rows: Rows) -> list[str]:
    """Return the sweeps of which some fit has ended."""
    return [
        sweep
        for sweep in GROWING
        if any(row["stopped"] == "0" for row in of_sweep(sweep, rows))
    ]


def not_measured(rows: Rows) -> list[str]:
    """Return a sentence with the systems and sweeps of which no fit has ended."""
    known = {row["system"] for row in rows}
    there = measured(rows)
    missing = [
        *(f"*{name}*" for name in SYSTEMS if name not in known),
        *(f"more {GROWING[sweep][1]}" for sweep in GROWING if sweep not in there),
    ]
    return (
        [f"Not measured with this code: {'; '.join(missing)}.", ""] if missing else []
    )


def sweep_table(sweep: str, rows: Rows) -> list[str]:
    """Return the seconds of every system, with the exponent of their growth."""
    grows, label, start = GROWING[sweep]
    own = of_sweep(sweep, rows)
    sizes = sorted({int(row[grows]) for row in own})
    lines = [
        f"## More {label}",
        "",
        f"| {label} | {' | '.join(f'{size:,}' for size in sizes)} | exponent |",
        "|---|" + "--:|" * (len(sizes) + 1),
    ]
    for system in dict.fromkeys(row["system"] for row in own):
        found = {int(row[grows]): row for row in own if row["system"] == system}
        cells = [_seconds(found.get(size)) for size in sizes]
        power = exponent(list(found.values()), grows, start)
        lines.append(f"| {system} | {' | '.join(cells)} | {power} |")
    lines += ["", f"Exponents are fitted from {start:,} on.", ""]
    return lines + ratio_table(own, grows, sizes)


def ratio_table(rows: Rows, grows: str, sizes: list[int]) -> list[str]:
    """Return the seconds of every rival over those of the default fit."""
    times = {
        (row["system"], int(row[grows])): row for row in rows if row["seconds"] != ""
    }
    ours = {size: times[OURS, size] for size in sizes if (OURS, size) in times}
    lines = [
        f"Seconds over those of {OURS}:",
        "",
        f"| | {' | '.join(f'{size:,}' for size in sizes)} |",
        "|---|" + "--:|" * len(sizes),
    ]
    for system in dict.fromkeys(row["system"] for row in rows):
        if system == OURS:
            continue
        cells = [_ratio(times.get((system, size)), ours.get(size)) for size in sizes]
        lines.append(f"| {system} | {' | '.join(cells)} |")
    return [*lines, ""]


def exponent(rows: Rows, grows: str, start: int) -> str:
    """Return the power of the size with which seconds grow, from a line of logs."""
    points = [
        (math.log(int(row[grows])), math.log(float(row["seconds"])))
        for row in rows
        if row["stopped"] == "0" and int(row[grows]) >= start
    ]
    if len(points) < 3:
        return "-"
    return f"{np.polyfit(*np.transpose(points), 1)[0]:.2f}"


def accuracy_table(rows: Rows) -> list[str]:
    """Return what each system found: rates, distance, memory, where it ended."""
    lines = [
        "## What was found",
        "",
        "| system | N | d | m | K | seconds | peak GB | TPR | FPR | Dist |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    names = ("n_rows", "n_features", "n_sites", "n_directions", "seconds")
    for row in rows:
        if row["stopped"] == "0" and row.get("dist"):
            values = [*(row[name] for name in names), row["peak_gb"]]
            values += [row[name] for name in ("tpr", "fpr", "dist")]
            lines.append(f"| {row['system']} | {' | '.join(values)} |")
    note = "Peak GB: largest memory of the process, data included."
    return [*lines, "", note, ""]


def draw_times(rows: Rows, path: Path) -> None:
    """Draw seconds against the size of every sweep, on logarithmic axes."""
    sweeps = measured(rows)
    columns = min(2, len(sweeps))
    height = -(-len(sweeps) // columns)
    figure = Figure(figsize=(5.5 * columns, 3.75 * height), layout="constrained")
    panels = np.ravel(figure.subplots(height, columns, squeeze=False))
    systems = list(dict.fromkeys(row["system"] for row in rows))
    for panel, sweep in zip(panels, sweeps, strict=False):
        _draw_sweep(panel, sweep, of_sweep(sweep, rows), systems)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=2 * columns, frameon=False
    )
    figure.savefig(path, dpi=DPI, metadata=plain_metadata(path))


def _draw_sweep(panel: Axes, sweep: str, rows: Rows, systems: list[str]) -> None:
    grows, label, _ = GROWING[sweep]
    for number, system in enumerate(systems):
        turn, place = divmod(number, len(COLOURS))
        own = sorted(
            (int(row[grows]), float(row["seconds"]))
            for row in rows
            if row["system"] == system and row["stopped"] == "0"
        )
        panel.plot(
            [size for size, _ in own],
            [seconds for _, seconds in own],
            color=COLOURS[place],
            marker=MARKERS[place],
            linestyle=("-", "--")[turn % 2],
            markersize=4,
            linewidth=1,
            label=system,
        )
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel(label)
    panel.set_ylabel("CPU seconds")
    panel.grid(alpha=0.3)


def _seconds(row: dict[str, str] | None) -> str:
    if row is None:
        return ""
    if row["stopped"] == "memory":
        return f"> {MEMORY_GB} GB"
    sign = "> " if row["stopped"] == "1" else ""
    return f"{sign}{float(row['seconds']):.3g}"


def _ratio(row: dict[str, str] | None, ours: dict[str, str] | None) -> str:
    if row is None or ours is None or ours["stopped"] != "0":
        return ""
    sign = "> " if row["stopped"] == "1" else ""
    return f"{sign}{float(row['seconds']) / float(ours['seconds']):.2g}"
