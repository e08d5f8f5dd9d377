"""Built pages load nothing from elsewhere: no script, style, picture or font."""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

#: Where a page names something that a browser fetches by itself. Links to follow are
#: not among them.
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b[^>]*\bhref=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|url\(["']?(?:https?:)?//[^)]+|@import\s+["'](?:https?:)?//[^"']+"""
)


def foreign_parts(folder: Path) -> list[str]:
    """Return what pages and styles in a folder load from elsewhere."""
    files = (*folder.rglob("*.html"), *folder.rglob("*.css"))
    return [
        f"{path.relative_to(folder)}: {found}"
        for path in sorted(files)
        for found in LOADED.findall(path.read_text(encoding="utf-8"))
    ]


def check_pages(app: Sphinx, failure: Exception | None) -> None:
    """Warn about each, which ends the build where warnings are errors."""
    if failure is None and app.builder.format == "html":
        for part in foreign_parts(Path(app.outdir)):
            logging.getLogger(__name__).warning("loaded from elsewhere: %s", part)


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at the pages when all of them are written."""
    app.connect("build-finished", check_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
