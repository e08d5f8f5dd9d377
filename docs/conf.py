"""Settings of the documentation site: ``make docs`` builds it, without a network.

The source folder is the root of the repository, so that pages in ``docs`` can link to
those beside the code (SECURITY.md, results of benchmarks, verdicts) as they do in the
repository. ``_ext`` holds what Sphinx does not have.
"""

import sys
import warnings
from importlib.metadata import version as installed_version
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

project = "fedsdr"
author = "The fedsdr developers"
project_copyright = author
release = version = installed_version("fedsdr")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "mathml",
    "offline",
    "page_tree",
    "reference_pages",
    "spoken_names",
]

root_doc = "docs/README"
include_patterns = [
    "*.md",
    "docs/**",
    "benchmarks/README.md",
    "benchmarks/results/*.md",
    "benchmarks/results/*/*.md",
    "reproduction/README.md",
    "reproduction/*/verdict.md",
]
exclude_patterns = [
    "docs/_build",
    "docs/_templates",
    ".*",
    "**/.*",
    "docs/gallery/**/*.py",
]
suppress_warnings = [
    # Measurements are written by programs, one table under each heading.
    "myst.header",
]
nitpicky = False

# --- Markdown ----------------------------------------------------------------

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

# --- reference ---------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()

# --- gallery -----------------------------------------------------------------


def in_a_line(message: Warning | str, category: type[Warning], *_: object) -> str:
    """Show a warning of an example without the path of the machine that built it."""
    return f"{category.__name__}: {message}\n"


warnings.formatwarning = in_a_line
sphinx_gallery_conf = {
    "examples_dirs": ["examples"],
    "gallery_dirs": ["docs/gallery"],
    "filename_pattern": r"plot_",
    "ignore_pattern": r"(__init__|plain_sockets|stand_ins)\.py",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10,
    "remove_config_comments": True,
    "write_computation_times": False,
}

# --- pages -------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"fedsdr {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
# Light or dark as the reader's machine is; the theme complains where it is not said.
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
# Sphinx looks for it beside this file, autosummary in the source folder.
templates_path = [str(HERE / "_templates")]
html_additional_pages = {"index": "redirect.html"}
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
}
