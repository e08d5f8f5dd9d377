"""From sums to a result, in four stages that can be called one by one."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.protocols.studies import Consortium

from fedsdr import run as run_module
from fedsdr.choices import HoldOut, Moments, Votes
from fedsdr.estimation import Estimate
from fedsdr.exceptions import InputError, WeakSignalWarning
from fedsdr.method import Method
from fedsdr.metrics import subspace_distance
from fedsdr.protocols.secure import SecureSum
from fedsdr.questions import Asking, MomentsOf, ask_sites
from fedsdr.result import Result
from fedsdr.rows import MemoryRows, OwnSites
from fedsdr.run import gather, report, run
from fedsdr.selection import Selection, select
from fedsdr.simulate import make_setting
from fedsdr.summaries.slicing import Slices
from fedsdr.terms import Variables

METHODS = {
    "default": Method(),
    "paper": Method(
        n_directions=Votes(max_directions=3),
        penalty=HoldOut(penalties=4),
        kernel=Slices(size=10),
        refit=False,
    ),
    "moments": Method(n_directions="bic", penalty=Moments(folds=3, penalties=5)),
    "given": Method(n_directions=1, penalty=0.05, refit=0.5, standardize=False),
    "scores": Method(scores="normal"),
    "scores, held out": Method(scores="normal", penalty=HoldOut(penalties=4)),
}
each_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


@pytest.fixture(name="rows", scope="module")
def rows_by_site() -> dict[str, Any]:
    data = make_setting(1, n_sites=4, n_per_site=70, n_features=9, random_state=2)
    return {
        f"site-{i:02d}": (data.X[data.sites == i], data.y[data.sites == i])
        for i in range(4)
    }


def own_sites(rows: dict[str, Any], **known: Any) -> OwnSites:
    # The seeds that `Consortium` gives to its sites.
    held = {
        name: MemoryRows(X.copy(), y, np.random.default_rng(7), name)
        for name, (X, y) in rows.items()
    }
    n_features = next(iter(rows.values()))[0].shape[1]
    return OwnSites(held, Variables(tuple(f"x{j}" for j in range(n_features)), **known))


def assert_same(found: Result, expected: Result, tolerance: float = 0.0) -> None:
    np.testing.assert_array_equal(found.support, expected.support)
    for name in ("directions", "eigenvalues", "penalty", "objective", "scale"):
        np.testing.assert_allclose(
            getattr(found, name),
            getattr(expected, name),
            rtol=tolerance,
            atol=tolerance,
            err_msg=name,
        )
    for name in ("feature_names", "n_rows", "n_sites", "settings", "converged"):
        assert getattr(found, name) == getattr(expected, name), name
    assert (found.scores is None) == (expected.scores is None)
    if found.scores is not None and expected.scores is not None:
        for name in ("points", "scores"):
            ours, theirs = getattr(found.scores, name), getattr(expected.scores, name)
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    assert len(found.validation) == len(expected.validation)


@each_method
def test_who_adds_does_not_matter(rows, method: Method) -> None:
    plain = run(own_sites(rows), method)
    terms = method.terms(own_sites(rows).variables)
    asked = {name: getattr(terms, name) for name in terms.__slots__}
    del asked["n_features"]
    consortium = Consortium(rows, **asked)
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    assert_same(run(add, method), plain, 1e-12)


@each_method
def test_the_stages_one_by_one_are_the_run(rows, method: Method) -> None:
    adder = own_sites(rows)
    gathered = ask_sites(adder, gather(adder.variables, method))
    choosing = select(gathered.evidence, method, np.random.default_rng(0))
    selection = ask_sites(adder, choosing)
    found = ask_sites(adder, run_module.estimate(gathered, method, selection))
    by_hand = report(gathered, method, selection, found)
    assert_same(by_hand, run(own_sites(rows), method))
    assert by_hand.settings == {**method.settings(), "response_type": "ordered"}
    assert by_hand.gap <= method.tol
    assert by_hand.n_iter >= 1
    assert set(by_hand.provenance) >= {"created", "python", "fedsdr", "numpy"}


def test_a_stage_can_be_replaced(rows, monkeypatch) -> None:
    """Estimate directions on given variables instead of the selected ones."""
    usual = run_module.estimate

    def chosen(gathered: Any, method: Method, selection: Selection) -> Asking[Estimate]:
        solution = replace(selection.solution, active=np.array([0, 7]))
        return usual(gathered, method, replace(selection, solution=solution))

    monkeypatch.setattr(run_module, "estimate", chosen)
    method = Method(n_directions=1, refit=0.9)
    found = run(own_sites(rows), method)
    assert found.selected == ("x0", "x7")
    adder = own_sites(rows)
    gathered = ask_sites(adder, gather(adder.variables, method))
    choosing = select(gathered.evidence, method, np.random.default_rng(0))
    selection = ask_sites(adder, choosing)
    mine = ask_sites(adder, chosen(gathered, method, selection))
    assert_same(report(gathered, method, selection, mine), found)


def test_sites_are_asked_a_few_times_without_a_second_stage(rows) -> None:
    for name, method in METHODS.items():
        adder = own_sites(rows)
        run(adder, replace(method, refit="pooled" if method.refit else False))
        wanted = {"paper": 2, "scores": 3, "scores, held out": 4}
        assert adder.n_sums == wanted.get(name, 1), name


def test_the_second_stage_asks_no_more_often_than_was_agreed(rows) -> None:
    adder = own_sites(rows)
    found = run(adder, Method())
    agreed = Method().terms(adder.variables).max_profiles
    assert 2 <= adder.n_sums <= 1 + agreed
    assert [line["step"] for line in found.validation].count("sites") >= 1


def test_constant_columns_are_set_aside(rows) -> None:
    widened = {
        name: (np.insert(X, 4, float(len(X)), axis=1), y)
        for name, (X, y) in rows.items()
    }
    found, without = run(own_sites(widened), Method()), run(own_sites(rows), Method())
    assert not found.support[4]
    assert found.scale[4] == 1.0
    np.testing.assert_array_equal(np.delete(found.support, 4), without.support)
    kept = np.delete(found.directions, 4, axis=0)
    np.testing.assert_allclose(kept, without.directions, atol=1e-12)
    flat = {name: (np.ones((70, 2)), y) for name, (_, y) in rows.items()}
    with pytest.raises(InputError, match="every column of X is constant at every"):
        run(own_sites(flat), Method())


def test_directions_come_in_the_units_of_the_data(rows) -> None:
    units = 10.0 ** np.arange(-4, 5)
    scaled = {name: (X * units, y) for name, (X, y) in rows.items()}
    found, plain = run(own_sites(scaled), Method()), run(own_sites(rows), Method())
    np.testing.assert_array_equal(found.support, plain.support)
    np.testing.assert_allclose(found.scale, plain.scale * units)
    back = found.directions * units[:, None]
    assert subspace_distance(back, plain.directions) < 1e-6


def test_gaps_are_filled_with_means_over_all_sites(rows) -> None:
    rng = np.random.default_rng(0)
    gappy, filled = {}, {}
    for name, (X, y) in rows.items():
        hole = rng.random((len(y), 2)) < 0.2
        own = X.copy()
        own[:, [3, 5]] = np.where(hole, np.nan, X[:, [3, 5]])
        gappy[name] = (own, y)
    means = np.nanmean(np.vstack([X for X, _ in gappy.values()]), axis=0)
    for name, (X, y) in gappy.items():
        filled[name] = (np.where(np.isnan(X), means, X), y)
    adder = own_sites(gappy, filled=("x3", "x5"))
    run(adder, Method(refit="pooled"))
    assert adder.n_sums == 2
    found = run(own_sites(gappy, filled=("x3", "x5")), Method())
    told = found.settings["filled_with"]
    assert list(told) == ["x3", "x5"]
    np.testing.assert_allclose(list(told.values()), means[[3, 5]])
    expected = run(own_sites(filled), Method())
    np.testing.assert_array_equal(found.support, expected.support)
    np.testing.assert_allclose(found.directions, expected.directions, atol=1e-10)


def skewed(rows: dict[str, Any]) -> dict[str, Any]:
    return {name: (np.exp(X), y) for name, (X, y) in rows.items()}


def test_scores_do_not_depend_on_the_shape_of_a_column(rows) -> None:
    method = Method(scores="normal")
    plain, found = run(own_sites(rows), method), run(own_sites(skewed(rows)), method)
    np.testing.assert_array_equal(found.support, plain.support)
    assert subspace_distance(found.directions, plain.directions) < 0.02
    # Scores of normal columns are the columns, up to mean and spread within sites.
    spread = np.vstack([X - X.mean(axis=0) for X, _ in rows.values()]).std(axis=0)
    scaled = {name: (X / spread, y) for name, (X, y) in rows.items()}
    expected = run(own_sites(scaled), Method())
    assert subspace_distance(expected.directions, plain.directions) < 0.05


def test_the_second_stage_on_scores_is_the_same_under_masks(rows) -> None:
    data, method = skewed(rows), Method(scores="normal")
    adder = own_sites(data)
    plain = run(adder, method)
    # Shapes, steps and moments; then the second stage, which is not left out.
    assert adder.n_sums > 4
    assert not plain.weak
    terms = method.terms(adder.variables)
    asked = {name: getattr(terms, name) for name in terms.__slots__}
    del asked["n_features"]
    consortium = Consortium(data, **asked)
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    assert_same(run(add, method), plain, 1e-10)


def test_a_result_scores_new_rows(rows) -> None:
    data = skewed(rows)
    found = run(own_sites(data), Method(scores="normal"))
    X, _ = data["site-01"]
    assert found.scores is not None
    expected = found.scores.apply(X) @ found.directions
    np.testing.assert_allclose(found.transform(X), expected, atol=1e-12)
    beyond = found.transform(np.vstack([X.max(axis=0), X.max(axis=0) * 1e6]))
    assert np.abs(beyond).max() < 10.0
    assert run(own_sites(rows), Method()).scores is None


def test_gaps_are_filled_and_scored(rows) -> None:
    rng = np.random.default_rng(0)
    gappy, filled = {}, {}
    for name, (X, y) in skewed(rows).items():
        own = X.copy()
        own[rng.random(len(y)) < 0.2, 3] = np.nan
        gappy[name] = (own, y)
    mean = np.nanmean(np.concatenate([X[:, 3] for X, _ in gappy.values()]))
    method = Method(scores="normal")
    adder = own_sites(gappy, filled=("x3",))
    ask_sites(adder, gather(adder.variables, method))
    # The means come with the description of the columns.
    assert adder.n_sums == 3
    found = run(own_sites(gappy, filled=("x3",)), method)
    assert found.settings["filled_with"]["x3"] == pytest.approx(mean)
    for name, (X, y) in gappy.items():
        filled[name] = (found.scores.apply(np.where(np.isnan(X), mean, X)), y)
    expected = run(own_sites(filled), Method())
    np.testing.assert_array_equal(found.support, expected.support)
    np.testing.assert_allclose(found.directions, expected.directions, atol=1e-10)


def test_a_column_without_any_value_cannot_be_filled(rows) -> None:
    empty = {name: (X.copy(), y) for name, (X, y) in rows.items()}
    for X, _ in empty.values():
        X[:, 2] = np.nan
    with pytest.raises(InputError, match=r"1 column\(s\) to be filled with a mean"):
        run(own_sites(empty, filled=("x2",)), Method())
    with pytest.raises(InputError, match=r"1 column\(s\) to be filled with a mean"):
        run(own_sites(empty, filled=("x2",)), Method(scores="normal"))


@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.DimensionLimitWarning")
def test_ties_between_votes_are_decided_by_the_generator(rows) -> None:
    class Split(OwnSites):
        """Sites of which half vote for one dimension and half for another."""

        def __call__(self, question: Any) -> Any:
            value = super().__call__(question)
            if isinstance(question, MomentsOf):
                value.votes[:] = [2.0, 2.0]
            return value

    method = Method(n_directions=Votes(max_directions=2), penalty=0.01, refit=False)

    def dimension(seed: int) -> int:
        held = own_sites(rows)
        found = run(
            Split(held.rows, held.variables), method, np.random.default_rng(seed)
        )
        votes = [line for line in found.validation if line["step"] == "vote"]
        assert [(line["n_directions"], line["sites"]) for line in votes] == [
            (1, 2),
            (2, 2),
        ]
        return found.n_directions

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSignalWarning)
        drawn = [dimension(seed) for seed in range(12)]
        assert set(drawn) == {1, 2}
        assert drawn == [dimension(seed) for seed in range(12)]
