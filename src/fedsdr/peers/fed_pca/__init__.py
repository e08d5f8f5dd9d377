"""Federated, streaming principal components (Grammenos et al. 2020).

`fed_pca` is the estimator. A site keeps a `Subspace` of the rows it has read: it adds
blocks of rows (`updating`, or `private_updates` under noise), may let the rank follow
the data (`rank_adaption`), and merges with other sites along a tree (`merging`).
`stream_settings` puts these together for all sites in one process.
"""

from fedsdr.peers.fed_pca.fed_pca import FedPCA
from fedsdr.peers.fed_pca.merging import balanced_tree, chain_tree, merge, merge_tree
from fedsdr.peers.fed_pca.private_updates import (
    UpdatePrivacy,
    noisy_moment,
    private_update,
)
from fedsdr.peers.fed_pca.rank_adaption import RankAdaption
from fedsdr.peers.fed_pca.subspace import Subspace
from fedsdr.peers.fed_pca.updating import update

__all__ = [
    "FedPCA",
    "RankAdaption",
    "Subspace",
    "UpdatePrivacy",
    "balanced_tree",
    "chain_tree",
    "merge",
    "merge_tree",
    "noisy_moment",
    "private_update",
    "update",
]
