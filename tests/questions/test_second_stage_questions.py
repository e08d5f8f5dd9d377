"""Questions of the second stage: as vectors, and as untrusted requests."""

import warnings
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedsdr.exceptions import Refusal, SiteWarning
from fedsdr.method import Method
from fedsdr.protocols.wire import decode, encode
from fedsdr.questions import (
    AgreementOf,
    ProfileOf,
    RowSettings,
    SpreadOf,
    read_question,
)
from fedsdr.rows import MemoryRows, OwnSites
from fedsdr.summaries.profile import Common, PooledCovariance, Profile
from fedsdr.summaries.site_agreement import Expected
from fedsdr.summaries.slicing import Pairs, Slices, Smooth
from fedsdr.terms import Terms, Variables

D = 4
TERMS = Terms(D, max_profiles=40)
COLUMNS = np.array([0, 2, 3])
SCALE = np.array([1.0, 0.5, 30.0])
SIGMA = np.array([[1.0, 0.2, 0.0], [0.2, 1.0, -0.1], [0.0, -0.1, 1.0]])
BASIS = np.array([[1.0, 0.0], [0.5, 1.0], [0.0, -1.0]])
COMMON = Common(0.25, np.arange(24.0).reshape(2, 12), 700)
TARGET = PooledCovariance(0.5, SIGMA)
FOUND = Expected(BASIS, np.array([0.5, 0.1]))
VARIANCES = np.array([1.0, 1.0, 0.25, 900.0])


def site(seed: int, n_rows: int) -> MemoryRows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, D)) * [1, 1, 0.5, 30] + rng.normal(size=D)
    y = X[:, 0] + 0.3 * rng.normal(size=n_rows)
    return MemoryRows(X, y, np.random.default_rng([seed, 1]), f"site {seed}")


def assert_same(found: Profile, expected: Profile, tolerance: float = 0.0) -> None:
    for one in fields(Profile):
        np.testing.assert_allclose(
            getattr(found, one.name),
            getattr(expected, one.name),
            rtol=tolerance,
            atol=tolerance * np.abs(getattr(expected, one.name)).max(initial=1.0),
            err_msg=one.name,
        )


# --- values and vectors ---------------------------------------------------------------


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(8, 60),
    n_directions=st.integers(1, 3),
    mixed=st.booleans(),
)
def test_profiles_survive_the_journey(seed, n_rows, n_directions, mixed) -> None:
    rng = np.random.default_rng(seed)
    basis = rng.normal(size=(3, n_directions))
    common = Common(0.3, rng.normal(size=(n_directions, 12)), 500) if mixed else None
    question = ProfileOf(TERMS, COLUMNS, SCALE, basis, common, TARGET)
    value = question.compute(site(seed, n_rows))
    assert value.explained > 0
    vector = question.pack(value)
    assert vector.shape == (question.n_values,)
    assert vector.dtype == np.float64
    back = question.unpack(vector)
    # Sums are symmetric but for rounding, and one triangle is sent.
    assert_same(back, value, 1e-13)
    np.testing.assert_array_equal(question.pack(back), vector)


def test_the_sum_of_vectors_is_the_vector_of_the_sum() -> None:
    sites = {f"site {i}": site(i, 30 + 9 * i) for i in range(3)}
    question = ProfileOf(TERMS, COLUMNS, SCALE, BASIS, COMMON, TARGET)
    added = OwnSites(sites, Variables(("a", "b", "c", "d")))(question)
    packed = sum(question.pack(question.compute(rows)) for rows in sites.values())
    assert_same(question.unpack(packed), added, 1e-12)
    spread = SpreadOf(TERMS, COLUMNS, SCALE, SIGMA)
    added = OwnSites(sites, Variables(("a", "b", "c", "d")))(spread)
    packed = sum(spread.pack(spread.compute(rows)) for rows in sites.values())
    np.testing.assert_allclose(spread.unpack(packed), added, rtol=1e-13)
    assert spread.n_values == packed.size == 3 + 2 * D
    logarithms = sum(np.rint(np.log2(rows.X.var(axis=0))) for rows in sites.values())
    np.testing.assert_array_equal(added[3 : 3 + D], logarithms)
    np.testing.assert_array_equal(added[3 + D :], 3.0)


def test_constant_columns_have_no_variance_to_compare() -> None:
    rows = site(0, 40)
    rows.X[:, 1] = 0.1
    found = SpreadOf(TERMS, COLUMNS, SCALE, SIGMA).compute(rows)
    assert found[3 + 1] == 0.0
    assert found[3 + D :].tolist() == [1.0, 0.0, 1.0, 1.0]


def test_values_of_a_profile_are_counted() -> None:
    for s, k in ((1, 1), (3, 2), (10, 2)):
        columns = np.arange(s)
        terms = Terms(s, max_profiles=40)
        question = ProfileOf(terms, columns, np.ones(s), np.eye(s)[:, :k])
        size = s * k
        triangles = 2 * (size * (size + 1) // 2) + 2 * (s * (s + 1) // 2)
        assert question.n_values == triangles + size + 9 == ProfileOf.length(s, k)


def test_selected_columns_are_scaled_and_centred() -> None:
    """The question is about columns of the site; the sums are as of given ones."""
    rows = site(0, 50)
    found = ProfileOf(TERMS, COLUMNS, SCALE, BASIS).compute(rows)
    chosen = MemoryRows(
        rows.X[:, COLUMNS] / SCALE - 5.0, rows.y, np.random.default_rng(0)
    )
    plain = ProfileOf(Terms(3), np.arange(3), np.ones(3), BASIS).compute(chosen)
    assert_same(found, plain, 1e-11)


def test_gaps_are_filled_first() -> None:
    rows = site(0, 50)
    filled = rows.X.copy()
    rows.X[::5, 2] = np.nan
    filled[::5, 2] = 1.5
    whole = MemoryRows(filled, rows.y, np.random.default_rng(0))
    gaps = RowSettings(None, (2,), np.array([1.5]))
    found = ProfileOf(TERMS, COLUMNS, SCALE, BASIS, None, None, gaps)
    expected = ProfileOf(TERMS, COLUMNS, SCALE, BASIS).compute(whole)
    assert_same(found.compute(rows), expected, 1e-12)
    spread = SpreadOf(TERMS, COLUMNS, SCALE, SIGMA, gaps)
    plain = SpreadOf(TERMS, COLUMNS, SCALE, SIGMA)
    np.testing.assert_allclose(spread.compute(rows), plain.compute(whole), rtol=1e-12)


# --- requests -------------------------------------------------------------------------


@pytest.mark.parametrize("places", [(), (1, 3)])
@pytest.mark.parametrize(
    "question",
    [
        lambda gaps: SpreadOf(TERMS, COLUMNS, SCALE, SIGMA, gaps),
        lambda gaps: ProfileOf(TERMS, COLUMNS, SCALE, BASIS, None, None, gaps),
        lambda gaps: ProfileOf(TERMS, COLUMNS, SCALE, BASIS, COMMON, None, gaps),
        lambda gaps: ProfileOf(TERMS, COLUMNS, SCALE, BASIS, None, TARGET, gaps),
        lambda gaps: ProfileOf(TERMS, COLUMNS, SCALE, BASIS, COMMON, TARGET, gaps),
        lambda gaps: AgreementOf(TERMS, COLUMNS, SCALE, FOUND, VARIANCES, gaps),
    ],
    ids=["spread", "profile", "common", "target", "all", "agreement"],
)
def test_a_request_becomes_the_question_again(question, places) -> None:
    fills = np.array([2.0, -1.0]) if places else None
    asked = question(RowSettings(None, places, fills))
    request = decode(encode(asked.request()))
    found = read_question(asked.name, request, TERMS, places)
    assert type(found) is type(asked)
    assert (found.n_values, found.terms, found.settings.places) == (
        asked.n_values,
        TERMS,
        places,
    )
    again = found.request()
    assert set(again) == set(asked.request())
    for name, value in asked.request().items():
        np.testing.assert_array_equal(again[name], value)
    rows = [site(0, 40), site(0, 40)]
    np.testing.assert_array_equal(
        found.pack(found.compute(rows[0])), asked.pack(asked.compute(rows[1]))
    )


SPREAD = SpreadOf(TERMS, COLUMNS, SCALE, SIGMA).request()
PROFILE = ProfileOf(TERMS, COLUMNS, SCALE, BASIS, COMMON, TARGET).request()
AGREEMENT = AgreementOf(TERMS, COLUMNS, SCALE, FOUND, VARIANCES).request()
REQUESTS = {"spread": SPREAD, "profile": PROFILE, "agreement": AGREEMENT}
MISSING = object()
NAN, INF = np.nan, np.inf

HOSTILE: dict[str, list[Any]] = {
    "columns": [
        MISSING,
        None,
        [0, 2, 3],
        "abc",
        COLUMNS.astype(np.int32),
        COLUMNS.astype(np.uint64),
        COLUMNS.astype(float),
        COLUMNS.astype(object),
        COLUMNS.astype(bool),
        COLUMNS[None],
        np.array(2),
        np.array([], dtype=np.int64),
        np.array([2, 0, 3]),
        np.array([0, 0, 3]),
        np.array([0, 2, 2]),
        np.array([-1, 2, 3]),
        np.array([0, 2, 4]),
        np.array([0, 2, 2**62]),
        np.arange(5),
        COLUMNS[:2],
    ],
    "scale": [
        MISSING,
        None,
        [1.0, 0.5, 30.0],
        1.0,
        SCALE.astype(np.float32),
        SCALE.astype(np.int64),
        SCALE.astype(object),
        SCALE[None],
        SCALE[:2],
        np.append(SCALE, 1.0),
        np.array([1.0, 0.0, 30.0]),
        np.array([1.0, -0.5, 30.0]),
        np.array([1.0, INF, 30.0]),
        np.array([1.0, NAN, 30.0]),
        np.array([1.0, 1e151, 30.0]),
        np.array([1.0, 1e-151, 30.0]),
    ],
    "sigma": [
        MISSING,
        None,
        SIGMA.tolist(),
        SIGMA.astype(np.float32),
        SIGMA.astype(np.int64),
        SIGMA.astype(object),
        SIGMA[:2],
        SIGMA[:2, :2],
        SIGMA[None],
        np.eye(4),
        SIGMA + np.triu(np.ones((3, 3)), 1),
        SIGMA - 2 * np.eye(3),
        np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        np.where(np.eye(3), NAN, SIGMA),
        np.where(np.eye(3), INF, SIGMA),
        np.full((3, 3), NAN),
        1e151 * np.eye(3),
    ],
    "basis": [
        MISSING,
        None,
        BASIS.tolist(),
        BASIS[:, 0],
        BASIS[None],
        BASIS[:2],
        np.eye(4),
        np.zeros((3, 0)),
        np.ones((3, 4)),
        BASIS.astype(np.float32),
        BASIS.astype(np.int64),
        BASIS.astype(object),
        np.full((3, 1), NAN),
        np.full((3, 1), INF),
        np.full((3, 1), -1e12),
    ],
    "shares": [
        MISSING,
        None,
        [0.5, 0.1],
        np.array([0.5]),
        np.array([[0.5, 0.1]]),
        np.array([0.5, 0.1], dtype=np.float32),
        np.array([1, 0]),
        np.array([0.5, -0.1]),
        np.array([0.5, NAN]),
        np.array([INF, 0.1]),
    ],
    "variances": [
        MISSING,
        None,
        VARIANCES.tolist(),
        VARIANCES[:3],
        VARIANCES[None],
        VARIANCES.astype(np.float32),
        np.where(VARIANCES > 1, NAN, VARIANCES),
        np.where(VARIANCES > 1, INF, VARIANCES),
    ],
    "own": [MISSING, None, "0.5", 1, True, -0.01, 1.01, NAN, INF, np.array([0.5])],
    "weight": [MISSING, None, "0.5", 1, True, -0.01, 1.01, NAN, -INF, np.ones(1)],
    "n_rows": [MISSING, None, 700.0, True, 0, -5, 10**12, "700", np.array([700])],
    "common": [
        MISSING,
        None,
        COMMON.coefficients.tolist(),
        COMMON.coefficients[:1],
        COMMON.coefficients[:, :11],
        COMMON.coefficients.T,
        np.zeros((2, 0)),
        COMMON.coefficients.astype(np.float32),
        COMMON.coefficients.astype(np.int64),
        np.full((2, 12), NAN),
        np.full((2, 12), INF),
        np.full((2, 12), 1e151),
    ],
}


def changed(request: dict[str, Any], field: str, value: Any) -> dict[str, Any]:
    if value is MISSING:
        return {name: one for name, one in request.items() if name != field}
    return {**request, field: value}


@pytest.mark.parametrize(
    ("name", "request_"),
    [
        pytest.param(
            name, changed(request, field, value), id=f"{name}-{field}-{number}"
        )
        for name, request in REQUESTS.items()
        for field, values in HOSTILE.items()
        if field in request
        for number, value in enumerate(values)
    ],
)
def test_malformed_requests_are_refused(name, request_) -> None:
    with pytest.raises(Refusal) as caught:
        read_question(name, request_, TERMS, ())
    assert caught.value.code == "MALFORMED"


@pytest.mark.parametrize(
    ("name", "request_"),
    [
        ("spread", {**SPREAD, "rows": 1}),
        ("spread", {**SPREAD, "basis": BASIS}),
        ("spread", {**SPREAD, "weight": 0.5}),
        ("spread", {**SPREAD, "means": np.ones(1)}),
        ("spread", PROFILE),
        ("profile", {**PROFILE, "rows": 1}),
        ("profile", {**PROFILE, "bases": [BASIS]}),
        ("profile", {**PROFILE, "means": np.ones(1)}),
        ("profile", SPREAD),
        ("agreement", {**AGREEMENT, "rows": 1}),
        ("agreement", {**AGREEMENT, "sigma": SIGMA}),
        ("agreement", {**AGREEMENT, "means": np.ones(1)}),
        ("agreement", PROFILE),
        ("profile", AGREEMENT),
        ("agreement", {}),
        ("profile", {}),
        ("spread", {}),
        ("profile", None),
        ("spread", [SPREAD]),
    ],
)
def test_more_or_less_than_was_agreed_is_refused(name, request_) -> None:
    with pytest.raises(Refusal) as caught:
        read_question(name, request_, TERMS, ())
    assert caught.value.code == "MALFORMED"


@pytest.mark.parametrize(("name", "request_"), REQUESTS.items())
def test_studies_without_a_second_stage_refuse_its_questions(name, request_) -> None:
    variables = Variables(tuple("abcd"))
    for method in (
        Method(refit="pooled"),
        Method(refit=False),
        Method(refit=0.5),
        Method(kernel=Pairs()),
    ):
        terms = method.terms(variables)
        assert terms.max_profiles == 0
        with pytest.raises(Refusal) as caught:
            read_question(name, request_, terms, ())
        assert caught.value.code == "MALFORMED"
    read_question(name, request_, Method().terms(variables), ())


def test_gaps_have_to_be_filled_in_every_question() -> None:
    fills = {"means": np.array([1.0])}
    for name, request in REQUESTS.items():
        read_question(name, {**request, **fills}, TERMS, (1,))
        for wrong in ({}, {"means": np.ones(2)}, {"means": np.array([NAN])}):
            with pytest.raises(Refusal):
                read_question(name, {**request, **wrong}, TERMS, (1,))


@pytest.mark.parametrize(
    ("kernel", "discrete"),
    [(Slices(size=5), False), (Smooth(), True)],
    ids=["slices", "classes"],
)
def test_where_sites_have_no_functions_in_common_none_is_taken(
    kernel, discrete
) -> None:
    terms = Terms(D, kernel, discrete=discrete, max_profiles=40)
    assert terms.n_functions == 0
    for coefficients in (COMMON.coefficients, np.zeros((2, 0))):
        with pytest.raises(Refusal) as caught:
            read_question("profile", {**PROFILE, "common": coefficients}, terms, ())
        assert caught.value.code == "MALFORMED"


def test_no_more_than_twenty_directions_are_looked_at() -> None:
    terms = Terms(30, max_profiles=40)
    request = {"columns": np.arange(30), "scale": np.ones(30)}
    read_question("profile", {**request, "basis": np.eye(30)[:, :20]}, terms, ())
    with pytest.raises(Refusal):
        read_question("profile", {**request, "basis": np.eye(30)[:, :21]}, terms, ())


def test_no_request_makes_a_site_run_out_of_memory() -> None:
    terms = Terms(2600, max_profiles=12)
    request = {"columns": np.arange(2600), "scale": np.ones(2600)}
    few, many = np.zeros((2600, 1)), np.zeros((2600, 2))
    read_question("profile", {**request, "basis": few}, terms, ())
    with pytest.raises(Refusal, match="too many variables and directions"):
        read_question("profile", {**request, "basis": many}, terms, ())


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    "sigma", [np.zeros((3, 3)), np.ones((3, 3)), 1e140 * np.eye(3)]
)
def test_whatever_is_read_has_an_answer(weight, sigma) -> None:
    """No request that passes the checks makes a site fail."""
    for scale in (SCALE, np.full(3, 1e-149), np.full(3, 1e149)):
        for basis in (BASIS, np.ones((3, 2)), np.zeros((3, 1)), 1e11 * BASIS):
            request = {"columns": COLUMNS, "scale": scale, "basis": basis}
            request |= {"weight": weight, "sigma": sigma}
            question = read_question("profile", request, TERMS, ())
            vector = question.pack(question.compute(site(0, 40)))
            assert vector.shape == (question.n_values,)
        request = {"columns": COLUMNS, "scale": scale, "sigma": sigma}
        question = read_question("spread", request, TERMS, ())
        assert question.compute(site(0, 40)).shape == (3 + 2 * D,)


@pytest.mark.parametrize("variances", [np.zeros(D), np.full(D, 1e149), -VARIANCES])
def test_whatever_is_compared_has_an_answer(variances) -> None:
    for scale in (SCALE, np.full(3, 1e-149), np.full(3, 1e149)):
        for basis in (BASIS, np.ones((3, 2)), np.zeros((3, 1)), 1e11 * BASIS):
            for share in (0.0, 1.0, 1e149):
                request = {"columns": COLUMNS, "scale": scale, "basis": basis}
                request |= {"shares": np.full(basis.shape[1], share)}
                request |= {"variances": variances}
                question = read_question("agreement", request, TERMS, ())
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", SiteWarning)
                    found = question.compute(site(0, 40))
                assert set(found.counts) <= {0.0, 1.0}
                vector = question.pack(found)
                assert vector.shape == (question.n_values,)
                assert np.isfinite(vector).all()
