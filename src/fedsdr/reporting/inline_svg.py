"""Pictures as SVG inside a page, which follow its colours."""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedsdr.html_text import Html, tag
from fedsdr.page_style import PAINTS

#: Inches: a panel that can be read on a phone.
PANEL = (4.4, 3.1)

_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_NAME = re.compile(r'(\bid="|href="#|url\(#)')
_FONT = re.compile(r"font-family: [^;\"]*; ?")
_ASIDE = re.compile(r"<(metadata|style).*?</\1>", re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """Panels with what they show in words.

    Parameters
    ----------
    axes : sequence of matplotlib.axes.Axes
        Panels, each on a figure of its own.
    caption : str
        What the picture shows, and how to read it.
    alternatives : sequence of str
        What each panel says, for those who cannot see it.
    """

    axes: Sequence[Axes]
    caption: str
    alternatives: Sequence[str]

    def html(self, mark: str) -> Html:
        """Write the picture.

        Parameters
        ----------
        mark : str
            Word by which the names inside differ from those of other pictures.

        Returns
        -------
        Html
            A figure of the page.
        """
        panels = [
            write_svg(panel, f"{mark}{place}", text)
            for place, (panel, text) in enumerate(
                zip(self.axes, self.alternatives, strict=True)
            )
        ]
        return tag(
            "figure",
            tag("div", *panels, class_="panels"),
            tag("figcaption", self.caption),
        )


def new_panels(number: int, height: float = PANEL[1]) -> list[Axes]:
    """Make panels, each on a figure of its own.

    Parameters
    ----------
    number : int
        Number of panels.
    height : float, default=3.1
        Height of each, in inches.

    Returns
    -------
    list of matplotlib.axes.Axes
        Panels. They belong to no window, so nothing has to be closed.
    """
    sizes = [(PANEL[0], height)] * number
    return [Figure(figsize=size, layout="constrained").subplots() for size in sizes]


def write_svg(panel: Axes, mark: str, alternative: str) -> Html:
    """Write a panel's figure as SVG for a page.

    Parameters
    ----------
    panel : matplotlib.axes.Axes
        Panel.
    mark : str
        Word that all names inside begin with.
    alternative : str
        What the picture says, for those who cannot see it.

    Returns
    -------
    Html
        Element without scripts, fonts and addresses; texts are texts.
    """
    stream = io.StringIO()
    # Equal data give equal pages.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": mark}):
        panel.figure.savefig(  # type: ignore[union-attr]
            stream, format="svg", transparent=True, metadata={"Date": None}
        )
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = _ASIDE.sub("", text).replace("xlink:href", "href")
    text = _NAME.sub(rf"\g<1>{mark}-", text)
    text = _COLOUR.sub(lambda found: PAINTS.get(found[0], found[0]), text)
    text = _FONT.sub("", text)
    box = re.search(r'viewBox="[^"]*"', text)
    inside = text[text.index(">") + 1 :]
    start = tag("svg", role="img", aria_label=alternative).removesuffix("></svg>")
    return Html(f"{start} {box[0] if box else ''}>{inside}")
