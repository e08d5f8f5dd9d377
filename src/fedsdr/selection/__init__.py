"""Selection of variables: the convex problem on sums, its penalty and dimension."""

from fedsdr.selection._select import select
from fedsdr.selection.dimension import add_directions, elect_dimension
from fedsdr.selection.evidence import Evidence, Selection
from fedsdr.selection.penalties import moment_score, universal_penalty

__all__ = [
    "Evidence",
    "Selection",
    "add_directions",
    "elect_dimension",
    "moment_score",
    "select",
    "universal_penalty",
]
