"""Unusable input raises a clear error; unusual input has a known outcome."""

import re

import numpy as np
import pandas as pd
import pytest

from fedsdr import SIR, SSIR, FedSSIR
from fedsdr.exceptions import InputError, SiteError, SiteWarning, WeakSignalWarning
from fedsdr.metrics import subspace_distance

N_ROWS = 120


def estimators() -> list[object]:
    """Return every estimator, with every rule for the penalty."""
    rules = ("universal", "moments", "holdout")
    chosen = [FedSSIR(penalty=rule, random_state=0) for rule in rules]
    return [SIR(1), SSIR(random_state=0), *chosen]


every_estimator = pytest.mark.parametrize("model", estimators(), ids=repr)


@pytest.fixture(name="X")
def covariates(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(N_ROWS, 5))


@pytest.fixture(name="y")
def response(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=N_ROWS)


def with_entry(values: np.ndarray, entry: float) -> np.ndarray:
    changed = values.copy()
    changed.flat[7] = entry
    return changed


@every_estimator
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X, y: (with_entry(X, np.nan), y), "X contains NaN"),
        (lambda X, y: (with_entry(X, np.inf), y), "X contains infinity"),
        (lambda X, y: (X, with_entry(y, np.nan)), "y contains NaN"),
        (lambda X, y: (X, with_entry(y, -np.inf)), "y contains infinity"),
        (lambda X, y: (X, y[:-1]), r"inconsistent numbers of samples: \[120, 119\]"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (X[:, :0], y), "0 feature"),
        (lambda X, y: (X[:, 0], y), "Expected 2D array"),
        (lambda X, y: (np.full((N_ROWS, 2), "text"), y), "columns .* hold text"),
        (lambda X, y: (pd.DataFrame(X).assign(ward="a"), y), "'ward' holds text"),
    ],
)
def test_values_that_cannot_be_used(model, spoil, message, X, y) -> None:
    with pytest.raises(ValueError, match=message):
        model.fit(*spoil(X, y))


@every_estimator
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X, y: (X, np.full(N_ROWS, 0.5)), "constant y"),
        (lambda X, y: (X, np.full(N_ROWS, 1)), "one class"),
        (lambda X, y: (X, np.full(N_ROWS, "well")), "one class"),
    ],
)
def test_rows_that_say_nothing_about_y(model, spoil, message, X, y) -> None:
    with pytest.raises(SiteError, match=message):
        model.fit(*spoil(X, y))


@every_estimator
def test_one_row(model, X, y) -> None:
    with pytest.raises(ValueError, match=r"1 sample\(s\).*minimum of 4"):
        model.fit(X[:1], y[:1])


@every_estimator
def test_all_columns_constant(model, y) -> None:
    with pytest.raises(InputError):
        model.fit(np.ones((N_ROWS, 3)), y)


@every_estimator
@pytest.mark.parametrize("value", [-0.1, 1e6])
def test_a_constant_column_is_never_selected(model, value, X, y) -> None:
    widened = np.column_stack([np.full(N_ROWS, value), X])
    directions = model.fit(widened, y).directions_
    assert not directions[0].any()
    assert subspace_distance(directions[1:], [[1], [1], [0], [0], [0]]) < 0.3


@every_estimator
@pytest.mark.parametrize("factor", [1.0, -1000.0])
def test_a_duplicated_column_shares_or_leaves_the_coefficient(
    model, factor, X, y
) -> None:
    doubled = np.column_stack([X, factor * X[:, 0]])
    directions = model.fit(doubled, y).directions_
    merged = directions[:5].copy()
    merged[0] += factor * directions[5]
    assert subspace_distance(merged, [[1], [1], [0], [0], [0]]) < 0.3


# So few rows are rightly called a weak signal, though these have no noise.
@pytest.mark.filterwarnings("ignore:the signal is weak. a few large values")
@every_estimator
@pytest.mark.parametrize("seed", range(2))
def test_more_columns_than_rows(model, seed) -> None:
    X = np.random.default_rng(seed).normal(size=(40, 100))
    y = X[:, 0] + X[:, 1]
    if isinstance(model, SIR):
        with pytest.warns(WeakSignalWarning, match="40 rows for 100 columns"):
            model.fit(X, y)
    else:
        model.fit(X, y)
        found = model.support_[:2]
        # Twelve rows held out choose the penalty: one of the two may be lost.
        assert found.any() if model.penalty == "holdout" else found.all()
        assert model.gap_ <= model.tol


# --- sites --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sites", "message"),
    [
        (np.zeros(N_ROWS - 1), "one label for each of the 120 rows, got shape (119,)"),
        (np.zeros((N_ROWS, 2)), "got shape (120, 2)"),
        (np.where(np.arange(N_ROWS) < 3, np.nan, 1.0), "3 missing label(s)"),
        (np.array(["a", None] * 60, dtype=object), "60 missing label(s)"),
        (np.array(["a", 1] * 60, dtype=object), "different types"),
        ("ward", "one label per row; pass X['ward'] instead of 'ward'"),
    ],
)
def test_labels_that_cannot_be_used(sites, message, X, y) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        FedSSIR().fit(X, y, sites=sites)


# A site's covariance is moved towards the pooled one, which one row more divides.
@pytest.mark.parametrize(("refit", "tolerance"), [("pooled", 1e-6), (True, 1e-4)])
def test_a_site_with_one_row_is_named_and_changes_nothing_but_counts(
    refit, tolerance, X, y
) -> None:
    sites = np.arange(N_ROWS) % 3
    sites[0] = 9
    with pytest.warns(SiteWarning, match="Site 9 has 1 row"):
        model = FedSSIR(refit=refit).fit(X, y, sites=sites)
    without = FedSSIR(refit=refit).fit(X[1:], y[1:], sites=sites[1:])
    assert subspace_distance(model.directions_, without.directions_) < tolerance
    assert model.result_.n_rows == without.result_.n_rows + 1


def test_a_site_with_one_class_is_named(X) -> None:
    sites = np.where(np.arange(N_ROWS) < 40, "north", "south")
    y = np.where((X[:, 0] > 0) & (sites == "south"), "ill", "well")
    with pytest.warns(SiteWarning, match="Site 'north' has one class only"):
        model = FedSSIR().fit(X, y, sites=sites)
    assert model.support_[0]


@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.SiteWarning")
def test_only_sites_that_say_nothing(X, y) -> None:
    with pytest.raises(InputError, match="constant at every site"):
        FedSSIR().fit(X, y, sites=np.arange(N_ROWS))
    sites = np.arange(N_ROWS) % 3
    with pytest.raises(InputError, match="y varies within the sites"):
        FedSSIR().fit(X, sites.astype(str), sites=sites)


# --- new rows -----------------------------------------------------------------------


@every_estimator
def test_other_columns_than_in_fit_are_refused(model, X, y) -> None:
    frame = pd.DataFrame(X, columns=list("abcde"))
    model.fit(frame, y)
    others = {
        "missing": frame[list("abcd")],
        "unseen": frame.rename(columns={"a": "z"}),
        "same order": frame[list("edcba")],
    }
    for message, other in others.items():
        with pytest.raises(ValueError, match=message):
            model.transform(other)
    with pytest.raises(ValueError, match="5 features"):
        model.fit(X, y).transform(X[:, :4])


@every_estimator
def test_masked_values_are_missing(model, X, y) -> None:
    masked = np.ma.masked_greater(X, 2.0)
    with pytest.raises(InputError, match=r"X is a masked array with \d+ masked"):
        model.fit(masked, y)
    with pytest.raises(InputError, match=r"y is a masked array with \d+ masked"):
        model.fit(X, np.ma.masked_greater(y, 1.0))
    model.fit(np.ma.masked_array(X), np.ma.masked_array(y))
    with pytest.raises(InputError, match="masked"):
        model.transform(masked)


def test_a_result_does_not_reduce_masked_values(X, y) -> None:
    result = FedSSIR().fit(X, y).result_
    with pytest.raises(InputError, match="missing or infinite values in 'x0'"):
        result.transform(np.ma.masked_greater(X, 2.0))
