"""Sums of rows and of their products with functions, from blocks of any size."""

from functools import reduce
from operator import add

import numpy as np
import pytest

from fedsdr.summaries import blocked, slicing
from fedsdr.summaries.blocked import sum_rows
from fedsdr.summaries.kernels import GroupIndicators
from fedsdr.summaries.rank_functions import (
    ResponseFunctions,
    plain_response,
    sizes_of_ties,
)
from fedsdr.summaries.slicing import dense_ranks


def test_functions_are_summed_in_their_order_whether_sparse_or_not(
    rng, monkeypatch
) -> None:
    monkeypatch.setattr(blocked, "block_rows", lambda d: 20)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    smooth = ResponseFunctions(dense_ranks(y), y)
    groups = GroupIndicators(np.arange(50) % 4)
    functions = [smooth, groups, smooth]
    found = reduce(add, sum_rows(X, np.zeros(3), functions))
    values = smooth.at(slice(0, 50))[1]
    members = np.arange(4)[:, None] == np.arange(50) % 4
    np.testing.assert_allclose(found.total, X.sum(axis=0))
    np.testing.assert_allclose(found.squares, X.T @ X)
    for own, expected in zip(found.products, (values, members, values), strict=True):
        np.testing.assert_allclose(own, expected @ X, atol=1e-12)
    assert [one.size for one in found.levels] == [len(values), 0, len(values)]
    np.testing.assert_allclose(found.levels[2], values.sum(axis=1), atol=1e-12)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_ranks_in_pieces_are_those_of_all_numbers(
    ties, chunk, rng, monkeypatch
) -> None:
    monkeypatch.setattr(slicing, "CHUNK", chunk)
    y = rng.normal(size=100)
    y = np.round(y, 1) if ties else y
    y[[3, 50, 51]] = -np.inf, np.inf, np.inf
    y[[60, 61]] = 0.0, -0.0
    expected = np.unique(y, return_inverse=True)[1]
    np.testing.assert_array_equal(dense_ranks(y), expected)


def test_missing_numbers_share_a_rank() -> None:
    assert dense_ranks(np.array([np.nan, 1.0, np.nan])).tolist() == [1, 0, 1]


@pytest.mark.parametrize("ranks", [[2, 0, 1], [0, 0, 1], [0, 0], [0]])
def test_sizes_of_ties_are_counts(ranks) -> None:
    found = sizes_of_ties(np.array(ranks))
    np.testing.assert_array_equal(found, np.bincount(ranks))


def test_a_plain_response_leaves_the_response_as_it_is(rng) -> None:
    y = rng.normal(size=41)
    before = y.copy()
    plain_response(y)
    np.testing.assert_array_equal(y, before)
