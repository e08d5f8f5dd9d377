"""How sure a fit is: tests after splitting, selection frequencies, false discoveries."""

from fedsdr.inference.split_testing import (
    describe_certainty,
    largest_dimension,
    select_by_tests,
    examine_variables,
)

__all__ = [
    "describe_certainty",
    "largest_dimension",
    "select_by_tests",
    "examine_variables",
]
