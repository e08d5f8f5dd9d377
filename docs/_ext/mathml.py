"""Formulas as MathML, which browsers show without a script and without a network."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

#: A command that the converter does not know, and what it knows instead.
REPLACED = {r"\arg\min": r"\operatorname{arg\,min}"}

#: What the converter leaves of commands and columns that it does not know.
NOT_CONVERTED = ("<mi>\\", "<mi>&</mi>")


def to_mathml(text: str, *, block: bool) -> str:
    """Convert a formula of LaTeX; an unknown command stops the build."""
    for command, known in REPLACED.items():
        text = text.replace(command, known)
    shown = convert(text, display="block" if block else "inline")
    if any(rest in shown for rest in NOT_CONVERTED):
        raise ExtensionError(f"formula {text!r} cannot be shown as MathML")
    return shown


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(to_mathml(node.astext(), block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    shown = to_mathml(node.astext(), block=True)
    # A long formula scrolls by itself: with the keyboard, if it can be reached.
    translator.body.append(f'<div class="math-block" tabindex="0">{shown}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(visit_inline, None),
        block_renderers=(visit_block, None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
