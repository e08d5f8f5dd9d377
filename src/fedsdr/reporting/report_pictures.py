"""Pictures of a report, with what they show in words."""

import numpy as np

from fedsdr.reporting.binned_display import (
    BinnedSummaryDisplay,
    bins_of,
    response_in_bins,
)
from fedsdr.reporting.dimension_display import DimensionDisplay
from fedsdr.reporting.display import MOST_BARS, bars_height
from fedsdr.reporting.inline_svg import Picture, new_panels
from fedsdr.reporting.loadings_display import LoadingsDisplay
from fedsdr.reporting.stability_display import StabilityDisplay, frequencies_of
from fedsdr.result import Result
from fedsdr.summaries.safe_bins import SafeBins


def draw_loadings(result: Result) -> Picture:
    """Draw the loadings, one panel per direction.

    Parameters
    ----------
    result : Result
        Result with directions.

    Returns
    -------
    Picture
        The picture.
    """
    n_bars = min(len(result.selected), MOST_BARS)
    panels = new_panels(result.n_directions, bars_height(n_bars))
    shown = LoadingsDisplay.from_result(result, ax=panels)
    texts = [
        f"Bars of the loadings in direction {k + 1}: "
        + ", ".join(
            f"{name} {value:.2f}"
            for name, value in zip(shown.names, shown.loadings[:, k], strict=True)
        )
        for k in range(result.n_directions)
    ]
    caption = (
        "How much each combination moves when one variable rises by one standard "
        "deviation and the others stay. Variables whose bars point to the same side "
        "work together; those of opposite sides work against each other."
    )
    return Picture(panels, caption, texts)


def draw_curves(result: Result) -> Picture | None:
    """Draw the response in bins of each direction, if the result carries bins.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    Picture or None
        The picture.
    """
    bins = bins_of(result)
    if not bins:
        return None
    panels = new_panels(len(bins))
    BinnedSummaryDisplay(bins, response_in_bins(result)).plot(ax=panels)
    caption = (
        "How the response follows each combination: rows are sorted by it, as "
        "deviations from the mean of their site, and divided into bins. Bins in "
        f"which a group has fewer than {bins[0].minimum} rows are left out, and so are "
        "bins from which these could be computed."
    )
    if "study" in result.settings:
        caption += (
            " Every site has done so with its own rows, before they were added. A row "
            "is in one picture at most, and a part of the rows is in none. Numbers are "
            "shown as the deviation of the response from its site's mean."
        )
    texts = [_say_curve(one, k) for k, one in enumerate(bins)]
    return Picture(panels, caption, texts)


def draw_dimension(result: Result) -> Picture:
    """Draw the eigenvalues, and the tests of the dimension.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    Picture
        The picture.
    """
    shown = DimensionDisplay.of(result)
    panels = new_panels(shown.n_panels)
    shown.plot(ax=panels)
    values = ", ".join(f"{value:.3f}" for value in shown.eigenvalues)
    kept = int(shown.chosen.sum())
    texts = [f"Shares that y explains: {values}. {kept} direction(s) are kept."]
    caption = (
        "Share of each combination's variance that the response explains. Blue "
        "combinations were kept."
    )
    if shown.evidence is not None and shown.needed is not None:
        pairs = zip(shown.evidence, shown.needed, strict=True)
        said = ", ".join(f"{one:.1f} of {least:.1f}" for one, least in pairs)
        texts.append(f"Evidence, of what is needed, per direction: {said}.")
        caption += (
            " To be kept, a combination needs more evidence than the line that it is "
            "more than noise, and must not be a mere curve of those before it."
        )
    return Picture(panels, caption, texts)


def draw_stability(result: Result) -> Picture | None:
    """Draw the selection frequencies, if the result has them.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    Picture or None
        The picture.
    """
    shares = frequencies_of(result)
    if shares is None:
        return None
    listed = int(((np.asarray(shares) > 0.0) | result.support).sum())
    panels = new_panels(1, bars_height(min(listed, MOST_BARS)))
    shown = StabilityDisplay.from_result(result, ax=panels)
    pairs = zip(shown.names, shown.frequencies, strict=True)
    said = ", ".join(f"{name} {share:.0%}" for name, share in pairs)
    caption = (
        "How often each variable was selected when the analysis was repeated on parts "
        "of the rows. A variable that is rarely selected depends on few rows."
    )
    return Picture(panels, caption, [f"Shares of repetitions: {said}."])


def _say_curve(bins: SafeBins, k: int) -> str:
    shown = bins.shown
    if not shown.any():
        return f"Direction {k + 1}: all bins are left out."
    if bins.means is not None:
        values, what = bins.means[shown], "mean"
    else:
        table = bins.counts[shown]
        values, what = table[:, -1] / table.sum(axis=1), f"share of {bins.labels[-1]}"
    said = ", ".join(f"{value:.3g}" for value in values)
    return f"Direction {k + 1}, from low to high: {what} {said}."
