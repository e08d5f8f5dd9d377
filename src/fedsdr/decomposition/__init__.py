"""Singular vectors of rows that no one holds together."""

from fedsdr.decomposition.columns import RankAdaption
from fedsdr.decomposition.merge import balanced_tree, chain_tree, merge, merge_tree
from fedsdr.decomposition.private import Privacy, noisy_moment, private_update
from fedsdr.decomposition.streaming import update
from fedsdr.decomposition.subspace import Subspace

__all__ = [
    "Privacy",
    "RankAdaption",
    "Subspace",
    "balanced_tree",
    "chain_tree",
    "merge",
    "merge_tree",
    "noisy_moment",
    "private_update",
    "update",
]
