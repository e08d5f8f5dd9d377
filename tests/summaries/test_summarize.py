from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.summaries.comparing import allclose

from fedsdr.exceptions import InputError, SiteError, SiteWarning
from fedsdr.summaries import summarize
from fedsdr.summaries.slicing import Pairs, Slices

CONTAINERS = {
    "pandas": (pd.DataFrame, pd.Series),
    "polars": (pl.DataFrame, pl.Series),
    "arrow": (lambda X: pa.table(pd.DataFrame(X)), pa.array),
    "arrow-chunked": (
        lambda X: pa.table(pd.DataFrame(X)),
        lambda y: pa.chunked_array([y[:30], y[30:]]),
    ),
    "lists": (np.ndarray.tolist, np.ndarray.tolist),
    "float32": (lambda X: X.astype(np.float32), lambda y: y),
}


@pytest.fixture(name="X")
def rows(rng: np.random.Generator) -> np.ndarray:
    # Multiples of 1/256 are the same numbers in every floating point type.
    return np.round(rng.normal(size=(100, 4)) * 256) / 256


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_same_summary(container: str, X: np.ndarray) -> None:
    wrap_X, wrap_y = CONTAINERS[container]
    named = X if container != "polars" else {f"x{j}": X[:, j] for j in range(4)}
    y = X[:, 0] + X[:, 1]
    assert allclose(summarize(wrap_X(named), wrap_y(y)), summarize(X, y))


@pytest.mark.parametrize(
    "as_classes",
    [
        lambda y: np.where(y, "yes", "no"),
        lambda y: np.where(y, "yes", "no").astype(object),
        lambda y: pd.Series(np.where(y, "yes", "no")),
        lambda y: pd.Series(np.where(y, 2.5, 0.5)).astype("category"),
        lambda y: pl.Series(np.where(y, "yes", "no")),
        lambda y: pl.Series(np.where(y, "yes", "no"), dtype=pl.Categorical),
        lambda y: pa.array(np.where(y, "yes", "no")),
        lambda y: pa.array(np.where(y, 2.5, 0.5)).dictionary_encode(),
        lambda y: y,
        lambda y: y.astype(int),
        lambda y: y.astype(float),
    ],
)
@pytest.mark.parametrize("kernel", [Slices(), Pairs()])
def test_classes_are_slices_whatever_their_type(as_classes, kernel, X) -> None:
    y = X[:, 0] > 0.3
    steps = [(y == value).mean() * np.outer(m, m) for value in (True, False)
             for m in [X[y == value].mean(axis=0) - X.mean(axis=0)]]  # fmt: skip
    found = summarize(X, as_classes(y), kernel=kernel)
    reference = summarize(X, y, kernel=kernel)
    assert allclose(found, reference)
    if kernel == Slices():
        np.testing.assert_allclose(found.kernel, sum(steps), atol=1e-14)


def test_large_means_cost_no_digits(X: np.ndarray) -> None:
    y = X[:, 0]
    # Exact, since X holds multiples of 1/256; but the column sums are rounded.
    far = X + np.array([1e6, -1e12, 1e12, 0.0])
    assert allclose(summarize(far, y), summarize(X, y), rtol=1e-14)


def test_sigma_is_exact_to_the_last_digits(X: np.ndarray) -> None:
    column = [Fraction(value) for value in X[:, 1].tolist()]
    mean = sum(column) / 100
    exact = sum((value - mean) ** 2 for value in column) / 100
    assert summarize(X, X[:, 0]).sigma[1, 1] == pytest.approx(float(exact), rel=1e-15)


def test_matrices_are_symmetric_to_the_last_bit(X: np.ndarray) -> None:
    for kernel in (Slices(), Pairs()):
        summary = summarize(X, X[:, 0], kernel=kernel)
        np.testing.assert_array_equal(summary.scatter, summary.scatter.T)
        np.testing.assert_array_equal(summary.between, summary.between.T)


def test_the_callers_rows_are_left_alone(X: np.ndarray) -> None:
    X += 10
    before = X.copy()
    summarize(X, X[:, 0])
    np.testing.assert_array_equal(X, before)


DEGENERATE = {
    "one row": (1, [1.5], r"has 1 row\(s\)"),
    "three rows": (3, [1.5, 2.5, 3.5], r"has 3 row\(s\)"),
    "constant": (30, [1.5] * 30, "has a constant y"),
    "one class": (30, ["a"] * 30, "has one class only"),
    "all classes differ": (
        30,
        [f"id{k}" for k in range(30)],
        "has 30 classes in 30 rows, one row each",
    ),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_a_degenerate_site_is_named(case: str, X: np.ndarray) -> None:
    n_rows, y, message = DEGENERATE[case]
    with pytest.raises(
        SiteError, match=f"Site 'north' {message}.*leave it out"
    ) as info:
        summarize(X[:n_rows], y, site="north")
    assert info.value.site == "north"


@pytest.mark.parametrize("case", DEGENERATE)
def test_a_degenerate_site_may_give_its_covariance_only(
    case: str, X: np.ndarray
) -> None:
    n_rows, y, message = DEGENERATE[case]
    with pytest.warns(SiteWarning, match=f"Site 7 {message}.*covariance only"):
        summary = summarize(X[:n_rows], y, on_degenerate="zero", site=7)
    assert summary.n_rows == n_rows
    assert not summary.kernel.any()
    expected = np.cov(X[:n_rows], rowvar=False, bias=True)
    np.testing.assert_allclose(summary.sigma, expected, atol=1e-14)


def test_a_constant_column_has_no_variance_and_no_kernel(X: np.ndarray) -> None:
    X[:, 2] = 0.1
    summary = summarize(X, X[:, 0])
    assert np.abs(summary.scatter[2]).max() < 1e-14
    assert np.abs(summary.between[2]).max() < 1e-14


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (np.where(X > 2, np.nan, X), y), "X contains NaN"),
        (lambda X, y: (np.where(X > 2, np.inf, X), y), "X contains infinity"),
        (lambda X, y: (X, np.where(y > 1, np.nan, y)), "y contains NaN"),
        (lambda X, y: (X, np.where(y > 1, np.inf, y)), "y contains infinity"),
        (lambda X, y: (X, np.where(y > 1, None, "a")), "y contains missing values"),
        (lambda X, y: (X, [pd.NA, *y[1:]]), "y contains missing values"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (X, X), "y should be a 1d array"),
        (lambda X, y: (X[:, 0], y), "Expected 2D array"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (X.astype(str)[:, :1] + "m", y), "could not convert"),
        (lambda X, y: (X, None), "y is missing"),
        (lambda X, y: (X, y.astype("datetime64[s]")), "neither a number nor a class"),
        (lambda X, y: (X, y * 1j), "Complex data not supported"),
    ],
)
def test_bad_rows_are_refused(change, message: str, X: np.ndarray) -> None:
    with pytest.raises(ValueError, match=message):
        summarize(*change(X, X[:, 0]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"kernel": "save"},
            r"kernel must be Slices\(...\), Pairs\(\) or Smooth\(\), got 'save'",
        ),
        ({"on_degenerate": "skip"}, "on_degenerate must be"),
        ({"response": "ordinal"}, "response must be"),
    ],
)
def test_bad_options_are_refused(options: dict, message: str, X: np.ndarray) -> None:
    with pytest.raises(InputError, match=message):
        summarize(X, X[:, 0], **options)
