"""Secure sums: fixed-point numbers, masks, shares and identities."""

from fedsdr.secure_sum.agreement import Agreement, Context
from fedsdr.secure_sum.fixed_point import FixedPoint
from fedsdr.secure_sum.identity import Identity
from fedsdr.secure_sum.masked_sum import MaskedSum
from fedsdr.secure_sum.opened import OpenedRound
from fedsdr.secure_sum.round_secrets import PublicKeys
from fedsdr.secure_sum.sum_site import SumSite

__all__ = [
    "Agreement",
    "Context",
    "FixedPoint",
    "Identity",
    "MaskedSum",
    "OpenedRound",
    "PublicKeys",
    "SumSite",
]
