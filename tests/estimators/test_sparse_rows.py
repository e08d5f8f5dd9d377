"""Sparse matrices, single precision and bytes are fitted as they are."""

import tracemalloc
import warnings

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from fedsdr import FedSSIR
from fedsdr.method import Method
from fedsdr.rows import MemoryRows
from fedsdr.summaries import summarize
from fedsdr.summaries.dense_blocks import largest_values
from fedsdr.terms import Terms, Variables

FORMS = {
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "matrix of bytes": lambda X: sparse.csr_matrix(X.astype(np.int8)),
    "lil": sparse.lil_array,
    "float32": lambda X: X.astype(np.float32),
    "bytes": lambda X: X.astype(np.int8),
    "bytes without a sign": lambda X: X.astype(np.uint8),
}


@pytest.fixture(name="genotypes")
def rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = rng.binomial(2, 0.3, size=(240, 12)).astype(float)
    y = X[:, 0] - X[:, 1] + 0.2 * rng.normal(size=240)
    return X, y, np.repeat(["a", "b", "c"], 80)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "settings",
    [{}, {"penalty": "holdout"}, {"kernel": "slices"}, {"scores": "normal"}],
    ids=str,
)
def test_a_fit_does_not_depend_on_the_form_of_the_rows(
    form: str, settings: dict, genotypes: tuple
) -> None:
    X, y, sites = genotypes
    model = FedSSIR(1, random_state=0, **settings)
    expected = model.fit(X, y, sites=sites).directions_
    held = FORMS[form](X)
    found = model.fit(held, y, sites=sites)
    np.testing.assert_allclose(found.directions_, expected, atol=1e-12)
    np.testing.assert_allclose(found.transform(held), found.transform(X), atol=1e-6)


def test_an_arrow_table_is_fitted_by_its_names(genotypes: tuple) -> None:
    X, y, sites = genotypes
    columns = {f"snp{j}": pa.array(X[:, j].astype(np.int8)) for j in range(12)}
    found = FedSSIR(1).fit(pa.table(columns), y, sites=sites)
    expected = FedSSIR(1).fit(X, y, sites=sites)
    np.testing.assert_allclose(found.directions_, expected.directions_, atol=1e-12)


def test_sparse_rows_are_never_dense_as_a_whole(rng: np.random.Generator) -> None:
    X = sparse.random_array((100_000, 100), density=0.01, rng=rng, format="csc")
    y = rng.normal(size=100_000)
    tracemalloc.start()
    summarize(X, y, response="ordered")
    rows = MemoryRows(X, y, rng)
    rows.check_values()
    assert not rows.measured.is_wide
    rows.variances()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * X.shape[0] * X.shape[1] / 2


def test_all_sums_of_a_site_are_those_of_dense_rows(genotypes: tuple) -> None:
    X, y, _ = genotypes
    terms = Method().terms(Variables(tuple(f"x{j}" for j in range(12))))
    assert isinstance(terms, Terms)
    dense, thin = (
        MemoryRows(own, y, np.random.default_rng(0)) for own in (X, sparse.csc_array(X))
    )
    np.testing.assert_allclose(thin.variances(), dense.variances(), rtol=1e-12)
    held = (np.vstack(list(one.held())) for one in (thin, dense))
    np.testing.assert_array_equal(*held)
    columns, scale = np.array([3, 1]), np.array([2.0, 0.5])
    (one, _), (other, _) = (next(own.batches(columns, scale)) for own in (dense, thin))
    np.testing.assert_allclose(one, other, atol=1e-13)


def test_bytes_are_never_dense_numbers_as_a_whole(rng: np.random.Generator) -> None:
    # Few columns, of which all pairs are summed, and many, of which a few.
    for shape in ((40_000, 100), (4_000, 1_000)):
        X = rng.binomial(2, 0.3, size=shape).astype(np.int8)
        y = X[:, 0] - X[:, 1] + 0.2 * rng.normal(size=shape[0])
        sites = np.arange(shape[0]) % 4
        FedSSIR(1, max_seconds=0.1).fit(X[:100, :50], y[:100])
        tracemalloc.start()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            FedSSIR(1, max_seconds=0.1).fit(X, y, sites=sites)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * X.size


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_array])
def test_the_smallest_byte_is_as_large_as_it_is(make, rng) -> None:
    X = rng.integers(-128, 5, size=(60, 3)).astype(np.int8)
    X[0] = -128
    y = rng.normal(size=60)
    rows = MemoryRows(make(X), y, rng)
    rows.check_values()
    np.testing.assert_allclose(rows.variances(), X.astype(float).var(axis=0))
    assert largest_values(make(X)).tolist() == [128.0] * 3
    scatter = summarize(make(X), y, response="ordered").scatter
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(scatter, centred.T @ centred)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_values_in_sparse_rows_are_refused(bad: float, genotypes) -> None:
    X, y, _ = genotypes
    X[5, 3] = bad
    with pytest.raises(ValueError, match="contains"):
        FedSSIR().fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="contains"):
        summarize(sparse.csr_array(X), y)
