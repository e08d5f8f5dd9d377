"""Sums of tests at one site equal a slow program that sees all rows."""

import numpy as np
import pytest

from fedsdr.summaries.cross_fit import HalfTest, cross_fit


def _site(rng, n_rows, n_columns=4, n_functions=2):
    X = rng.normal(size=(n_rows, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    Q = rng.normal(size=(n_rows, n_functions))
    learning = np.zeros(n_rows, dtype=bool)
    learning[rng.permutation(n_rows)[: n_rows // 2]] = True
    return X - X.mean(axis=0), Q - Q.mean(axis=0), learning


def _about_means(X, testing):
    return X[testing] - X[testing].mean(axis=0)


def _plan(sites, rng, *, own=1.0, common=0, n_directions=2):
    columns = np.array([0, 2, 3])
    scatter = sum(
        (x := _about_means(X[:, columns], ~learning)).T @ x for X, _, learning in sites
    )
    return HalfTest(
        half=0,
        columns=columns,
        basis=rng.normal(size=(3, n_directions)),
        slopes=rng.normal(size=(3, n_directions)),
        inverse=np.linalg.inv(scatter),
        own=own,
        common=rng.normal(size=(n_directions, common)),
    )


def _sums(site, test, parts=1):
    X, Q, learning = site
    batches = np.array_split(X, parts)
    return cross_fit(lambda: batches, Q, [learning, ~learning], test)


def _functions_on_testing_rows(site, test):
    """Learn coefficients row by row on one half; evaluate them on the other."""
    X, Q, learning = site
    x = X[learning][:, test.columns]
    x = (x - x.mean(axis=0)) @ test.basis
    own = sum(np.outer(q, row) for q, row in zip(Q[learning], x, strict=True))
    own = own * len(X) / learning.sum()
    shared = np.zeros_like(own)
    width = test.common.shape[1]
    if width:
        shared[:width] = np.sqrt(len(X)) * test.common.T
        own = test.own * own + (1 - test.own) * shared
    g = Q[~learning] @ own
    return g - g.mean(axis=0)


@pytest.mark.parametrize(("own", "common"), [(1.0, 0), (0.3, 2), (0.0, 1)])
def test_sums_are_least_squares_with_an_intercept_a_site(rng, own, common):
    sites = [_site(rng, 40), _site(rng, 25), _site(rng, 31)]
    test = _plan(sites, rng, own=own, common=common)
    total = sum(_sums(site, test) for site in sites)
    x = np.concatenate([_about_means(X[:, test.columns], ~a) for X, _, a in sites])
    g = np.concatenate([_functions_on_testing_rows(site, test) for site in sites])
    expected = np.linalg.lstsq(x, g, rcond=None)[0]
    np.testing.assert_allclose(total[:6].reshape(3, 2), expected, rtol=1e-9)


def test_covariances_are_those_of_white(rng):
    site = _site(rng, 30)
    test = _plan([site], rng)
    X, _, learning = site
    x = _about_means(X[:, test.columns], ~learning)
    r, e = x @ test.inverse, _functions_on_testing_rows(site, test) - x @ test.slopes
    n = (~learning).sum()
    squares = np.array(
        [
            [
                (r[:, j] ** 2 * e[:, a] * e[:, b]).sum()
                for a, b in [(0, 0), (0, 1), (1, 1)]
            ]
            for j in range(3)
        ]
    )
    found = _sums(site, test)
    np.testing.assert_allclose(
        found[6:15].reshape(3, 3), squares * n / (n - 1), rtol=1e-9
    )
    np.testing.assert_allclose(found[15:18], (r**4).sum(axis=0), rtol=1e-9)
    assert found[18:].tolist() == [n, 1.0]


def test_neither_batches_nor_the_order_of_rows_matter(rng):
    site = _site(rng, 41)
    test = _plan([site], rng, own=0.4, common=2)
    once = _sums(site, test)
    np.testing.assert_allclose(_sums(site, test, parts=5), once, rtol=1e-9)
    order = rng.permutation(41)
    np.testing.assert_allclose(
        _sums(tuple(part[order] for part in site), test), once, rtol=1e-9
    )


def test_a_site_of_three_rows_adds_nothing(rng):
    site = _site(rng, 30)
    test = _plan([site], rng)
    X, Q, _ = _site(rng, 3)
    tiny = X, Q, np.array([True, False, False])
    assert not _sums(tiny, test).any()
