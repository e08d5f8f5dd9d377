"""Cross-validated scores: folds within sites, measures of all held-out rows."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fedsdr import FedSSIR
from fedsdr.downstream import (
    leave_sites_out,
    our_model,
    score_folds,
    site_folds,
    usual_models,
)
from fedsdr.exceptions import InputError

RNG = np.random.default_rng(0)
SITES = np.repeat(["a", "b", "c"], [60, 90, 150])
X = RNG.normal(size=(300, 6))
Y = X[:, 0] + X[:, 1] + 0.5 * RNG.normal(size=300)


def test_every_row_is_tested_once_and_sites_are_divided_alike() -> None:
    folds = list(site_folds(SITES, Y, n_folds=5, random_state=1))
    tested = np.concatenate([test for _, test in folds])
    assert sorted(tested) == list(range(300))
    for train, test in folds:
        assert not set(train) & set(test)
        counts = [int((SITES[test] == one).sum()) for one in "abc"]
        assert counts == [12, 18, 30]


def test_classes_are_divided_one_by_one() -> None:
    y = np.arange(300) % 10 == 0
    for _, test in site_folds(SITES, y, n_folds=3, random_state=0):
        assert [int(y[test][SITES[test] == one].sum()) for one in "abc"] == [2, 3, 5]


def test_the_same_seed_gives_the_same_folds() -> None:
    first, second = (
        [test.tolist() for _, test in site_folds(None, Y, random_state=3)]
        for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize("n_folds", [1, 0, 151])
def test_impossible_folds_are_refused(n_folds) -> None:
    with pytest.raises(InputError, match="number of folds"):
        next(site_folds(SITES, Y, n_folds=n_folds))


def test_sites_are_left_out_in_turn() -> None:
    found = list(leave_sites_out(SITES))
    assert [set(SITES[test]) for _, test in found] == [{"a"}, {"b"}, {"c"}]
    assert all(len(train) + len(test) == 300 for train, test in found)


def test_scores_are_those_of_scikit_learn() -> None:
    folds = list(site_folds(SITES, Y, n_folds=4, random_state=0))
    model = make_pipeline(StandardScaler(), LinearRegression())
    found = score_folds({"plain": model}, X, Y, SITES, folds)["plain"]
    predicted = np.empty(300)
    for train, test in folds:
        predicted[test] = model.fit(X[train], Y[train]).predict(X[test])
    assert found.measures.r2 == pytest.approx(r2_score(Y, predicted))
    assert found.n_variables == (6, 6, 6, 6)
    assert len(found.by_fold) == 4
    one = folds[2][1]
    assert found.by_fold[2].r2 == pytest.approx(r2_score(Y[one], predicted[one]))


def test_the_reduction_is_fitted_inside_the_folds(monkeypatch) -> None:
    """Every fit sees the rows of the other folds, and no others."""
    seen: list[list[float]] = []
    fit = type(our_model(None, classes=False)).fit

    def watched(self, X, y, sites=None):
        seen.append(y.tolist())
        return fit(self, X, y, sites=sites)

    monkeypatch.setattr(type(our_model(None, classes=False)), "fit", watched)
    folds = list(site_folds(SITES, Y, n_folds=3, random_state=0))
    found = score_folds(
        {"ours": our_model(FedSSIR(), classes=False)}, X, Y, SITES, folds
    )
    assert seen == [Y[train].tolist() for train, _ in folds]
    assert set(found["ours"].n_variables) == {2}
    assert found["ours"].measures.r2 > 0.8


@pytest.mark.parametrize("classes", [False, True])
def test_usual_models_predict(classes) -> None:
    y = np.where(Y > 0, "high", "low") if classes else Y
    folds = list(site_folds(SITES, y, n_folds=2, random_state=0))
    found = score_folds(usual_models(classes=classes), X, y, SITES, folds)
    assert list(found) == ["lasso", "all variables"]
    for one in found.values():
        assert (one.measures.auc if classes else one.measures.r2) > 0.75
    assert max(found["lasso"].n_variables) <= 6
