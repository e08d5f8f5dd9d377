"""Merging sites gives the pooled result for every tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.peers.fed_pca.streams import random_tree, read, represented, scatter, streams

from fedsdr.exceptions import InputError
from fedsdr.metrics import subspace_distance
from fedsdr.peers.fed_pca import (
    Subspace,
    balanced_tree,
    chain_tree,
    merge,
    merge_tree,
    update,
)


def read_sites(rows, sites, size, rank=None, **options):
    return {
        label: read(rows[sites == label], size, rank, **options)
        for label in np.unique(sites).tolist()
    }


@given(case=streams(), between=st.booleans())
def test_any_sites_blocks_and_tree_give_the_pooled_scatter(case, between):
    rows, sites, size, rng = case
    states = read_sites(rows, sites, size)
    merged = merge_tree(states, random_tree(list(states), rng), between=between)
    own = [scatter(rows[sites == label]) for label in states]
    exact = scatter(rows) if between else np.sum(own, axis=0)
    slack = 1e-10 * np.linalg.norm(exact) + 1e-13 * np.linalg.norm(rows) ** 2
    np.testing.assert_allclose(represented(merged), exact, atol=slack)
    np.testing.assert_allclose(merged.total, np.trace(exact), atol=10 * slack)
    np.testing.assert_allclose(merged.mean, rows.mean(axis=0), atol=1e-9)
    gram = merged.basis.T @ merged.basis
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-13)
    assert merged.n_rows == len(rows)
    assert merged.lost == 0.0


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 6),
    n_sites=st.integers(1, 12),
    size=st.integers(1, 30),
)
def test_leading_subspace_is_the_pooled_one_for_any_tree(seed, k, n_sites, size):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 6)) * 2.0 ** -np.arange(6) + rng.normal(size=6)
    sites = rng.integers(n_sites, size=60)
    states = read_sites(rows, sites, size)
    pooled = np.linalg.eigh(scatter(rows))[1][:, ::-1]
    for grow in (balanced_tree, chain_tree, lambda labels: random_tree(labels, rng)):
        merged = merge_tree(states, grow(list(states)))
        assert subspace_distance(merged.basis[:, :k], pooled[:, :k]) < 1e-8


@given(case=streams(), rank=st.integers(1, 3))
def test_cut_merges_stay_within_their_bound(case, rank):
    rows, sites, size, rng = case
    states = read_sites(rows, sites, size, min(rank, rows.shape[1]))
    merged = merge_tree(states, random_tree(list(states), rng))
    exact = scatter(rows)
    slack = 1e-10 * np.linalg.norm(exact) + 1e-13 * np.linalg.norm(rows) ** 2
    missing = np.linalg.eigvalsh(exact - represented(merged))
    assert missing[0] > -slack
    assert missing[-1] < merged.lost + merged.dropped + slack


@given(seed=st.integers(0, 10**6), first=st.floats(0.1, 2.0), rank=st.integers(1, 5))
def test_merge_is_the_decomposition_of_the_weighted_pair(seed, first, rank):
    rng = np.random.default_rng(seed)
    states = [
        update(Subspace.empty(5, 5), rng.normal(size=(n, 5)), center=False)
        for n in (3, 7)
    ]
    merged = merge(*states, rank=rank, weights=(first, 1.0))
    pair = [first * states[0].basis * states[0].values]
    pair.append(states[1].basis * states[1].values)
    left, values, _ = np.linalg.svd(np.hstack(pair))
    np.testing.assert_allclose(merged.values, values[:rank])
    assert subspace_distance(merged.basis, left[:, :rank]) < 1e-8
    np.testing.assert_allclose(merged.weight, 3 * first**2 + 7)


def test_sites_that_hold_nothing_change_nothing(rng):
    full = update(Subspace.empty(4, 4), rng.normal(size=(9, 4)) + 5.0)
    empty = Subspace.empty(4, 4)
    for merged in (merge(empty, full), merge(full, empty)):
        np.testing.assert_allclose(represented(merged), represented(full), atol=1e-12)
        np.testing.assert_allclose(merged.mean, full.mean)
    assert not len(merge(empty, empty).values)


def test_trees_may_be_deeper_than_recursion_allows(rng):
    assert balanced_tree("abcde") == ((("a", "b"), ("c", "d")), "e")
    assert chain_tree("abcd") == ((("a", "b"), "c"), "d")
    assert balanced_tree("a") == chain_tree("a") == "a"
    rows = rng.normal(size=(1200, 2))
    states = {i: update(Subspace.empty(2, 2), rows[[i]]) for i in range(1200)}
    deep = merge_tree(states, chain_tree(range(1200)))
    np.testing.assert_allclose(represented(deep), scatter(rows), rtol=1e-10)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (("a", "b"), "each of the 3 sites once"),
        ((("a", "b"), "b"), "each of the 3 sites once"),
        ((("a", "b"), ("c", "c")), "each of the 3 sites once"),
        ((("a", "b"), "d"), "each of the 3 sites once"),
        (["a", "b", "c"], "each of the 3 sites once"),
        (("a", "b", "c"), "3 branches"),
    ],
)
def test_trees_that_do_not_fit(tree, message):
    states = dict.fromkeys("abc", Subspace.empty(2, 2))
    with pytest.raises(InputError, match=message):
        merge_tree(states, tree)
