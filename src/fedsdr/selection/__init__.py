"""Selection of variables: the convex problem on sums, its penalty and dimension."""

from fedsdr.selection._select import select
from fedsdr.selection.dimension import add_directions, elect_dimension
from fedsdr.selection.evidence import Evidence, Selection
from fedsdr.selection.penalties import moment_score, universal_penalty
from fedsdr.selection.private_penalty import raise_penalty

__all__ = [
    "Evidence",
    "Selection",
    "add_directions",
    "elect_dimension",
    "moment_score",
    "raise_penalty",
    "select",
    "universal_penalty",
]
