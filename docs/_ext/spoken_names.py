"""What the theme leaves without a name gets one, for screen readers.

The side bar has a button beside every page that has pages under it, which is a picture
of an arrow and nothing else. An empty corner of a table is a heading of nothing, so it
becomes a plain cell.
"""

import html
import re
from typing import Any

from sphinx.application import Sphinx

#: A link to a page, and the button that shows what is under it.
TOGGLE = re.compile(
    r"(<a\b[^>]*\breference\b[^>]*>(?P<title>(?:(?!</a>).)*)</a>\s*"
    r"<details[^>]*>\s*<summary)>",
    re.DOTALL,
)


def name_toggles(tree: str) -> str:
    """Say of each button whose pages it shows."""

    def named(found: re.Match[str]) -> str:
        title = html.unescape(re.sub(r"<[^>]+>", "", found["title"]))
        label = html.escape(f"Pages under {' '.join(title.split())}")
        return f'{found[1]} aria-label="{label}">'

    return TOGGLE.sub(named, tree)


#: An empty cell in the head of a table, which is to be a plain one.
CORNER = re.compile(r'<th( class="[^"]*")?><p></p></th>')


def add_names(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: Any
) -> None:
    """Let the theme make its side bar, and name the buttons in it."""
    context["body"] = CORNER.sub(r"<td\1></td>", context.get("body", ""))
    made = context.get("generate_toctree_html")
    if made is None:
        return

    def generate(kind: str, *arguments: Any, **options: Any) -> Any:
        tree = made(kind, *arguments, **options)
        return name_toggles(str(tree)) if kind == "sidebar" else tree

    context["generate_toctree_html"] = generate


def setup(app: Sphinx) -> dict[str, Any]:
    """Come after the theme, which makes the function."""
    app.connect("html-page-context", add_names, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
