"""Bring the subspaces of sites together, two at a time."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from fedsdr.exceptions import InputError
from fedsdr.peers.fed_pca.rank_adaption import combine
from fedsdr.peers.fed_pca.subspace import Subspace


def merge(
    first: Subspace,
    second: Subspace,
    *,
    rank: int | None = None,
    between: bool = True,
    weights: tuple[float, float] = (1.0, 1.0),
) -> Subspace:
    r"""Merge two subspaces.

    Run by whoever sits at a node of the tree, who sees no rows.

    Parameters
    ----------
    first, second : Subspace
        Of disjoint sets of rows.
    rank : int, optional
        How many directions to keep; the larger of both if not given.
    between : bool, default=True
        Count the distance between the two means as variation. False leaves each set
        centred on its own mean.
    weights : tuple of two floats, default=(1.0, 1.0)
        Factors :math:`l_1, l_2` on the singular values.

    Returns
    -------
    Subspace
        Of all rows.

    Notes
    -----
    The rank-r singular value decomposition of :math:`[l_1 U_1 S_1,\; l_2 U_2 S_2]`,
    computed through the QR decomposition of the part of the second that is orthogonal
    to :math:`U_1` (Grammenos et al. 2020, Algorithm 2). With ``between``, the column
    :math:`\sqrt{W_1 W_2 / (W_1 + W_2)}\,(m_2 - m_1)` is added, so that the result is
    that of the rows about their common mean. Exact when nothing is cut; the order of
    merges matters only through cuts, see `Subspace`.
    """
    first, second = first.scaled(weights[0]), second.scaled(weights[1])
    if rank is None:
        rank = max(first.rank, second.rank)
    weight = first.weight + second.weight
    shift = second.mean - first.mean
    share = second.weight / weight if weight else 0.0
    columns = second.basis * second.values
    total = first.total + second.total
    if between and weight:
        apart = np.sqrt(first.weight * share) * shift
        columns = np.column_stack([columns, apart])
        total += float(apart @ apart)
    kept = combine(first.basis, first.values, columns, rank)
    return Subspace(
        kept.basis,
        kept.values,
        first.mean + share * shift,
        kept.rank,
        n_rows=first.n_rows + second.n_rows,
        weight=weight,
        weight_squared=first.weight_squared + second.weight_squared,
        total=total,
        lost=first.lost + first.dropped + second.lost + second.dropped,
        dropped=kept.dropped,
    )


def merge_tree(
    states: Mapping[Hashable, Subspace], tree: Any, *, between: bool = True
) -> Subspace:
    """Merge the subspaces of all sites along a binary tree.

    Parameters
    ----------
    states : mapping from labels to Subspace
        One for each site.
    tree : label or pair
        A site's label, or a tuple of two trees; every label once.
    between : bool, default=True
        See `merge`.

    Returns
    -------
    Subspace
        Of the rows of all sites. Every merge keeps the largest rank of all sites.
    """
    postfix = list(_postfix(tree))
    leaves = [node for node in postfix if node is not _MERGE]
    hashable = all(isinstance(leaf, Hashable) for leaf in leaves)
    if not hashable or len(leaves) != len(states) or set(leaves) != set(states):
        raise InputError(
            f"the tree of merges must hold each of the {len(states)} sites once"
        )
    rank = max(state.rank for state in states.values())
    waiting: list[Subspace] = []
    for node in postfix:
        if node is _MERGE:
            second, first = waiting.pop(), waiting.pop()
            waiting.append(merge(first, second, rank=rank, between=between))
        else:
            waiting.append(states[node])
    return waiting[0]


def balanced_tree(labels: Sequence[Hashable]) -> Any:
    """Pair neighbours, then pairs, and so on.

    Parameters
    ----------
    labels : sequence
        Of the sites, at least one.

    Returns
    -------
    label or pair
        A tree of the smallest depth.
    """
    nodes: list[Any] = list(labels)
    while len(nodes) > 1:
        pairs = list(zip(nodes[::2], nodes[1::2], strict=False))
        nodes = [*pairs, *nodes[2 * len(pairs) :]]
    return nodes[0]


def chain_tree(labels: Sequence[Hashable]) -> Any:
    """Let each site in turn merge into what came before.

    Parameters
    ----------
    labels : sequence
        Of the sites, at least one.

    Returns
    -------
    label or pair
        A tree as deep as there are sites.
    """
    return reduce(lambda merged, label: (merged, label), labels)


_MERGE = object()


def _postfix(tree: Any) -> Iterator[Any]:
    """List labels and merges in the order of work; chains are too deep to recurse."""
    backwards, stack = [], [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            if len(node) != 2:
                raise InputError(
                    f"a node of the tree of merges has {len(node)} branches: nest pairs"
                )
            backwards.append(_MERGE)
            stack.extend(node)
        else:
            backwards.append(node)
    return reversed(backwards)
