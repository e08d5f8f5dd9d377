"""The kernel of peers that know slices only."""

from typing import Any

from fedsdr.exceptions import InputError
from fedsdr.method import read_parameter
from fedsdr.summaries.slicing import Slices


def read_slices(kernel: Any) -> Slices:
    """Check the parameter `kernel` of a method that needs slices.

    Parameters
    ----------
    kernel : str or Slices
        As a user gave it, such as "slices(number=10)".

    Returns
    -------
    Slices
        Their size or number.

    Raises
    ------
    InputError
        For any other kernel.
    """
    slices = read_parameter("kernel", kernel)
    if not isinstance(slices, Slices):
        raise InputError(
            "kernel must be Slices, such as Slices(number=10) or Slices(size=20): this "
            f"method knows no other, got {kernel!r}"
        )
    return slices
