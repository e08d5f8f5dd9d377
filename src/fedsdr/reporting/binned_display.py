"""Summary plot without rows: means or shares in bins, small cells hidden."""

from collections.abc import Sequence
from typing import Any, Self

from matplotlib.axes import Axes

from fedsdr.exceptions import InputError
from fedsdr.reporting.cells import COLOURS, MARKERS
from fedsdr.reporting.display import (
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
from fedsdr.result import Result
from fedsdr.summaries.safe_bins import FEWEST_ROWS, SafeBins, bin_rows

#: Where the bins are in the settings of a result that has them.
FIELD = "curves"


class BinnedSummaryDisplay(Display):
    """Mean of y, or the share of each class, in bins of each direction.

    Every number that is drawn belongs to a cell with enough rows, so the picture may be
    shown where rows may not; bins that are left out are gaps.

    Parameters
    ----------
    bins : sequence of SafeBins
        Bins of each direction.
    name : str, default="y"
        Name of the response.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure that was drawn on.
    axes_ : ndarray of matplotlib.axes.Axes
        Panels, one per direction.
    """

    def __init__(self, bins: Sequence[SafeBins], name: str = "y") -> None:
        self.bins = tuple(bins)
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sites: Any = None,
        minimum: int = FEWEST_ROWS,
        ax: Any = None,
    ) -> Self:
        """Draw bins of rows with the directions of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted reducer.
        X : array-like of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Responses.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site.
        minimum : int, default=10
            Rows that a cell must have to be shown.
        ax : axes, optional
            Axes, one per direction.

        Returns
        -------
        BinnedSummaryDisplay
            The display.
        """
        result = result_of(estimator)
        need_findings(result)
        bins = bin_rows(
            result.place(X), y, sites, classes=holds_classes(result), minimum=minimum
        )
        return cls(bins, str(getattr(y, "name", None) or "y")).plot(ax=ax)

    @classmethod
    def from_result(cls, result: Result, *, ax: Any = None) -> Self:
        """Draw the bins that a result carries.

        Parameters
        ----------
        result : Result
            Result of ``fedsdr fit``, or of a study with ``pictures = true``.
        ax : axes, optional
            Axes, one per direction.

        Returns
        -------
        BinnedSummaryDisplay
            The display.
        """
        bins = bins_of(result)
        if not bins:
            raise InputError(
                "the result carries no sums in bins: fit with fedsdr fit, or run a "
                "study with pictures = true"
            )
        return cls(bins, response_in_bins(result)).plot(ax=ax)

    @classmethod
    def from_bins(
        cls,
        edges: Any,
        counts: Any,
        means: Any = None,
        *,
        labels: tuple[str, ...] = (),
        minimum: int = FEWEST_ROWS,
        ax: Any = None,
    ) -> Self:
        """Draw sums over all sites in bins of one direction.

        Parameters
        ----------
        edges : array-like of shape (n_bins + 1,)
            Ends of the bins, ascending.
        counts : array-like of shape (n_bins,) or (n_bins, n_classes)
            Rows per bin, or per bin and class.
        means : array-like of shape (n_bins,), optional
            Mean of y per bin, if y holds numbers.
        labels : tuple of str, default=()
            Names of the classes, if y holds classes.
        minimum : int, default=10
            Rows that a cell must have to be shown.
        ax : axes, optional
            One axes.

        Returns
        -------
        BinnedSummaryDisplay
            The display.
        """
        safe = SafeBins.of(edges, counts, means, labels=labels, minimum=minimum)
        return cls((safe,)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : axes, optional
            Axes, one per direction; a new figure if not given.

        Returns
        -------
        BinnedSummaryDisplay
            The display.
        """
        panels = self._take_panels(ax, len(self.bins), (WIDTH, HEIGHT))
        for k, (panel, bins) in enumerate(zip(panels, self.bins, strict=True)):
            self._draw(panel, bins)
            panel.set_xlabel(f"direction {k + 1}", fontsize=9, color=INK)
            hidden = int((~bins.shown).sum())
            if hidden:
                panel.annotate(
                    f"{hidden} of {bins.shown.size} bins hidden: fewer than "
                    f"{bins.minimum} rows",
                    (0.5, 1.02), xycoords="axes fraction", ha="center", fontsize=8,
                    color=INK,
                )  # fmt: skip
        return self

    def _draw(self, panel: Axes, bins: SafeBins) -> None:
        middle = (bins.edges[:-1] + bins.edges[1:]) / 2.0
        panel.set_xlim(bins.edges[0], bins.edges[-1])
        if bins.means is not None:
            panel.plot(middle, bins.means, "o-", color=FOUND, markersize=5)
            panel.set_ylabel(f"mean of {shorten(self.name)}", fontsize=9, color=INK)
            return
        shares = bins.counts / bins.counts.sum(axis=1, keepdims=True)
        drawn = range(len(bins.labels)) if len(bins.labels) > 2 else [1]
        for k in drawn[: len(COLOURS)]:
            panel.plot(
                middle, shares[:, k], marker=MARKERS[(k + 1) % len(MARKERS)],
                color=COLOURS[(k + 1) % len(COLOURS)], markersize=5,
                label=shorten(bins.labels[k], 16),
            )  # fmt: skip
        panel.set_ylim(0.0, 1.0)
        if len(bins.labels) > 2:
            panel.set_ylim(0.0, 1.3)
            panel.legend(fontsize=8, frameon=False, ncols=3, loc="upper center")
            text = f"share of each {self.name}"
        else:
            text = share_of(self.name, bins.labels)
        panel.set_ylabel(shorten(text, 40), fontsize=9, color=INK)


def share_of(name: str, labels: tuple[str, ...]) -> str:
    """Name the share of the second of two classes.

    Parameters
    ----------
    name : str
        Name of the response, or the comparison that it is.
    labels : tuple of str
        Names of both classes.

    Returns
    -------
    str
        Text such as "share with num > 0" or "share of disease = yes".
    """
    is_comparison = any(sign in name for sign in "<>=")
    if is_comparison and labels in (("0", "1"), ("False", "True")):
        return f"share with {name}"
    return f"share of {name} = {labels[1]}"


def bins_of(result: Result) -> tuple[SafeBins, ...]:
    """Take the bins that a result carries.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    tuple of SafeBins
        One per direction; empty if it carries none.
    """
    tables = result.settings.get(FIELD, ())
    return tuple(SafeBins.from_table(table) for table in tables)


def response_in_bins(result: Result) -> str:
    """Say what the means in bins are means of.

    Parameters
    ----------
    result : Result
        Result with bins.

    Returns
    -------
    str
        Name of the response. Sites of a study add deviations from their own means,
        since a site that must hide a bin would otherwise move the mean of the others.
    """
    bins = bins_of(result)
    centred = "study" in result.settings and bool(bins) and bins[0].means is not None
    name = target_of(result)
    return f"{name} less its site's mean" if centred else name


def target_of(result: Result) -> str:
    """Name the response of a result.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    str
        Name that the file or the study gives it; "y" if nothing is known.
    """
    for key in ("preparation", "preprocessing"):
        found = result.settings.get(key, {}).get("target", {})
        if isinstance(found, dict) and found.get("name"):
            return str(found["name"])
    return "y"
