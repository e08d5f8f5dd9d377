"""All sites in one process: each reads its rows in blocks, then they merge."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.estimators.checks import check_choice, check_flag, check_number
from fedsdr.exceptions import InputError
from fedsdr.peers.fed_pca.merging import balanced_tree, chain_tree, merge_tree
from fedsdr.peers.fed_pca.private_updates import UpdatePrivacy, private_update
from fedsdr.peers.fed_pca.rank_adaption import RankAdaption
from fedsdr.peers.fed_pca.subspace import Subspace
from fedsdr.peers.fed_pca.updating import update
from fedsdr.rows.own_sites import group_by_site
from fedsdr.solver import single_threaded_blas

TREES = {"balanced": balanced_tree, "chain": chain_tree}

States = dict[Hashable, Subspace]


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """How sites read their rows, and how they merge.

    Parameters
    ----------
    n_components : int or None
        Directions to report; None for all that are kept. With `adaption`, how many to
        start with; None for one.
    working_rank : int or None
        Directions kept on the way; None for `n_components`.
    block_size : int or None
        Rows read at a time; None for all.
    center : {"global", "site", False}
        Where rows are measured from.
    forgetting : float
        Factor on the old singular values.
    tree : callable
        From the labels of sites to nested pairs of them.
    adaption : RankAdaption or None
        Lets ranks follow the data.
    privacy : UpdatePrivacy or None
        Noise, if any.
    """

    n_components: int | None
    working_rank: int | None
    block_size: int | None
    center: Any
    forgetting: float
    tree: Callable[[list[Hashable]], Any]
    adaption: RankAdaption | None
    privacy: UpdatePrivacy | None

    def read(
        self,
        known: Mapping[Hashable, Subspace],
        rows: NDArray[np.float64],
        sites: Any,
        generator: np.random.Generator,
    ) -> tuple[States, Subspace]:
        """Let each site read its rows, then merge all sites.

        Parameters
        ----------
        known : mapping from labels to Subspace
            What sites have kept of earlier rows.
        rows : ndarray of shape (n_rows, n_features)
            New rows of all sites.
        sites : array-like of shape (n_rows,) or None
            Labels; None for one site.
        generator : numpy.random.Generator
            Draws the noise.

        Returns
        -------
        states : dict from labels to Subspace
            What sites keep now.
        merged : Subspace
            Of all rows.
        """
        d = rows.shape[1]
        for name in ("n_components", "working_rank"):
            wanted = getattr(self, name)
            if wanted is not None and wanted > d:
                raise InputError(
                    f"{name} must be at most the number of columns, {d}, got {wanted}"
                )
        rank = self.working_rank or self.n_components
        rank = rank or (d if self.adaption is None else 1)
        states = dict(known)
        with single_threaded_blas():
            for label, mine in group_by_site(sites, len(rows)):
                own = rows[mine]
                state = states.get(label, Subspace.empty(d, rank))
                size = self.block_size or len(own)
                for begin in range(0, len(own), size):
                    state = self._add(state, own[begin : begin + size], generator)
                states[label] = state
            tree = self.tree(list(states))
            merged = merge_tree(states, tree, between=self.center == "global")
        if self.n_components is not None and self.adaption is None:
            merged = merged.leading(self.n_components)
        return states, merged

    def _add(
        self,
        state: Subspace,
        block: NDArray[np.float64],
        generator: np.random.Generator,
    ) -> Subspace:
        if self.privacy is None:
            return update(
                state,
                block,
                center=self.center is not False,
                forgetting=self.forgetting,
                adaption=self.adaption,
            )
        return private_update(
            state,
            block,
            self.privacy,
            generator,
            forgetting=self.forgetting,
            adaption=self.adaption,
        )


def check_stream(estimator: Any) -> StreamSettings:
    """Turn an estimator's parameters into a way of reading.

    Parameters
    ----------
    estimator : FedPCA
        With its parameters as attributes.

    Returns
    -------
    StreamSettings
        Checked.
    """
    p = estimator
    for name in ("n_components", "working_rank", "block_size"):
        check_number(name, getattr(p, name), Integral, low=1, optional=True)
    check_flag("adapt_rank", p.adapt_rank)
    if p.working_rank is not None and (
        p.adapt_rank or p.working_rank < (p.n_components or 1)
    ):
        raise InputError(
            "working_rank must be at least n_components, and None with adapt_rank, got "
            f"{p.working_rank!r}"
        )
    check_choice("center", p.center, ("global", "site", False))
    check_number("forgetting", p.forgetting, above=True, high=1.0)
    if not callable(p.tree):
        check_choice("tree, unless it is a function,", p.tree, tuple(TREES))
    return StreamSettings(
        p.n_components,
        p.working_rank,
        p.block_size,
        p.center,
        float(p.forgetting),
        p.tree if callable(p.tree) else TREES[p.tree],
        RankAdaption(*_check_bounds(p.rank_bounds)) if p.adapt_rank else None,
        None if p.epsilon is None else _check_privacy(p),
    )


def _check_bounds(bounds: Any) -> tuple[float, float]:
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not 0.0 <= low < high <= 100.0:
        raise InputError(
            f"rank_bounds must be two percentages, the smaller first, got {bounds!r}"
        )
    return low, high


def _check_privacy(p: Any) -> UpdatePrivacy:
    if p.center is not False:
        raise InputError(
            "private mode cannot centre, since the mean is not private: subtract a "
            "centre known from elsewhere and set center=False"
        )
    return UpdatePrivacy(p.epsilon, p.delta, p.max_norm, p.noise)
