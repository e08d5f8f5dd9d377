"""Add without seeing: fixed point, masks, shares."""

from fedsdr.secure_sum.fixed_point import FixedPoint

__all__ = ["FixedPoint"]
