"""How sure a fit is: tests after splitting, frequencies, false discoveries."""

from fedsdr.inference.half_jackknife import jackknife
from fedsdr.inference.split_testing import (
    describe_certainty,
    examine_variables,
    largest_dimension,
    select_by_tests,
)

__all__ = [
    "describe_certainty",
    "examine_variables",
    "jackknife",
    "largest_dimension",
    "select_by_tests",
]
