"""Selection of variables: the convex problem on sums, its penalty and dimension."""

from fedsdr.selection._select import select
from fedsdr.selection.dimension import elect_dimension
from fedsdr.selection.evidence import Evidence, Selection
from fedsdr.selection.on_candidates import select_on_candidates
from fedsdr.selection.penalties import moment_score, universal_penalty
from fedsdr.selection.private_penalty import raise_penalty
from fedsdr.selection.solving import add_directions
from fedsdr.selection.wide import Wide, gather_wide

__all__ = [
    "Evidence",
    "Selection",
    "Wide",
    "add_directions",
    "elect_dimension",
    "gather_wide",
    "moment_score",
    "raise_penalty",
    "select",
    "select_on_candidates",
    "universal_penalty",
]
