"""Singular vectors of rows that no one holds together."""

from fedsdr.peers.fed_pca.merging import balanced_tree, chain_tree, merge, merge_tree
from fedsdr.peers.fed_pca.private import Privacy, noisy_moment, private_update
from fedsdr.peers.fed_pca.rank_adaption import RankAdaption
from fedsdr.peers.fed_pca.subspace import Subspace
from fedsdr.peers.fed_pca.updating import update

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
