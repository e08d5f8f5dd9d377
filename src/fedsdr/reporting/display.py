"""What all displays share: panels, and one restrained style."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fedsdr.exceptions import InputError
from fedsdr.reporting.cells import COLOURS
from fedsdr.result import NOTHING, Result

#: Text and lines; what was found; what it is compared with; what is set aside.
INK, FOUND, LIMIT, ASIDE = "#333333", COLOURS[2], COLOURS[1], "#999999"

#: Variables that are drawn at most, and letters of a name.
MOST_BARS, LONGEST = 30, 28

#: Inches: width of a panel, its height, and the height of one bar.
WIDTH, HEIGHT, BAR = 4.4, 3.1, 0.27


class Display:
    """A picture that knows what it was drawn on.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure that was drawn on.
    axes_ : ndarray of matplotlib.axes.Axes
        Panels, one after the other.
    """

    figure_: Figure
    axes_: NDArray[Any]

    def _take_panels(
        self, ax: Any, n_panels: int, size: tuple[float, float], columns: int = 3
    ) -> list[Axes]:
        """Use the caller's axes, or make a figure with as many panels as needed."""
        if ax is None:
            columns = min(columns, n_panels)
            rows = -(-n_panels // columns)
            figure, grid = pyplot.subplots(
                rows,
                columns,
                squeeze=False,
                figsize=(size[0] * columns, size[1] * rows),
                layout="constrained",
            )
            panels = list(np.ravel(grid))
            for panel in panels[n_panels:]:
                panel.set_axis_off()
            panels = panels[:n_panels]
        else:
            panels = list(np.ravel(np.asarray(ax, dtype=object)))
            if len(panels) != n_panels:
                raise InputError(
                    f"ax must have {n_panels} axes, one per panel, got {len(panels)}"
                )
            figure = panels[0].figure
        self.figure_, self.axes_ = figure, np.array(panels, dtype=object)
        for panel in panels:
            tidy(panel)
        return panels


def tidy(panel: Axes) -> None:
    """Leave out what carries no information.

    Parameters
    ----------
    panel : matplotlib.axes.Axes
        Panel.
    """
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        panel.spines[side].set_color(ASIDE)
    panel.tick_params(colors=INK, labelsize=9)
    panel.grid(alpha=0.25, linewidth=0.6)
    panel.set_axisbelow(True)


def shorten(name: str, longest: int = LONGEST) -> str:
    """Leave out the middle of a long name, and keep its signs from being formulas.

    Parameters
    ----------
    name : str
        Name.
    longest : int, default=LONGEST
        Largest number of letters.

    Returns
    -------
    str
        Name for a label.
    """
    name = " ".join(name.split()) or "(no name)"
    if len(name) > longest:
        first = (longest - 1) * 2 // 3
        name = f"{name[:first]}…{name[first + 1 - longest :]}"
    return name.replace("$", r"\$")


def short_names(names: Sequence[str]) -> list[str]:
    """Shorten names so that different names stay different, where that is possible.

    Parameters
    ----------
    names : sequence of str
        Names.

    Returns
    -------
    list of str
        Labels. Where two would be alike, what all names have in common at the ends is
        left out first.
    """
    short = [shorten(name) for name in names]
    if len(set(short)) == len(set(names)):
        return short
    start = _alike(names)
    end = _alike([name[start:][::-1] for name in names])
    return [shorten(f"…{name[start : len(name) - end]}…") for name in names]


def _alike(names: Sequence[str]) -> int:
    """Count the letters at the start that all names have in common."""
    together = zip(*names, strict=False)
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, together))


def name_bars(panel: Axes, names: Sequence[str]) -> None:
    """Write names beside horizontal bars, the first on top.

    Parameters
    ----------
    panel : matplotlib.axes.Axes
        Panel with bars at 0, 1, ...
    names : sequence of str
        Names, one per bar.
    """
    panel.set_yticks(range(len(names)), short_names(names))
    panel.set_ylim(len(names) - 0.4, -0.6)
    panel.grid(visible=False, axis="y")
    panel.tick_params(axis="y", length=0)


def bars_height(n_bars: int) -> float:
    """Compute the height of a panel with horizontal bars, in inches.

    Parameters
    ----------
    n_bars : int
        Number of bars.

    Returns
    -------
    float
        Height.
    """
    return 1.0 + BAR * max(n_bars, 3)


def result_of(estimator: Any) -> Result:
    """Take the result of a fitted estimator.

    Parameters
    ----------
    estimator : estimator
        A fitted reducer of fedsdr.

    Returns
    -------
    Result
        Its `result_`.
    """
    found = getattr(estimator, "result_", None)
    if not isinstance(found, Result):
        name = type(estimator).__name__
        raise InputError(f"{name} has no result_: fit it first, with fedsdr's FedSSIR")
    return found


def need_findings(result: Result) -> None:
    """Refuse to draw variables that may be noise.

    Parameters
    ----------
    result : Result
        Result.
    """
    if result.found_nothing:
        raise InputError(f"there is nothing to draw: {NOTHING}")


def holds_classes(result: Result) -> bool:
    """Tell whether the response of a result was taken for classes.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    bool
        True for classes, False for numbers in their order.
    """
    return bool(result.settings.get("response_type") == "classes")
