"""Which page stands under which, for menus and side bars.

Pages are plain Markdown that also reads well in the repository, so no directive is in
them: hidden trees of contents are appended here when Sphinx reads a page.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]

TREE: dict[str, list[str]] = {
    "docs/README": [
        "docs/start",
        "docs/guide",
        "docs/gallery/index",
        "docs/studies",
        "docs/reference/index",
        "docs/faq",
        "docs/project",
    ],
    "docs/start": ["docs/tutorial"],
    "docs/guide": [
        "docs/methods",
        "docs/assumptions",
        "docs/preparation",
        "docs/choosing",
        "docs/inference",
        "docs/prediction",
        "docs/warnings",
        "docs/notation",
    ],
    "docs/studies": [
        "docs/walkthrough-coordinator",
        "docs/walkthrough-steward",
        "docs/operations/README",
        "SECURITY",
        "docs/privacy",
        "docs/messages",
        "docs/transports",
    ],
    "docs/operations/README": [
        f"docs/operations/{name}"
        for name in (
            "health",
            "watching",
            "data",
            "growing",
            "omop",
            "backups",
            "certificates",
            "network",
            "services",
            "containers",
            "evidence",
        )
    ],
    "docs/project": [
        "README",
        "CHANGELOG",
        "CONTRIBUTING",
        "ARCHITECTURE",
        "docs/reproducing",
        "reproduction/README",
        "benchmarks/README",
    ],
}

#: Words for the menu at the top, where titles are too long.
SHORT = {
    "docs/start": "Start",
    "docs/guide": "Guide",
    "docs/studies": "Studies",
    "docs/faq": "Questions",
}

#: Pages that are written by programs, by the page under which they stand.
WRITTEN = {
    "reproduction/README": "reproduction/*/verdict.md",
    "benchmarks/README": "benchmarks/results/**/*.md",
}


def placed_pages() -> set[str]:
    """Return all pages that have a place in the tree."""
    return {"docs/README"}.union(*TREE.values())


def pages_under(page: str) -> list[str]:
    """Return the pages under a page; the guide takes those that have no place."""
    pages = list(TREE.get(page, []))
    patterns = [WRITTEN[page]] if page in WRITTEN else []
    if page == "docs/guide":
        patterns.append("docs/*.md")
    placed = placed_pages()
    for pattern in patterns:
        found = (path.relative_to(ROOT) for path in sorted(ROOT.glob(pattern)))
        names = (path.with_suffix("").as_posix() for path in found)
        pages.extend(name for name in names if name not in placed)
    return pages


def lead_to_gallery(_: Sphinx, page: str, source: list[str]) -> None:
    """Let links to examples lead to their pages, with output and pictures."""
    if page.startswith("docs/"):
        text = re.sub(
            r"\]\(\.\./examples/(plot_\w+)\.py\)", r"](gallery/\1.rst)", source[0]
        )
        source[0] = text.replace("](../examples)", "](gallery/index.rst)")


def add_contents(_: Sphinx, page: str, source: list[str]) -> None:
    """Append the hidden tree of contents of a page."""
    if pages := pages_under(page):
        lines = "\n".join(
            f"{SHORT[name]} </{name}>" if name in SHORT else f"/{name}"
            for name in pages
        )
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n\n{lines}\n```\n"


def name_folders(app: Sphinx, tree: nodes.document) -> None:
    """Show links to folders of the repository as names: the site has no folders."""
    here = (ROOT / app.env.current_document.docname).parent
    for link in list(tree.findall(pending_xref)):
        if (here / link["reftarget"]).is_dir():
            link.replace_self(link.children)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect it to the reading of pages."""
    app.connect("source-read", lead_to_gallery)
    app.connect("source-read", add_contents)
    app.connect("doctree-read", name_folders)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
