"""A coordinator who wants a model of y to show single rows, or single sites.

Each attack is tried on sites without one of their defences, where it succeeds, and on
ours. The coordinator may even know the parts of all other sites: here it often asks a
site for its own part, before any mask.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.protocols.studies import Consortium, make_rows
from tests.study.consortia import Files, simulate_rows

from fedsdr.disclosure import Ledger, Policy, ReleaseGate
from fedsdr.estimation.additive_fit import fit_additive
from fedsdr.exceptions import Refusal
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.secure import SecureSum
from fedsdr.protocols.secure.replayed_model import ReplayedModel
from fedsdr.protocols.wire import decode, encode
from fedsdr.questions import (
    AxesOf,
    NewtonOf,
    additive_steps,
    ask_sites,
    check_possible,
    read_question,
)
from fedsdr.rows import MemoryRows
from fedsdr.summaries.families import FAMILIES, Family
from fedsdr.summaries.near_rows import near_means
from fedsdr.summaries.newton_parts import SiteDeviation
from fedsdr.summaries.spline_basis import SplineBasis, b_splines, free_directions
from fedsdr.terms import AgreedModel, Terms

D, FEWEST = 4, 10
AGREED = AgreedModel("linear", "nothing", FEWEST)
TERMS = Terms(D, max_steps=20, model=AGREED)
#: What an analyst's own sites answer, who have agreed on nothing.
OPEN = Terms(D, max_steps=20)


def held(n_rows: int = 300, seed: int = 0) -> MemoryRows:
    """Draw the rows of a victim; the first one is far out in the first column."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n_rows, D)), rng.normal(size=n_rows)
    X[0, 0], y[0] = 9.0, 2.5
    return MemoryRows(X, y, np.random.default_rng(7), "victim")


def axes_along(*columns: int, terms: Terms = TERMS) -> AxesOf:
    return AxesOf(terms, np.arange(D), np.ones(D), np.eye(D)[:, list(columns)])


def step_of(
    axes: AxesOf, splines: SplineBasis, coefficients: Any = None, family: str = "linear"
) -> NewtonOf:
    if coefficients is None:
        coefficients = np.zeros(splines.n_columns)
    deviation = SiteDeviation("nothing")
    return NewtonOf(axes, splines, Family(family), deviation, coefficients)


def sums_of_splines(question: NewtonOf, vector: np.ndarray) -> np.ndarray:
    """Compute sums of y times each spline of the first axis, from the gradient."""
    gradient = question.read(vector).gradient
    turned, _ = free_directions()
    return -(turned @ gradient[1 : 1 + turned.shape[1]] + gradient[0] / len(turned))


def as_rows_are(patch: pytest.MonkeyPatch) -> None:
    """Let a site compute with single rows."""
    patch.setattr(additive_steps, "near_means", lambda axes, y, fewest: axes)


def believe(patch: pytest.MonkeyPatch) -> None:
    """Let a site take the coordinator's word for knots and coefficients."""
    patch.setattr(ReplayedModel, "settle", lambda self, question: question)
    patch.setattr(ReplayedModel, "take", lambda self, *_: None)


# --- one row between knots ------------------------------------------------------------

NARROW = SplineBasis(np.array([9.0]), np.array([0.5]))


def read_response(terms: Terms) -> float:
    """Place knots around one row; the splines there have no other row."""
    question = step_of(axes_along(0, terms=terms), NARROW)
    sums = sums_of_splines(question, question.compute(held()))
    return float(sums[5] / b_splines(np.zeros(1))[0, 5])


def test_narrow_knots_show_a_row_to_an_analyst() -> None:
    """So these sums are for one's own rows, unless a study agreed on the model."""
    assert read_response(OPEN) == pytest.approx(2.5)


def test_narrow_knots_show_no_row_of_a_study() -> None:
    """Even if a site answered: the row is at the mean of ten, nearer to the others."""
    assert abs(read_response(TERMS)) < 1e-9


def honest_step(rows: MemoryRows) -> NewtonOf:
    """Ask as a curious coordinator may: knots are where all rows say."""
    asking = fit_additive(axes_along(0), Family("linear"), "nothing")
    question = next(asking)
    step = asking.send(question.compute(rows))
    assert isinstance(step, NewtonOf)
    return step


def answers(rows: MemoryRows, rng: np.random.Generator) -> list[np.ndarray]:
    """Collect answers to steps with any knots, coefficients and families."""
    found = []
    for _ in range(6):
        splines = SplineBasis(rng.normal(size=2), rng.uniform(0.1, 2.0, size=2))
        at = rng.normal(size=splines.n_columns)
        for family in FAMILIES:
            question = step_of(axes_along(0, 1), splines, at, family)
            found.append(question.compute(rows))
    return found


@pytest.mark.parametrize("weak", [True, False])
def test_answers_do_not_tell_whose_response_it_is(
    weak: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is asked: within a group responses may change places."""
    if weak:
        as_rows_are(monkeypatch)
    rows = held()
    y = (rows.y > 0.0).astype(float)
    means = near_means(rows.X[:, :2], y, FEWEST)
    _, groups = np.unique(means, axis=0, return_inverse=True)
    assert np.bincount(groups).min() >= FEWEST
    rng = np.random.default_rng(3)
    # Where rows are decides about groups; responses only where rows are at one place.
    other = y.copy()
    for group in range(groups.max() + 1):
        own = np.flatnonzero(groups == group)
        other[own] = rng.permutation(y[own])
    assert (other != y).sum() > 50
    first, second = (
        answers(MemoryRows(rows.X, one, rows.generator), np.random.default_rng(8))
        for one in (y, other)
    )
    same = [
        np.allclose(a, b, rtol=1e-9, atol=1e-9)
        for a, b in zip(first, second, strict=True)
    ]
    assert not any(same) if weak else all(same)


@pytest.mark.parametrize("seed", range(12))
def test_no_axes_make_a_small_group(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_rows, k = int(rng.integers(10, 400)), int(rng.integers(1, 5))
    axes = rng.standard_t(1.5, size=(n_rows, k)) * 10.0 ** rng.uniform(-8, 8, size=k)
    if seed % 3 == 0:
        axes = np.round(axes / axes.std(axis=0))
    fewest = int(rng.integers(3, 11))
    y = rng.normal(size=n_rows)
    found = near_means(axes, y, fewest)
    _, sizes = np.unique(found, axis=0, return_counts=True)
    assert sizes.min() >= min(fewest, n_rows)
    # The order of rows in a file does not matter.
    order = rng.permutation(n_rows)
    again = near_means(axes[order], y[order], fewest)
    np.testing.assert_allclose(again, found[order], rtol=1e-12)


def test_a_row_far_out_does_not_pull_its_group() -> None:
    rows = held()
    near, far = rows.X[:, :1].copy(), rows.X[:, :1].copy()
    near[0], far[0] = 1e3, 1e9
    np.testing.assert_array_equal(
        near_means(near, rows.y, FEWEST), near_means(far, rows.y, FEWEST)
    )


# --- knots and coefficients of its own choice -----------------------------------------


def consortium(**terms: Any) -> Consortium:
    gates: dict[str, ReleaseGate] = {}

    def gate(name: str) -> ReleaseGate:
        policy = Policy(min_rows=5, max_columns_per_row=None)
        return gates.setdefault(name, ReleaseGate(policy, Ledger()))

    known = {"max_steps": 20, "model": AGREED, **terms}
    return Consortium(make_rows(4, D, 60), gate=gate, **known)


def agreed_adder(group: Consortium) -> SecureSum:
    add = SecureSum(group.transport, group.study)
    add.agree()
    return add


def refused(add: SecureSum, question: Any) -> set[str]:
    with pytest.raises(IncompleteError):
        add(question)
    return set(add.failures.values())


def first_step(group: Consortium, add: SecureSum) -> NewtonOf:
    axes = axes_along(0, terms=group.study.terms)
    asking = fit_additive(axes, Family("linear"), "nothing")
    step = asking.send(add(next(asking)))
    assert isinstance(step, NewtonOf)
    return step


CHOSEN: dict[str, Any] = {
    "knots": lambda step: replace(step, splines=NARROW),
    "wider knots": lambda step: replace(
        step, splines=replace(step.splines, spread=1.01 * step.splines.spread)
    ),
    "coefficients": lambda step: replace(
        step, coefficients=step.coefficients + 0.01 * np.eye(10)[3]
    ),
    "directions": lambda step: replace(
        step, axes=replace(step.axes, basis=np.eye(D)[:, 1:2])
    ),
    "columns": lambda step: replace(
        step, axes=AxesOf(TERMS, np.arange(2), np.ones(2), np.eye(2)[:, :1])
    ),
    "weights": lambda step: replace(
        step, deviation=SiteDeviation("nothing", (2.0, 1.0))
    ),
}


@pytest.mark.parametrize("kind", CHOSEN)
def test_a_step_of_its_own_is_refused(kind: str) -> None:
    group = consortium()
    add = agreed_adder(group)
    step = first_step(group, add)
    assert refused(add, CHOSEN[kind](step)) == {"TAMPERED"}
    # The honest step is still answered, and its sum is as large as it should be.
    assert step.read(add(step)).n_sites == 4


@pytest.mark.parametrize("kind", CHOSEN)
def test_sites_that_believe_answer_it(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    believe(monkeypatch)
    group = consortium()
    add = agreed_adder(group)
    chosen = CHOSEN[kind](first_step(group, add))
    assert chosen.read(add(chosen)).n_sites == 4


def test_what_a_site_computes_with_is_its_own() -> None:
    """Also within the digits in which machines differ nothing can be chosen."""
    group = consortium()
    add = agreed_adder(group)
    step = first_step(group, add)
    moved = replace(step, coefficients=step.coefficients + 1e-7)
    sums, expected = (
        moved.read(add(moved)),
        [
            step.compute(MemoryRows(X, y, np.random.default_rng(0)))
            for X, y in group.rows.values()
        ],
    )
    exact = step.read(sum(expected))
    np.testing.assert_allclose(sums.gradient, exact.gradient, atol=1e-10)
    assert abs(exact.curvature @ np.full(10, 1e-7)).max() > 1e-6


def test_steps_come_in_their_order() -> None:
    group = consortium()
    add = agreed_adder(group)
    splines = SplineBasis(np.zeros(1), np.ones(1))
    early = step_of(axes_along(0, terms=group.study.terms), splines)
    assert refused(add, early) == {"ORDER"}
    step = first_step(group, add)
    add(step)
    # The same step again, as if the sum had not been opened.
    again = SecureSum(group.transport, group.study)
    assert refused(again, step) == {"TAMPERED"}


def test_a_fit_that_is_done_takes_no_more_steps() -> None:
    group = consortium()
    add = agreed_adder(group)
    axes = axes_along(0, terms=group.study.terms)
    fit = ask_sites(add, fit_additive(axes, Family("linear"), "nothing"))
    more = replace(fit.question, coefficients=fit.question.coefficients + 1e-9)
    assert refused(add, more) == {"TAMPERED"}


def test_the_number_of_steps_is_bounded_whatever_a_site_believes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    believe(monkeypatch)
    group = consortium(max_steps=7)
    add = agreed_adder(group)
    step = first_step(group, add)
    for number in range(7):
        add(replace(step, coefficients=step.coefficients + number))
    one_more = replace(step, coefficients=step.coefficients - 1.0)
    assert refused(add, one_more) == {"DISCLOSURE"}
    assert all(
        "QUESTIONS: this study has already had 7 answers about newton" in str(error)
        for error in group.transport.errors.values()
    )


# --- other directions -----------------------------------------------------------------


def test_a_study_has_one_set_of_axes() -> None:
    """Groups along other directions differ from the first ones by few rows."""
    group = consortium()
    add = agreed_adder(group)
    first_step(group, add)
    other = axes_along(1, terms=group.study.terms)
    assert refused(add, other) == {"TAMPERED"}
    # A site that is started again has forgotten the sum, but not the question.
    for name in group.sites:
        group.transport.parties[name] = group.site(name)
    again = agreed_adder(group)
    assert refused(again, other) == {"DISCLOSURE"}
    assert all(
        "QUESTIONS: this study has already had an answer about axes" in str(error)
        for error in group.transport.errors.values()
    )


def test_requests_that_were_not_agreed_on_are_refused() -> None:
    splines = SplineBasis(np.zeros(1), np.ones(1))
    step = step_of(axes_along(0), splines)
    read_question("newton", step.request(), TERMS, ())
    other: list[tuple[str, dict[str, Any]]] = [
        ("newton", {**step.request(), "family": "poisson"}),
        ("newton", {**step.request(), "deviates": "curves"}),
        ("measures", step.request()),
        ("axes", {**step.axes.request(), "centre": np.zeros(1)}),
    ]
    for name, request in other:
        read_question(name, request, OPEN, ())
        with pytest.raises(Refusal):
            read_question(name, request, TERMS, ())
    few = replace(TERMS, max_profiles=6)
    with pytest.raises(Refusal, match="more directions"):
        read_question("axes", axes_along(0, 1).request(), few, ())


def test_a_result_of_other_directions_is_not_taken(tmp_path: Path) -> None:
    """Who asked for axes of its own choice cannot publish what it should have asked."""
    rows = simulate_rows(n_rows=120)
    files = Files(tmp_path, rows, prediction={}, model={"refit": "pooled"})

    def fault(name: str, site: str, packed: bytes) -> bytes:
        if name != "secure.result" or site != "north":
            return packed
        payload = decode(packed)
        turned = np.array(payload["directions"])
        turned[0] *= 1.1
        return encode({**payload, "directions": turned})

    files.run(files.connect(fault=fault))
    log = (tmp_path / "north" / "site.log").read_text()
    assert "the model is of other directions than the result" in log
    assert not (tmp_path / "north" / "result.json").exists()
    assert (tmp_path / "south" / "result.json").exists()


# --- single sites ---------------------------------------------------------------------


def test_no_site_is_in_what_a_coordinator_has(tmp_path: Path) -> None:
    """Sums over all sites, and of their own intercepts one sum of squares."""
    rows = simulate_rows(n_rows=120)
    rows["y"] += rows["site"].map(
        {"east": 0.0, "north": 5.0, "south": 1.0, "west": 2.0}
    )
    table = {"site_intercepts": True}
    files = Files(tmp_path, rows, prediction=table, model={"refit": "pooled"})
    result = files.run()
    model = result.settings["prediction"]
    assert model["sites"] == {}
    folder = files.coordinator / "run"
    opened = [
        np.array(decode(path.read_bytes())["values"])
        for path in sorted(folder.glob("newton-*.round"))
    ]
    own = {}
    for name in ("east", "north", "south", "west"):
        kept = model_at(tmp_path / name)["sites"]
        assert list(kept) == [name]
        own[name] = kept[name][0]
    assert max(own.values()) - min(own.values()) > 2.0
    numbers = np.concatenate([*opened, model["coefficients"]])
    for value in own.values():
        assert np.abs(np.abs(numbers) - abs(value)).min() > 1e-6
    last = min(opened, key=lambda one: abs(one[4] - sum(v**2 for v in own.values())))
    assert last[4] == pytest.approx(sum(v**2 for v in own.values()), rel=1e-6)


def model_at(folder: Path) -> Any:
    from fedsdr.result import Result

    return Result.from_json(folder / "result.json").settings["prediction"]


# --- sums that no rows have -----------------------------------------------------------


def test_impossible_sums_are_not_kept() -> None:
    rows = held()
    step = honest_step(rows)
    for question in (step.axes, step):
        vector = question.compute(rows)
        check_possible(question, vector)
        for place, value in ((0, 12.5), (1, -1.0), (1, 1e9)):
            wrong = vector.copy()
            wrong[place] = value
            with pytest.raises(Refusal, match="numbers of rows and sites"):
                check_possible(question, wrong)
    wrong = step.axes.compute(rows)
    wrong[4] = 1e6
    with pytest.raises(Refusal, match="means are larger"):
        check_possible(step.axes, wrong)
    wrong = step.compute(rows)
    wrong[8 + 2 * 10] = -5.0
    with pytest.raises(Refusal, match="bends downwards"):
        check_possible(step, wrong)
