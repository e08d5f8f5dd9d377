"""Rows, ways of cutting them up, and the scatter that they must add up to."""

import numpy as np
from hypothesis import strategies as st

from fedsdr.peers.fed_pca import Subspace, update


@st.composite
def streams(draw, max_features=7, max_rows=40):
    """Draw rows of any rank, far from the origin or not, with blocks and sites."""
    d = draw(st.integers(1, max_features))
    n_rows = draw(st.integers(2, max_rows))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    inner = draw(st.integers(1, d))
    scales = 10.0 ** -rng.uniform(0.0, draw(st.sampled_from([0.0, 2.0])), size=inner)
    rows = rng.normal(size=(n_rows, inner)) * scales @ rng.normal(size=(inner, d))
    rows = rows + draw(st.sampled_from([0.0, 1.0, 1000.0])) * rng.normal(size=d)
    sites = rng.integers(draw(st.integers(1, 6)), size=n_rows)
    rows += draw(st.sampled_from([0.0, 3.0])) * rng.normal(size=(6, d))[sites]
    return rows, sites, draw(st.integers(1, 12)), rng


def scatter(rows: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Compute the scatter about the mean by its definition."""
    weights = np.ones(len(rows)) if weights is None else weights
    centred = rows - np.average(rows, axis=0, weights=weights)
    return (centred.T * weights) @ centred


def represented(state: Subspace) -> np.ndarray:
    """Return the matrix that a state represents."""
    return (state.basis * state.values**2) @ state.basis.T


def read(rows: np.ndarray, size: int, rank: int | None = None, **options) -> Subspace:
    """Read rows in blocks."""
    state = Subspace.empty(rows.shape[1], rank or rows.shape[1])
    for begin in range(0, len(rows), size):
        state = update(state, rows[begin : begin + size], **options)
    return state


def random_tree(labels: list, rng: np.random.Generator) -> object:
    """Merge two nodes at random until one is left."""
    nodes = list(labels)
    while len(nodes) > 1:
        first = nodes.pop(rng.integers(len(nodes)))
        second = nodes.pop(rng.integers(len(nodes)))
        nodes.append((first, second))
    return nodes[0]
