"""Sums of many columns are parts of the moments, in memory and in batches."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fedsdr.exceptions import Refusal, SiteError, SiteWarning
from fedsdr.method import Method
from fedsdr.questions import (
    BlockOf,
    ColumnsOf,
    DiagonalsOf,
    MomentsOf,
    Question,
    RowsOf,
    read_question,
)
from fedsdr.rows import MemoryRows, OwnSites, StreamedRows
from fedsdr.rows.site_rows import Rows
from fedsdr.summaries import Summary
from fedsdr.summaries.slicing import Kernel, Slices, Smooth
from fedsdr.terms import MOST_ASKED, Terms, Variables

D = 9
SOME = np.array([0, 3, 8])


def terms(kernel: Kernel | None = None, **others: Any) -> Terms:
    return Terms(D, kernel or Smooth(), max_columns=3 * MOST_ASKED, **others)


def drawn(seed: int, n_rows: int, *, classes: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, D)) + 1e3 * rng.normal(size=D)
    y = X[:, 0] - X[:, 0].mean() + 0.3 * rng.normal(size=n_rows)
    return X, np.where(y > 0, "b", "a") if classes else y


def in_memory(seed: int, n_rows: int, *, classes: bool = False) -> MemoryRows:
    X, y = drawn(seed, n_rows, classes=classes)
    return MemoryRows(X, y, np.random.default_rng(seed), f"site {seed}")


def in_batches(seed: int, n_rows: int, *, classes: bool = False) -> StreamedRows:
    X, y = drawn(seed, n_rows, classes=classes)

    def read() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for start in range(0, n_rows, 16):
            yield X[start : start + 16], y[start : start + 16]

    return StreamedRows(read, np.random.default_rng(seed), f"site {seed}")


def moments(agreed: Terms, rows: Rows) -> Summary:
    return MomentsOf(agreed).compute(rows).parts["total"]


KINDS = [(Smooth(), False), (Slices(), False), (Slices(), True), (Smooth(), True)]


@pytest.mark.parametrize("make", [in_memory, in_batches])
@pytest.mark.parametrize(("kernel", "classes"), KINDS)
def test_they_are_parts_of_the_moments(
    make: Any, kernel: Kernel, classes: bool
) -> None:
    agreed = terms(kernel, discrete=classes)
    rows = make(1, 50, classes=classes)
    whole = moments(agreed, rows)
    found = DiagonalsOf(agreed).compute(rows)
    close = np.testing.assert_allclose
    close(found.scatter, np.diag(whole.scatter), rtol=1e-11)
    close(found.between, np.diag(whole.between), rtol=1e-8, atol=1e-9)
    close(found.products, whole.products, rtol=1e-9, atol=1e-9)
    assert found.linear.shape == (D, agreed.n_functions)
    close(found.linear[:, : whole.linear.shape[1]], whole.linear, atol=1e-8)
    assert found.response_square == pytest.approx(whole.response_square)
    assert found.freedom == pytest.approx(whole.freedom)
    assert found.freedom_squared == pytest.approx(whole.freedom_squared)
    block = BlockOf(agreed, SOME).compute(rows)
    columns = ColumnsOf(agreed, SOME).compute(rows)
    for one, expected in (("scatter", whole.scatter), ("between", whole.between)):
        close(getattr(block, one), expected[np.ix_(SOME, SOME)], atol=1e-9)
        close(getattr(columns, one), expected[:, SOME], atol=1e-9)


@pytest.mark.parametrize("question", [DiagonalsOf, BlockOf, ColumnsOf])
def test_a_vector_and_back(question: Any) -> None:
    agreed = terms()
    asked = question(agreed) if question is DiagonalsOf else question(agreed, SOME)
    parts = [asked.compute(in_memory(seed, 40 + seed)) for seed in range(3)]
    packed = sum(asked.pack(part) for part in parts)
    assert packed.shape == (asked.n_values,)
    total = parts[0] + parts[1] + parts[2]
    np.testing.assert_allclose(asked.pack(asked.unpack(packed)), asked.pack(total))


def test_a_constant_column_adds_nothing() -> None:
    X, y = drawn(0, 40, classes=False)
    X[:, 4] = 0.1 * 3.0
    rows = MemoryRows(X, y, np.random.default_rng(0))
    found = DiagonalsOf(terms()).compute(rows)
    assert found.scatter[4] == found.between[4] == found.products[4] == 0.0
    assert not found.linear[4].any()
    assert (np.delete(found.scatter, 4) > 0.0).all()


def test_a_site_without_a_kernel_has_its_covariance_only() -> None:
    X, _ = drawn(0, 30, classes=False)
    rows = MemoryRows(X, np.ones(30), np.random.default_rng(0))
    with pytest.warns(SiteWarning):
        found = DiagonalsOf(terms()).compute(rows)
    assert found.freedom == 0.0
    assert not found.between.any()
    assert not found.linear.any()
    for question in (BlockOf(terms(), SOME), ColumnsOf(terms(), SOME)):
        part = question.compute(rows)
        assert part.scatter.any()
        assert not part.between.any()
    with pytest.raises(SiteError):
        DiagonalsOf(terms(strict=True)).compute(rows)


def test_rows_are_joined_and_never_packed() -> None:
    agreed, scale = terms(), np.arange(1.0, D + 1.0)
    sites = {f"{seed}": in_memory(seed, 30 + seed) for seed in range(2)}
    asked = RowsOf(agreed, np.arange(D), scale)
    joined = asked.compute(sites["0"]) + asked.compute(sites["1"])
    stacked = np.vstack(joined.pieces)
    total = moments(agreed, sites["0"]) + moments(agreed, sites["1"])
    total = total.scaled(scale)
    np.testing.assert_allclose(stacked.T @ stacked, total.scatter, atol=1e-9)
    factor = np.hstack(joined.moved)
    np.testing.assert_allclose(factor @ factor.T, total.between, atol=1e-9)
    with pytest.raises(TypeError, match="never sent"):
        asked.pack(joined)
    assert asked.n_values == 0


# --- untrusted requests ---------------------------------------------------------------


def refused(name: str, request: dict[str, Any], agreed: Terms) -> bool:
    with pytest.raises(Refusal) as refusal:
        read(name, request, agreed)
    return refusal.value.code == "MALFORMED"


def read(name: str, request: dict[str, Any], agreed: Terms) -> Question[Any]:
    return read_question(name, request, agreed, ())


@pytest.mark.parametrize("question", [BlockOf(terms(), SOME), ColumnsOf(terms(), SOME)])
def test_a_request_is_read(question: Any) -> None:
    found = read(question.name, question.request(), terms())
    assert type(found) is type(question)
    np.testing.assert_array_equal(found.columns, SOME)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["block", "columns"])
@pytest.mark.parametrize(
    "columns",
    [
        None,
        [0, 1],
        np.array([0.0, 1.0]),
        np.array([], dtype=np.int64),
        np.array([[0, 1]]),
        np.array([1, 0]),
        np.array([1, 1]),
        np.array([-1, 2]),
        np.array([0, D]),
    ],
)
def test_malformed_columns_are_refused(name: str, columns: Any) -> None:
    assert refused(name, {"columns": columns}, terms())


def test_no_more_columns_than_were_agreed_on() -> None:
    agreed = terms()
    assert agreed.columns_at_once == 3
    with pytest.raises(Refusal, match="more columns than were agreed"):
        read("columns", {"columns": np.arange(4)}, agreed)
    narrow = Terms(D, max_columns=MOST_ASKED)
    with pytest.raises(Refusal, match="more columns than were agreed"):
        read("columns", {"columns": np.arange(2)}, narrow)
    few = Terms(2 * MOST_ASKED, max_columns=MOST_ASKED)
    with pytest.raises(Refusal, match="more columns than were agreed"):
        read("block", {"columns": np.arange(MOST_ASKED + 1)}, few)


@pytest.mark.parametrize("name", ["diagonals", "block", "columns", "rows"])
def test_a_study_of_few_columns_has_no_such_sums(name: str) -> None:
    request: dict[str, Any] = {} if name == "diagonals" else {"columns": SOME}
    assert refused(name, request, Terms(D))


def test_a_study_of_many_columns_has_no_moments() -> None:
    assert refused("moments", {}, terms())
    assert refused("rows", {"columns": SOME}, terms())


def test_which_studies_have_many_columns() -> None:
    def of(d: int, **parameters: Any) -> Terms:
        names = tuple(f"x{j}" for j in range(d))
        return Method(**parameters).terms(Variables(names))

    assert of(300).max_columns == 0
    many = of(301)
    assert many.max_columns > 0
    assert many.n_questions("columns") * many.columns_at_once <= many.max_columns
    assert of(301, penalty="moments").max_columns == 0
    assert of(301, n_directions="votes").max_columns == 0


def test_sums_of_all_sites_add_up() -> None:
    sites = {f"{seed}": in_memory(seed, 30 + seed) for seed in range(3)}
    adder = OwnSites(sites, Variables(tuple("abcdefghi")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        total = adder(DiagonalsOf(terms()))
    expected = sum(moments(terms(), rows) for rows in sites.values())
    assert (total.n_rows, total.n_sites) == (expected.n_rows, 3)
    np.testing.assert_allclose(total.sigma, np.diag(expected.sigma))
    np.testing.assert_allclose(total.kernel, np.diag(expected.kernel), atol=1e-9)
    means = total.common_means()
    np.testing.assert_allclose(
        means @ means.T, expected.mixed(0.0).kernel, rtol=1e-6, atol=1e-9
    )
    by_response = total.common_means(by_response=True)
    np.testing.assert_allclose(
        by_response @ by_response.T,
        expected.by_response().mixed(0.0).kernel,
        rtol=1e-6,
        atol=1e-9,
    )
