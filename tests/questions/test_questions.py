"""Sums over sites as values, as vectors, and as untrusted requests."""

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.summaries.comparing import allclose

from fedsdr.exceptions import InputError, Refusal, SiteWarning
from fedsdr.normal_scores import (
    N_CUTS,
    N_DESCRIBED,
    N_STEPPED,
    NormalScores,
    agree_on_scores,
    place_cuts,
)
from fedsdr.protocols.wire import decode, encode
from fedsdr.questions import (
    AS_HELD,
    AgreementOf,
    CandidateErrors,
    ColumnShapes,
    GapTotals,
    MomentsOf,
    MomentSums,
    ProfileOf,
    Question,
    RowSettings,
    ScoreSteps,
    SpreadOf,
    read_question,
)
from fedsdr.rows import MemoryRows, OwnSites, StreamedRows
from fedsdr.summaries import bic_dimension, prediction_errors, summarize
from fedsdr.summaries.profile import PooledCovariance
from fedsdr.summaries.site_agreement import Expected
from fedsdr.summaries.slicing import Pairs, Slices, Smooth
from fedsdr.terms import Terms, Variables

D = 3
EVERYTHING = {
    "max_votes": 2,
    "n_folds": 2,
    "validation_fraction": 0.25,
    "max_candidates": 4,
}


def site(seed: int, n_rows: int) -> MemoryRows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, D)) + rng.normal(size=D)
    y = X[:, 0] + 0.3 * rng.normal(size=n_rows)
    return MemoryRows(X, y, np.random.default_rng([seed, 1]), f"site {seed}")


def gaps(fills: Any, scores: Any = None, places: Any = (1,)) -> RowSettings:
    return RowSettings(None, places, fills, scores)


def three_sites() -> dict[str, MemoryRows]:
    return {f"site {seed}": site(seed, 30 + 7 * seed) for seed in range(3)}


def assert_same(found: MomentSums, expected: MomentSums) -> None:
    assert list(found.parts) == list(expected.parts)
    np.testing.assert_array_equal(found.votes, expected.votes)
    for name, part in found.parts.items():
        other = expected.parts[name]
        assert (part.n_rows, part.n_sites) == (other.n_rows, other.n_sites)
        assert part.freedom == pytest.approx(other.freedom, rel=1e-12)
        assert part.freedom_squared == pytest.approx(other.freedom_squared, rel=1e-12)
        assert allclose(part, other)


CUTS = np.linspace([-2.0, 0.0, 1.0], [2.0, 0.0, 5.0], N_CUTS, axis=1)
SCORES = NormalScores(
    np.linspace([-2.0] * D, [2.0] * D, N_CUTS + 1, axis=1),
    np.linspace([-3.0, -2.0, 0.0], [1.0, 2.0, 0.0], N_CUTS + 1, axis=1),
)

# --- values and vectors ---------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Smooth(), Slices(size=5), Pairs()])
@pytest.mark.parametrize("asked", [{}, {"max_votes": 2}, {"n_folds": 3}, EVERYTHING])
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(20, 60))
def test_moments_survive_the_journey(kernel, asked, seed: int, n_rows: int) -> None:
    question = MomentsOf(Terms(D, kernel, **asked))
    value = question.compute(site(seed, n_rows))
    vector = question.pack(value)
    assert vector.shape == (question.n_values,)
    assert vector.dtype == np.float64
    back = question.unpack(vector)
    for name, part in value.parts.items():
        np.testing.assert_array_equal(back.parts[name].scatter, part.scatter)
        np.testing.assert_array_equal(back.parts[name].between, part.between)
    assert_same(back, value)
    np.testing.assert_array_equal(question.pack(back), vector)


@settings(max_examples=15)
@given(sizes=st.lists(st.integers(20, 60), min_size=2, max_size=5))
def test_the_sum_of_vectors_is_the_vector_of_the_sum(sizes: list[int]) -> None:
    question = MomentsOf(Terms(D, **EVERYTHING))
    values = [question.compute(site(i, n_rows)) for i, n_rows in enumerate(sizes)]
    total = values[0]
    for value in values[1:]:
        total = total + value
    packed = sum(question.pack(value) for value in values)
    np.testing.assert_allclose(packed, question.pack(total), rtol=1e-13, atol=1e-13)
    assert_same(question.unpack(packed), total)
    assert total.votes.sum() == len(sizes)
    assert total.parts["total"].n_rows == sum(sizes)


@pytest.mark.parametrize("first", [0, 1])
def test_halves_are_added_whether_or_not_a_site_has_functions_in_all(first) -> None:
    terms = Terms(D, Smooth(), n_splits=4)
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, D)), np.repeat([0.0, 1.0], [39, 1])
    tied = MemoryRows(X, y, rng, "tied")
    question = MomentsOf(terms)
    values = [question.compute(site(1, 40)), question.compute(tied)]
    assert [value.halves is None for value in values] == [False, True]
    total = values[first] + values[1 - first]
    packed = question.unpack(sum(question.pack(value) for value in values))
    assert set(packed.parts) == set(total.summaries()) == set(terms.parts)
    for name, part in total.summaries().items():
        assert (part.n_rows, part.n_sites) == (packed.parts[name].n_rows, 2)
        assert allclose(part, packed.parts[name])


def test_numbers_of_a_sum_are_counted() -> None:
    slices = 4 + 2 * (D * (D + 1) // 2)
    one = slices + 13 * D + 1
    for kernel, length in ((Slices(), slices), (Pairs(), slices), (Smooth(), one)):
        assert MomentsOf(Terms(D, kernel)).n_values == length
    assert MomentsOf(Terms(D, Smooth(), discrete=True)).n_values == slices
    assert MomentsOf(Terms(D, n_folds=3, max_votes=5)).n_values == 7 * one + 5
    assert MomentsOf(Terms(D, validation_fraction=0.1)).n_values == 2 * one
    assert GapTotals((0, 2)).n_values == 4
    assert CandidateErrors(Terms(D), [np.eye(D)] * 3).n_values == 3
    assert ColumnShapes(Terms(D)).n_values == D * N_DESCRIBED
    assert ScoreSteps(Terms(D), CUTS).n_values == D * N_STEPPED


# --- adding ---------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Smooth(), Slices(size=6), Pairs()])
def test_adding_over_own_sites_equals_a_slow_reference(kernel) -> None:
    sites = three_sites()
    terms = Terms(D, kernel, **EVERYTHING)
    adder = OwnSites(sites, Variables(("a", "b", "c")))
    found = adder(MomentsOf(terms))

    def parts_of(rows: MemoryRows, name: str) -> tuple[np.ndarray, np.ndarray]:
        if name == "total":
            kept = np.ones(rows.n_rows, dtype=bool)
        elif name == "fitting":
            kept = ~rows.hold_out(terms)
        else:
            use, fold = name.split(":")
            held = rows._assign(terms.n_folds) == int(fold)
            kept = held if use == "held" else ~held
        return rows.X[kept], rows.y[kept]

    for name in terms.parts:
        expected = sum(
            summarize(*parts_of(rows, name), kernel=kernel, response="ordered")
            for rows in sites.values()
        )
        assert allclose(found.parts[name], expected), name
    votes = np.zeros(2)
    for rows in sites.values():
        own = summarize(rows.X, rows.y, kernel=kernel, response="ordered")
        votes[bic_dimension(own.kernel, own.n_rows, 2) - 1] += 1
    np.testing.assert_array_equal(found.votes, votes)


def test_errors_are_added_over_the_rows_held_out() -> None:
    sites, rng = three_sites(), np.random.default_rng(3)
    terms = Terms(D, **EVERYTHING)
    bases = [rng.normal(size=(D, k)) for k in (1, 0, 2)]
    adder = OwnSites(sites, Variables(("a", "b", "c")))
    expected = np.zeros(3)
    for rows in sites.values():
        held = rows.hold_out(terms)
        fitting, valid = (rows.X[~held], rows.y[~held]), (rows.X[held], rows.y[held])
        errors = prediction_errors(fitting, valid, bases, discrete=False)
        expected += errors / held.sum()
    np.testing.assert_allclose(adder(CandidateErrors(terms, bases)), expected)


def test_gaps_are_counted_added_and_filled() -> None:
    sites = three_sites()
    for rows in sites.values():
        rows.X[::5, 1] = np.nan
    everything = np.vstack([rows.X for rows in sites.values()])
    adder = OwnSites(sites, Variables(("a", "b", "c"), filled=("b",)))
    totals = adder(GapTotals((1,)))
    there = everything[~np.isnan(everything[:, 1]), 1]
    np.testing.assert_allclose(totals, [there.size, there.sum()])
    terms, fills = Terms(D), np.array([there.mean()])
    found = adder(MomentsOf(terms, gaps(fills))).parts["total"]
    expected = 0.0
    for rows in sites.values():
        X = np.where(np.isnan(rows.X), fills, rows.X)
        expected += np.cov(X[:, 1], bias=True) * len(X)
    assert found.scatter[1, 1] == pytest.approx(expected)
    # Another sum with other fills starts from the gaps, not from the fills before.
    again = adder(MomentsOf(terms, gaps(fills + 1.0))).parts["total"]
    assert again.scatter[1, 1] > found.scatter[1, 1]
    np.testing.assert_allclose(adder(GapTotals((1,))), totals)


def test_descriptions_and_steps_are_added_and_travel() -> None:
    sites = three_sites()
    sites["site 1"].X[::4, 1] = np.nan
    adder = OwnSites(sites, Variables(("a", "b", "c"), filled=("b",)))
    terms = Terms(D, scored=True)
    for question in (ColumnShapes(terms), ScoreSteps(terms, CUTS)):
        parts = [question.compute(rows) for rows in sites.values()]
        packed = sum(question.pack(part) for part in parts)
        assert packed.shape == (question.n_values,)
        np.testing.assert_allclose(question.unpack(packed), adder(question))
    everything = np.vstack([rows.X for rows in sites.values()])
    there = (~np.isnan(everything)).sum(axis=0)
    described = adder(ColumnShapes(terms))
    np.testing.assert_array_equal(described[0], there)
    np.testing.assert_allclose(described[1], np.nansum(everything, axis=0))
    counts = adder(ScoreSteps(terms, CUTS))[:, : N_CUTS + 1]
    np.testing.assert_array_equal(counts.sum(axis=1), there)


def test_columns_are_scored_after_gaps_are_filled() -> None:
    sites = three_sites()
    for rows in sites.values():
        rows.X[::5, 1] = np.nan
    own = {name: rows.X.copy() for name, rows in sites.items()}
    adder = OwnSites(sites, Variables(("a", "b", "c"), filled=("b",)))
    terms, fills = Terms(D, scored=True, **EVERYTHING), np.array([0.5])
    cuts = place_cuts(adder(ColumnShapes(terms)))
    scores = agree_on_scores(cuts, adder(ScoreSteps(terms, cuts)))
    found = adder(MomentsOf(terms, gaps(fills, scores)))
    scored = {
        name: MemoryRows(
            scores.apply(np.where(np.isnan(X), fills, X)),
            sites[name].y,
            np.random.default_rng([int(name[-1]), 1]),
        )
        for name, X in own.items()
    }
    plain = OwnSites(scored, adder.variables)
    expected = plain(MomentsOf(Terms(D, **EVERYTHING)))
    assert_same(found, expected)
    bases = [np.eye(D)[:, :2]]
    np.testing.assert_allclose(
        adder(CandidateErrors(terms, bases, gaps(fills, scores))),
        plain(CandidateErrors(Terms(D, **EVERYTHING), bases)),
    )
    # Asking again for what comes before scores, or with others, starts from the rows.
    np.testing.assert_array_equal(place_cuts(adder(ColumnShapes(terms))), cuts)
    assert_same(adder(MomentsOf(terms, gaps(fills, scores))), expected)
    other = NormalScores(scores.points, 2.0 * scores.scores)
    twice = adder(MomentsOf(terms, gaps(fills, other))).parts["total"]
    np.testing.assert_allclose(twice.scatter, 4.0 * found.parts["total"].scatter)
    plainly = adder(MomentsOf(Terms(D), gaps(fills))).parts["total"]
    X = np.where(np.isnan(own["site 0"]), fills, own["site 0"])
    np.testing.assert_array_equal(sites["site 0"].X, X)
    assert plainly.n_rows == sum(map(len, own.values()))


def second_stage(
    rows: Any, terms: Terms, settings: RowSettings = AS_HELD
) -> list[np.ndarray]:
    """Answer every question of the second stage, as vectors."""
    columns, scale, basis = np.array([0, 2]), np.array([1.0, 0.5]), np.eye(2)[:, :1]
    agreed = Expected(basis, np.array([0.5])), np.full(D, 1e-3)
    asked: list[Question[Any]] = [
        SpreadOf(terms, columns, scale, np.eye(2), settings),
        ProfileOf(terms, columns, scale, basis, None, None, settings),
        AgreementOf(terms, columns, scale, *agreed, settings),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SiteWarning)
        return [one.pack(one.compute(rows)) for one in asked]


def test_the_second_stage_sees_scored_columns() -> None:
    held = site(0, 60)
    X = np.exp(held.X)
    X[::7, 1] = np.nan
    fills, terms = np.array([0.7]), Terms(D, max_profiles=40, scored=True)
    generator = np.random.default_rng(0)

    def read() -> Any:
        for start in range(0, 60, 17):
            yield X[start : start + 17], held.y[start : start + 17]

    scored = SCORES.apply(np.where(np.isnan(X), fills, X))
    plain = MemoryRows(scored, held.y, generator)
    expected = second_stage(plain, Terms(D, max_profiles=40))
    for rows in (
        MemoryRows(X, held.y, generator),
        StreamedRows(read, generator, memory=1 << 12),
    ):
        for _ in range(2):
            found = second_stage(rows, terms, gaps(fills, SCORES))
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
        # The next sum without scores is about the rows themselves.
        unscored = second_stage(rows, Terms(D, max_profiles=40), gaps(fills))
        assert not np.allclose(unscored[0], expected[0])


def test_rows_of_the_caller_are_not_overwritten() -> None:
    X = np.exp(np.random.default_rng(0).normal(size=(40, D)))
    before, rows = X.copy(), MemoryRows(X, X[:, 0], np.random.default_rng(0))
    MomentsOf(Terms(D, scored=True), RowSettings(scores=SCORES)).compute(rows)
    rows.fill((1,), np.array([0.0]))
    rows.totals((0, 1))
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(rows.X, SCORES.apply(before))
    rows.score(None)
    np.testing.assert_array_equal(rows.X, before)


def test_fills_that_cannot_be_used_are_refused_by_the_rows() -> None:
    rows = site(0, 30)
    rows.X[::5, 1] = np.nan
    with pytest.raises(InputError, match=r"larger than 1e\+100"):
        MomentsOf(Terms(D), gaps(np.array([1e200]))).compute(rows)


def test_own_sites_count_what_an_exchange_would_cost() -> None:
    adder = OwnSites(three_sites(), Variables(("a", "b", "c")))
    terms = Terms(D, **EVERYTHING)
    adder(MomentsOf(terms))
    adder(CandidateErrors(terms, [np.eye(D)] * 4))
    numbers = MomentsOf(terms).n_values + 4
    assert adder.communication.rounds == 2
    assert adder.communication.n_bytes == dict.fromkeys(adder.rows, 8 * numbers)


def test_one_more_sum_is_one_more_class() -> None:
    class Counts(Question[np.ndarray]):
        name = "steps"

        @property
        def n_values(self) -> int:
            return 1

        def compute(self, rows: Any) -> np.ndarray:
            return np.array([float(rows.n_rows)])

    adder = OwnSites(three_sites(), Variables(("a", "b", "c")))
    question = Counts()
    assert adder(question).tolist() == [30.0 + 37.0 + 44.0]
    assert question.request() == {}
    assert question.unpack(question.pack([3])).tolist() == [3.0]


# --- requests -------------------------------------------------------------------------

HELD_OUT = Terms(D, validation_fraction=0.3, max_candidates=3)
EVERY_SUM = replace(HELD_OUT, max_profiles=40)
SCORED = replace(EVERY_SUM, scored=True)
BASIS = np.eye(D)[:, :1]
COLUMNS, SCALE = np.array([0, 2]), np.array([1.0, 0.5])
EXPECTED = Expected(np.eye(2)[:, :1], np.array([0.5]))
#: Questions of the second stage without what comes before all of them.
SECOND_STAGE = {
    "spread": partial(SpreadOf, SCORED, COLUMNS, SCALE, np.eye(2)),
    "profile": partial(
        ProfileOf,
        SCORED,
        COLUMNS,
        SCALE,
        EXPECTED.basis,
        None,
        PooledCovariance(0.5, np.eye(2)),
    ),
    "agreement": partial(AgreementOf, SCORED, COLUMNS, SCALE, EXPECTED, np.ones(D)),
}
STATISTICS = ["means", "shapes", "steps", "moments", "errors", *SECOND_STAGE]
KEYS = ["bases", "means", "columns", "scale", "basis", "sigma", "own"]
KEYS += ["cuts", "points", "scores", "shares", "variances"]


@pytest.mark.parametrize(
    ("question", "terms", "places"),
    [
        (GapTotals((0, 2)), Terms(D), (0, 2)),
        (MomentsOf(Terms(D)), Terms(D), ()),
        (MomentsOf(Terms(D), gaps(np.array([2.5]))), Terms(D), (1,)),
        (CandidateErrors(HELD_OUT, [BASIS, np.eye(D)]), HELD_OUT, ()),
        (CandidateErrors(HELD_OUT, []), HELD_OUT, ()),
        (
            CandidateErrors(
                HELD_OUT, [BASIS], gaps(np.array([1.0, -2.0]), places=(0, 1))
            ),
            HELD_OUT,
            (0, 1),
        ),
        (ColumnShapes(SCORED), SCORED, (1,)),
        (ScoreSteps(SCORED, CUTS), SCORED, ()),
        (MomentsOf(SCORED, RowSettings(scores=SCORES)), SCORED, ()),
        (MomentsOf(SCORED, gaps(np.ones(1), SCORES)), SCORED, (1,)),
        (CandidateErrors(SCORED, [BASIS], RowSettings(scores=SCORES)), SCORED, ()),
        *(
            (ask(RowSettings(scores=SCORES)), SCORED, ())
            for ask in SECOND_STAGE.values()
        ),
        *(
            (ask(gaps(np.ones(1), SCORES)), SCORED, (1,))
            for ask in SECOND_STAGE.values()
        ),
    ],
)
def test_a_request_becomes_the_question_again(question, terms, places) -> None:
    request = decode(encode(question.request()))
    found = read_question(question.name, request, terms, places)
    assert type(found) is type(question)
    assert found.n_values == question.n_values
    assert getattr(found, "terms", terms) == terms
    if hasattr(found, "settings"):
        assert found.settings.places == places
    wanted = {**question.request()}
    for name, value in found.request().items():
        expected = wanted.pop(name)
        if not isinstance(value, list):
            value, expected = [value], [expected]
        for one, other in zip(value, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    assert not wanted


@pytest.mark.parametrize(
    ("name", "request_", "terms", "places"),
    [
        # No such sum, or not with these terms.
        ("rows", {}, Terms(D), ()),
        ("", {}, Terms(D), ()),
        (None, {}, Terms(D), ()),
        (["moments"], {}, Terms(D), ()),
        ("means", {}, Terms(D), ()),
        ("errors", {"bases": [BASIS]}, Terms(D, max_candidates=3), ()),
        # Not a request at all.
        ("moments", None, Terms(D), ()),
        ("moments", [], Terms(D), ()),
        ("moments", "bases", Terms(D), ()),
        # More than was agreed on.
        ("moments", {"bases": [BASIS]}, HELD_OUT, ()),
        ("moments", {"means": np.ones(1)}, Terms(D), ()),
        ("means", {"means": np.ones(1)}, Terms(D), (1,)),
        ("errors", {"bases": [BASIS], "rows": 1}, HELD_OUT, ()),
        ("errors", {"bases": [BASIS], "means": np.ones(1)}, HELD_OUT, ()),
        # Fills that are not numbers for these columns.
        ("moments", {}, Terms(D), (1,)),
        ("moments", {"means": None}, Terms(D), (1,)),
        ("moments", {"means": [1.0]}, Terms(D), (1,)),
        ("moments", {"means": np.ones(2)}, Terms(D), (1,)),
        ("moments", {"means": np.ones((1, 1))}, Terms(D), (1,)),
        ("moments", {"means": np.array([np.nan])}, Terms(D), (1,)),
        ("moments", {"means": np.array([np.inf])}, Terms(D), (1,)),
        ("errors", {"bases": [BASIS]}, HELD_OUT, (1,)),
        # Candidates that are not bases, or too many.
        ("errors", {}, HELD_OUT, ()),
        ("errors", {"bases": None}, HELD_OUT, ()),
        ("errors", {"bases": BASIS}, HELD_OUT, ()),
        ("errors", {"bases": (BASIS,)}, HELD_OUT, ()),
        ("errors", {"bases": {"0": BASIS}}, HELD_OUT, ()),
        ("errors", {"bases": [BASIS] * 4}, HELD_OUT, ()),
        ("errors", {"bases": [BASIS, BASIS.tolist()]}, HELD_OUT, ()),
        ("errors", {"bases": [BASIS[:, 0]]}, HELD_OUT, ()),
        ("errors", {"bases": [BASIS[None]]}, HELD_OUT, ()),
        ("errors", {"bases": [np.zeros((D - 1, 1))]}, HELD_OUT, ()),
        ("errors", {"bases": [np.zeros((D + 1, 1))]}, HELD_OUT, ()),
        ("errors", {"bases": [np.zeros((D, D + 1))]}, HELD_OUT, ()),
        ("errors", {"bases": [BASIS.astype(np.float32)]}, HELD_OUT, ()),
        ("errors", {"bases": [BASIS.astype(np.int64)]}, HELD_OUT, ()),
        ("errors", {"bases": [BASIS.astype(object)]}, HELD_OUT, ()),
        ("errors", {"bases": [np.full((D, 1), np.nan)]}, HELD_OUT, ()),
        ("errors", {"bases": [np.full((D, 1), np.inf)]}, HELD_OUT, ()),
        ("errors", {"bases": [np.full((D, 1), -1e12)]}, HELD_OUT, ()),
    ],
)
def test_malformed_requests_are_refused(name, request_, terms, places) -> None:
    with pytest.raises(Refusal) as caught:
        read_question(name, request_, terms, places)
    assert caught.value.code == "MALFORMED"


def changed(matrix: np.ndarray, value: float, place: tuple[int, int]) -> np.ndarray:
    copy = matrix.copy()
    copy[place] = value
    return copy


HOSTILE = [
    None,
    "points",
    CUTS.tolist(),
    CUTS.astype(np.float32),
    CUTS.astype(object),
    CUTS[0],
    CUTS[:, :-2],
    CUTS[:-1],
    CUTS[None],
    np.zeros((D, 0)),
    np.zeros((D, 10_000)),
    CUTS[:, ::-1].copy(),
    changed(CUTS, np.nan, (1, 3)),
    changed(CUTS, np.inf, (1, N_CUTS - 1)),
    changed(CUTS, -np.inf, (2, 0)),
    changed(CUTS, 1e100, (2, N_CUTS - 1)),
    changed(CUTS, CUTS[0, 4] - 1e-12, (0, 5)),
]


@pytest.mark.parametrize("cuts", HOSTILE)
def test_hostile_cuts_are_refused(cuts) -> None:
    with pytest.raises(Refusal) as caught:
        read_question("steps", {"cuts": cuts}, SCORED, ())
    assert caught.value.code == "MALFORMED"


@pytest.mark.parametrize("name", ["points", "scores"])
@pytest.mark.parametrize("wrong", HOSTILE)
def test_hostile_scores_are_refused(name, wrong) -> None:
    whole = {"points": SCORES.points, "scores": SCORES.scores}
    if isinstance(wrong, np.ndarray) and wrong.shape == CUTS.shape:
        # As wide as it has to be, so that only the values are wrong.
        wrong = np.concatenate([wrong, wrong[:, -1:]], axis=1)
    requests = {"moments": {}, "errors": {"bases": [BASIS]}}
    requests |= {asked: ask().request() for asked, ask in SECOND_STAGE.items()}
    for asked, more in requests.items():
        with pytest.raises(Refusal) as caught:
            read_question(asked, {**whole, name: wrong, **more}, SCORED, ())
        assert caught.value.code == "MALFORMED"


@pytest.mark.parametrize(
    ("name", "request_", "terms"),
    [
        ("shapes", {}, Terms(D)),
        ("steps", {"cuts": CUTS}, Terms(D)),
        ("moments", {"points": SCORES.points, "scores": SCORES.scores}, Terms(D)),
        ("shapes", {"cuts": CUTS}, SCORED),
        ("steps", {}, SCORED),
        ("steps", {"cuts": CUTS, "means": np.ones(1)}, SCORED),
        ("moments", {}, SCORED),
        ("moments", {"scores": SCORES.scores}, SCORED),
        ("moments", {"points": SCORES.points}, SCORED),
        ("moments", {"points": SCORES.points, "scores": 1e4 * SCORES.scores}, SCORED),
        ("errors", {"bases": [BASIS]}, SCORED),
        *((name, ask().request(), SCORED) for name, ask in SECOND_STAGE.items()),
        *(
            (name, ask(RowSettings(scores=SCORES)).request(), EVERY_SUM)
            for name, ask in SECOND_STAGE.items()
        ),
    ],
)
def test_scores_are_asked_about_only_as_agreed(name, request_, terms) -> None:
    with pytest.raises(Refusal) as caught:
        read_question(name, request_, terms, ())
    assert caught.value.code == "MALFORMED"


def test_means_are_not_asked_for_where_shapes_hold_them() -> None:
    read_question("means", {}, Terms(D), (1,))
    with pytest.raises(Refusal):
        read_question("means", {}, SCORED, (1,))


def test_no_more_than_twenty_directions_are_looked_at() -> None:
    terms = Terms(30, validation_fraction=0.3, max_candidates=1)
    read_question("errors", {"bases": [np.eye(30)[:, :20]]}, terms, ())
    with pytest.raises(Refusal) as caught:
        read_question("errors", {"bases": [np.eye(30)[:, :21]]}, terms, ())
    assert caught.value.code == "MALFORMED"


@given(
    st.sampled_from(STATISTICS) | st.text(),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner)
        ),
    ),
)
def test_anything_is_answered_or_refused(name: str, content: Any) -> None:
    for places, terms in (((), EVERY_SUM), ((1,), EVERY_SUM), ((1,), SCORED)):
        refused = None
        try:
            found = read_question(name, content, terms, places)
        except Refusal as refusal:
            refused = refusal.code
        if refused is None:
            assert found.name == name
            assert not any(content.values())
        else:
            assert refused == "MALFORMED"
