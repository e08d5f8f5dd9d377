"""A coordinator who wants the folds of a scored model to show more than they should.

Each attack is tried on sites without one of their defences, where it succeeds, and on
ours.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.attacks.test_model_attacks import FEWEST, D, axes_along, refused
from tests.protocols.studies import Consortium, make_rows
from tests.study.consortia import NAMES
from tests.study.test_scored_study import scored

from fedsdr.disclosure import Ledger, Policy, ReleaseGate, differencing
from fedsdr.estimation.additive_fit import AdditiveFit, fit_additive
from fedsdr.exceptions import Refusal
from fedsdr.protocols.secure import SecureSum
from fedsdr.questions import (
    FOLDED,
    AxesOf,
    HeldOutOf,
    MeasuresOf,
    MomentsOf,
    NewtonOf,
    RowSettings,
    ask_sites,
    check_possible,
    held_out,
    read_question,
)
from fedsdr.rows import MemoryRows, OwnSites
from fedsdr.rows.dealt_rows import DealtRows
from fedsdr.rows.folds import ScoreFold
from fedsdr.study.dry_run import dry_run
from fedsdr.summaries.families import Family
from fedsdr.terms import AgreedModel, Terms, Variables

AGREED = AgreedModel("linear", "nothing", FEWEST, folds=3)
TERMS = Terms(D, max_steps=20, model=AGREED)


def consortium(n_sites: int = 4, **known: Any) -> Consortium:
    gates: dict[str, ReleaseGate] = {}

    def gate(name: str) -> ReleaseGate:
        policy = Policy(min_rows=5, max_columns_per_row=None, max_models=4)
        return gates.setdefault(name, ReleaseGate(policy, Ledger()))

    terms = {"max_steps": 20, "model": AGREED}
    return Consortium(make_rows(n_sites, D, 60), gate=gate, **terms, **known)


def agreed_adder(group: Consortium) -> SecureSum:
    add = SecureSum(group.transport, group.study)
    add.agree()
    return add


def without(number: int) -> RowSettings:
    return RowSettings(fold=ScoreFold(number, AGREED.folds))


def axes_without(group: Consortium, number: int, *columns: int) -> AxesOf:
    axes = axes_along(*columns, terms=group.study.terms)
    return replace(axes, settings=without(number))


def fitted_without(group: Consortium, add: SecureSum, number: int) -> AdditiveFit:
    axes = axes_without(group, number, 0)
    return ask_sites(add, fit_additive(axes, Family("linear"), "nothing"))


# --- folds and sums that were not agreed on -------------------------------------------


@pytest.mark.parametrize("number", [0, 4, -1, 10**9, True, 1.0, "1", None])
def test_folds_that_were_not_agreed_on_are_refused(number: Any) -> None:
    assert read_question("moments", {"fold": 3}, TERMS, ()).settings.fold == ScoreFold(
        3, 3
    )
    with pytest.raises(Refusal):
        read_question("moments", {"fold": number}, TERMS, ())


@pytest.mark.parametrize("model", [None, replace(AGREED, folds=0)])
def test_a_study_without_scores_has_no_folds(model: Any) -> None:
    with pytest.raises(Refusal):
        read_question("moments", {"fold": 1}, replace(TERMS, model=model), ())


def test_sums_that_need_no_fold_have_none() -> None:
    """Powers, means and scores are of all rows; nobody is asked about a fold."""
    rich = replace(TERMS, scored=False, picture_rows=10, max_profiles=12, n_splits=2)
    one = {"columns": np.arange(1), "scale": np.ones(1), "basis": np.eye(1)}
    asked: dict[str, dict[str, Any]] = {
        "powers": {},
        "means": {},
        "pictures": one,
        "agreement": {
            **one,
            "shares": np.array([0.5]),
            "variances": np.zeros(D),
        },
    }
    for name, request in asked.items():
        assert name not in FOLDED
        read_question(name, request, rich, (0,) if name == "means" else ())
        with pytest.raises(Refusal):
            read_question(
                name, {**request, "fold": 1}, rich, (0,) if name == "means" else ()
            )
    # Halves of a fold would be small, and nobody asks for them.
    moments = read_question("moments", {"fold": 1}, rich, ())
    assert moments.terms.n_splits == 0
    assert moments.n_values == MomentsOf(TERMS).n_values


LINEAR = (Family("linear"), "nothing")

# --- models of its own choice ---------------------------------------------------------


def test_measures_of_a_model_that_is_sent_are_refused() -> None:
    """Neither of all rows, which it knows, nor of a fold."""
    group = consortium()
    add = agreed_adder(group)
    fit = fitted_without(group, add, 2)
    for settings in (RowSettings(), without(2)):
        assert refused(add, MeasuresOf(fit.question, settings)) == {"MALFORMED"}


def test_a_step_goes_on_with_its_own_fold() -> None:
    group = consortium()
    add = agreed_adder(group)
    asking = fit_additive(axes_without(group, 1, 0), *LINEAR)
    step = asking.send(add(next(asking)))
    assert isinstance(step, NewtonOf)
    other = replace(step, settings=without(2))
    assert refused(add, other) == {"ORDER"}
    fitted_without(group, add, 2)
    assert refused(add, other) == {"TAMPERED"}
    assert add(step)[1] == 4


def test_rows_are_predicted_once_all_models_are_fitted() -> None:
    group = consortium()
    add = agreed_adder(group)
    fits = [fitted_without(group, add, number) for number in (1, 2)]
    models = tuple(fit.question for fit in fits)
    asked = HeldOutOf(group.study.terms, models)
    assert refused(add, asked) == {"ORDER"}
    asking = fit_additive(axes_without(group, 3, 0), *LINEAR)
    asking.send(add(next(asking)))
    assert refused(add, asked) == {"ORDER"}


def test_predictions_are_those_of_the_sites_own_models() -> None:
    """Whatever the coordinator has: no model is sent."""
    group = consortium()
    add = agreed_adder(group)
    fits = [fitted_without(group, add, number) for number in (1, 2, 3)]
    models = tuple(fit.question for fit in fits)
    honest = HeldOutOf(group.study.terms, models)
    assert honest.request() == {}
    zero = tuple(replace(one, coefficients=np.zeros(10)) for one in models)
    found = add(HeldOutOf(group.study.terms, zero))
    rows = [site._rows for site in group.sites.values()]
    expected = sum(honest.compute(own) for own in rows)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-10)
    assert found[0] == sum(own.n_rows for own in rows)
    # Once opened, the sum is what it is.
    assert all(site.scored is not None for site in group.sites.values())
    for site in group.sites.values():
        np.testing.assert_array_equal(site.scored, found)


def scored_site() -> tuple[HeldOutOf, MemoryRows]:
    """Fit to the rows of one site, of two classes."""
    terms = replace(TERMS, model=replace(AGREED, family="logistic"))
    terms = replace(terms, discrete=True, classes=("0", "1"))
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, D))
    y = np.where(X[:, 0] + rng.logistic(size=90) > 0, "1", "0")
    rows = MemoryRows(X, y, np.random.default_rng(7), "victim")
    models = []
    for number in (1, 2, 3):
        axes = replace(axes_along(0, terms=terms), settings=without(number))
        fit = ask_sites(
            OwnSites({"victim": rows}, Variables(("x",) * D)),
            fit_additive(axes, Family("logistic"), "nothing"),
        )
        models.append(fit.question)
    return HeldOutOf(terms, tuple(models)), rows


@pytest.mark.parametrize("weak", [True, False])
def test_no_bin_has_a_row_by_itself(
    weak: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts of classes by prediction would say what a patient's is, and who is ill."""
    if weak:
        monkeypatch.setattr(held_out, "near_means", lambda axes, y, fewest: axes)
    question, rows = scored_site()
    first, second, _ = np.split(question.compute(rows)[5:], 3)
    counts = first + second
    assert counts.sum() == rows.n_rows
    assert bool(counts[counts > 0].min() < FEWEST) is weak


def test_a_fold_has_one_set_of_axes() -> None:
    group = consortium()
    add = agreed_adder(group)
    fitted_without(group, add, 1)
    assert refused(add, axes_without(group, 1, 1)) == {"TAMPERED"}
    # A site that is started again has forgotten the sum, but not the question.
    for name in group.sites:
        group.transport.parties[name] = group.site(name)
    again = agreed_adder(group)
    assert refused(again, axes_without(group, 1, 1)) == {"DISCLOSURE"}
    assert all(
        "QUESTIONS: this study has already had an answer about axes/1" in str(error)
        for error in group.transport.errors.values()
    )
    # Other folds have theirs.
    assert again(axes_without(group, 2, 1))[1] == 4


# --- fewer rows, fewer sites ----------------------------------------------------------


@pytest.mark.parametrize("weak", [True, False])
def test_all_folds_are_over_the_same_sites(
    weak: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows minus those without folds, of all sites but one, would show that one."""
    if weak:
        monkeypatch.setattr(differencing, "kind_of", lambda statistic: statistic)
    group = consortium(n_sites=6)
    add = agreed_adder(group)
    add(MomentsOf(group.study.terms))
    fewer = SecureSum(group.transport, group.study)
    five = sorted(group.sites)[:5]
    fewer.agree(five)
    fewer.bind(five)
    asked = MomentsOf(group.study.terms.outside_folds, without(1))
    if weak:
        assert fewer(asked).parts["total"].n_sites == 5
        return
    assert refused(fewer, asked) == {"DISCLOSURE"}
    assert all("SITES" in str(error) for error in group.transport.errors.values())


@pytest.mark.parametrize("weak", [True, False])
def test_rules_count_in_each_fold(
    weak: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows minus those without a fold are the rows of the fold."""
    if weak:
        monkeypatch.setattr(DealtRows, "_scored", lambda self, terms: [])
    files = scored(tmp_path, policy={"min_rows": 61})
    broken = [dry_run(files.site_file(name)).violations for name in NAMES[:1]]
    assert [bool(one) for one in broken] == [not weak]
    if not weak:
        assert {one.rule for one in broken[0] or ()} == {"ROWS"}


@pytest.mark.parametrize("weak", [True, False])
def test_a_rare_level_is_counted_in_each_fold(
    weak: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four rows with a level a fold has two at most, whose sums would be known."""
    if weak:
        monkeypatch.setattr(DealtRows, "_scored", lambda self, terms: [])
    from tests.study.consortia import simulate_rows

    rows = simulate_rows(n_rows=120)
    rows["kind"] = "a"
    for name in NAMES:
        some = rows.index[rows["site"] == name][5:9]
        rows.loc[some, "kind"] = "b"
        # Folds share those with like responses.
        rows.loc[some, "y"] += 100.0
    columns: dict[str, Any] = {f"x{j}": {"type": "number"} for j in range(6)}
    columns["kind"] = {"type": "category", "levels": ["a", "b"]}
    files = scored(tmp_path, rows, columns=columns)
    found = dry_run(files.site_file("east")).violations or ()
    assert ("LEVELS" in {one.rule for one in found}) is not weak


# --- sums that no rows have -----------------------------------------------------------


def test_impossible_scores_are_not_kept() -> None:
    terms = replace(TERMS, model=replace(AGREED, family="logistic"))
    asked = HeldOutOf(terms)
    bins = np.zeros(asked.n_values)
    bins[:5] = [20.0, 10.0, 10.0, 4.0, 9.0]
    bins[5], bins[5 + 400] = 10.0, 10.0
    check_possible(asked, bins)
    for place, value in ((5, 9.0), (5, 10.5), (7, -1.0)):
        wrong = bins.copy()
        wrong[place] = value
        with pytest.raises(Refusal, match="rows in bins"):
            check_possible(asked, wrong)
    plain = HeldOutOf(TERMS)
    check_possible(plain, bins[:5])
    for place, value in ((0, 12.5), (0, 0.0), (2, -1.0), (3, -1.0), (4, np.inf)):
        wrong = bins[:5].copy()
        wrong[place] = value
        with pytest.raises(Refusal):
            check_possible(plain, wrong)
