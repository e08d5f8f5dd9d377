"""What the reference shows of a class, and how names with underscores are written."""

import re
from typing import Any

from sphinx.application import Sphinx

#: A name such as ``n_directions_`` in a shape, which would be read as a link.
ENDING = re.compile(r"(?<=\w)_(?=[,)])")

#: A member that belongs to scikit-learn or Python, not to this package.
ROUTING = re.compile(r"set_\w+_request")


def skip_foreign(
    _app: Sphinx, _kind: str, name: str, member: Any, skip: bool, _options: Any
) -> bool | None:
    """Leave out what a class has from scikit-learn and Python."""
    if skip or ROUTING.fullmatch(name):
        return True
    home = getattr(getattr(member, "fget", member), "__module__", None)
    return None if home is None or home.startswith("fedsdr") else True


def escape_endings(
    _app: Sphinx, _kind: str, _name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    """Escape underscores at the end of names that are in no literal."""
    lines[:] = [line if "``" in line else ENDING.sub(r"\\_", line) for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect it to autodoc, after numpydoc."""
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-docstring", escape_endings, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
