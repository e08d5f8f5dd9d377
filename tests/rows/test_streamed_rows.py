"""Rows read in batches give the same sums as rows in memory."""

import subprocess
import sys
import warnings
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.protocols.studies import Consortium, make_rows, packed_moments
from tests.summaries.comparing import allclose

from fedsdr.data import open_source, read_rows
from fedsdr.disclosure import Ledger, Policy, ReleaseGate, observe
from fedsdr.exceptions import InputError, Refusal, SiteError, SiteWarning
from fedsdr.normal_scores import agree_on_scores, place_cuts
from fedsdr.protocols.secure import SecureSite, SecureSum
from fedsdr.questions import (
    AgreementOf,
    ColumnShapes,
    MomentsOf,
    ProfileOf,
    RowSettings,
    ScoreSteps,
    SpreadOf,
)
from fedsdr.rows import MemoryRows, StreamedRows
from fedsdr.rows.streamed_rows import batch_rows
from fedsdr.summaries.profile import Common, PooledCovariance
from fedsdr.summaries.site_agreement import Expected
from fedsdr.summaries.slicing import Pairs, Slices, Smooth
from fedsdr.terms import Terms


def twins(X, y, size: int, memory: int = 1 << 28) -> tuple[MemoryRows, StreamedRows]:
    """Return the same rows in memory and in batches, with the same seed."""
    columns = tuple(f"x{j}" for j in range(X.shape[1]))
    starts = range(0, len(y), size)
    streamed = StreamedRows(
        lambda: ((X[i : i + size], y[i : i + size]) for i in starts),
        np.random.default_rng(5),
        "north",
        columns,
        memory,
    )
    return MemoryRows(X, y, np.random.default_rng(5), "north", columns), streamed


def assert_close(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(
        found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max()
    )


@pytest.mark.parametrize("kernel", [Smooth(), Slices(size=5), Pairs()])
@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(20, 150),
    size=st.integers(1, 160),
    discrete=st.booleans(),
    memory=st.sampled_from([1, 2000, 1 << 28]),
)
def test_moments_and_errors_are_those_of_rows_in_memory(
    kernel, seed, n_rows, size, discrete, memory
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)) + 3.0
    y = X[:, 0] + rng.normal(size=n_rows)
    if discrete:
        y = np.where(y > 3.0, "high", "low")
    terms = Terms(
        3,
        kernel=kernel,
        discrete=discrete,
        n_folds=3,
        max_votes=2,
        validation_fraction=0.25,
        max_candidates=5,
    )
    own, streamed = twins(X, y, size, memory)
    assert_close(packed_moments(streamed, terms), packed_moments(own, terms))
    np.testing.assert_array_equal(streamed.hold_out(terms), own.hold_out(terms))
    bases = [rng.normal(size=(3, k)) for k in (1, 2, 0, 3, 1)]
    assert_close(streamed.errors(terms, bases), own.errors(terms, bases))
    kept = rng.random(n_rows) < 0.7
    with warnings.catch_warnings():
        # By chance, so few rows may be left that slices are shorter than asked for.
        warnings.simplefilter("ignore", SiteWarning)
        found, expected = streamed.summarize(terms, kept), own.summarize(terms, kept)
    assert allclose(found, expected)


@pytest.mark.parametrize("kernel", [Smooth(), Slices(size=5), Pairs()])
@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 150),
    size=st.integers(1, 160),
    discrete=st.booleans(),
    tied=st.booleans(),
    n_directions=st.integers(1, 3),
)
def test_second_stages_are_those_of_rows_in_memory(
    kernel, seed, n_rows, size, discrete, tied, n_directions
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(loc=[3.0, 0.0, 1e4, -2.0, 0.0], size=(n_rows, 5))
    if tied:
        # Many equal rows, whose indices must not differ by rounding.
        X = np.sign(X - X.mean(axis=0)) / 3.0
    y = X[:, 0] + rng.normal(size=n_rows)
    if discrete:
        y = np.where(y > y.mean(), "high", "low")
    own, streamed = twins(X, y, size)
    terms = Terms(5, kernel=kernel, discrete=discrete, max_profiles=40)
    columns, scale = np.array([0, 2, 3, 4]), np.array([1.0, 2.0, 0.1, 3.0])
    sigma = np.eye(4) + 0.2
    basis = rng.normal(size=(4, n_directions))
    common = Common(0.3, rng.normal(size=(n_directions, 12)), 10 * n_rows)
    target = PooledCovariance(0.4, sigma)
    for shared, aim in ((None, None), (common, None), (None, target), (common, target)):
        if shared is not None and not terms.n_functions:
            continue
        question = ProfileOf(terms, columns, scale, basis, shared, aim)
        found, expected = question.compute(streamed), question.compute(own)
        for one in fields(expected):
            mine, theirs = getattr(found, one.name), getattr(expected, one.name)
            np.testing.assert_allclose(
                mine, theirs, rtol=1e-10, atol=1e-10 * n_rows, err_msg=one.name
            )
    spread = SpreadOf(terms, columns, scale, sigma)
    np.testing.assert_allclose(
        spread.compute(streamed), spread.compute(own), rtol=1e-10, atol=1e-10
    )
    shares = np.full(n_directions, 0.5)
    agreement = AgreementOf(
        terms, columns, scale, Expected(basis, shares), np.ones(terms.n_features)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SiteWarning)
        found, expected = agreement.compute(streamed), agreement.compute(own)
    mine, theirs = agreement.pack(found), agreement.pack(expected)
    np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-8 * n_rows)


@pytest.mark.parametrize("memory", [1, 700, 1 << 28])
def test_facts_are_those_of_rows_in_memory(memory, rng, tmp_path) -> None:
    X = np.column_stack([rng.normal(size=90), np.arange(90) < 4, np.ones(90)])
    own, streamed = twins(X, X[:, 0].round(), 7, memory)
    ledger = Ledger(tmp_path / "ledger")
    seen = [
        rows.observe(
            observe,
            own.columns,
            discrete=True,
            kernel=Smooth(),
            n_folds=3,
            fingerprint=ledger.fingerprint,
        )
        for rows in (own, streamed)
    ]
    shares = [list(facts.shares.values()) for facts in seen]
    np.testing.assert_allclose(shares[0], shares[1], rtol=1e-12)
    assert replace(seen[0], shares={}) == replace(seen[1], shares={})
    assert seen[0].minorities == {"x0": 90 - 1, "x1": 4, "x2": 0}


def test_gaps_are_filled_alike(rng) -> None:
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    X[rng.random(40) < 0.2, 1] = np.nan
    own, streamed = twins(X, y, 9)
    terms = Terms(3)
    with pytest.raises(InputError, match=r"1 column\(s\) of X, or y, have"):
        streamed.check(terms)
    for value in (0.5, -0.25):
        assert_close(streamed.totals([1, 2]), own.totals([1, 2]))
        for rows in (own, streamed):
            rows.fill([1, 2], np.array([value, 0.0]))
        assert_close(packed_moments(streamed, terms), packed_moments(own, terms))


@pytest.mark.parametrize("size", [1, 9, 500])
def test_columns_are_scored_alike(size, rng) -> None:
    X = np.column_stack(
        [
            np.exp(rng.normal(size=200)),
            rng.poisson(1.0, 200),
            1e6 + rng.normal(size=200),
        ]
    )
    X[rng.random(200) < 0.2, 1] = np.nan
    own, streamed = twins(X, rng.normal(size=200), size)
    terms, fills = Terms(3, scored=True), np.array([0.5])
    described = [ColumnShapes(terms).compute(rows) for rows in (own, streamed)]
    assert_close(described[1], described[0])
    cuts = place_cuts(described[0])
    np.testing.assert_array_equal(place_cuts(described[1]), cuts)
    stepped = [ScoreSteps(terms, cuts).compute(rows) for rows in (own, streamed)]
    np.testing.assert_array_equal(stepped[1], stepped[0])
    scores = agree_on_scores(cuts, stepped[0])
    for question in (
        MomentsOf(terms, RowSettings(None, (1,), fills, scores)),
        MomentsOf(terms, RowSettings(None, (1,), fills)),
        MomentsOf(terms, RowSettings(None, (1,), fills + 1.0, scores)),
    ):
        found, expected = (question.compute(rows) for rows in (streamed, own))
        assert_close(question.pack(found), question.pack(expected))
    # What comes before scores is not changed by them.
    np.testing.assert_array_equal(ColumnShapes(terms).compute(own), described[0])
    assert_close(ColumnShapes(terms).compute(streamed), described[0])


@pytest.mark.parametrize(
    ("terms", "columns", "words"),
    [
        (Terms(4), (), "has 3 columns and the study 4"),
        (Terms(3), ("x0", "z", "x2"), "column 'x1' where the study has 'z'"),
    ],
)
def test_rows_of_another_study(terms, columns, words, rng) -> None:
    for rows in twins(rng.normal(size=(9, 3)), rng.normal(size=9), 4):
        with pytest.raises(InputError, match=words):
            rows.check(terms, columns)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e306, -1e306])
def test_values_that_cannot_be_summed(bad, rng) -> None:
    for place in ("X", "y"):
        X, y = rng.normal(size=(9, 3)), rng.normal(size=9)
        if place == "X":
            X[7, 1] = bad
        else:
            y[7] = bad
        for rows in twins(X, y, 4):
            with pytest.raises(InputError, match=r"larger than 1e\+305"):
                rows.check(Terms(3))


def test_degenerate_sites_and_classes_are_refused_alike(rng) -> None:
    X = rng.normal(size=(9, 3))
    for rows in twins(X, np.ones(9), 4):
        with pytest.raises(SiteError, match="'north' has a constant y"):
            list(rows.summarize_parts(Terms(3, strict=True)))
    for rows in twins(X, np.array(list("abcabcabc")), 4):
        with pytest.raises(InputError, match="numeric y"):
            list(rows.summarize_parts(Terms(3)))


# --- a study --------------------------------------------------------------------------


def test_a_streamed_site_takes_part_in_a_study(tmp_path) -> None:
    """One site reads its rows from a file while the study goes on."""
    rows = make_rows(4, n_rows=80)
    gate = lambda _: ReleaseGate(Policy(min_rows=10))  # noqa: E731
    study = Consortium(rows, gate=gate, n_folds=2)
    X, y = rows["site-00"]
    names = [*study.study.columns, "y"]
    np.savetxt(
        tmp_path / "r.csv",
        np.column_stack([X, y]),
        delimiter=",",
        header=",".join(names),
        comments="",
        fmt="%.17g",
    )
    source = open_source({"kind": "csv", "path": "r.csv"}, folder=tmp_path)
    streamed = StreamedRows(
        lambda: read_rows(source, names[:-1], "y", 9),
        np.random.default_rng(7),
        "site-00",
        study.study.columns,
    )
    identity = study.identities["site-00"]
    study.transport.parties["site-00"] = SecureSite(
        "site-00", study.study, streamed, identity, study.gates["site-00"]
    )
    add = SecureSum(study.transport, study.study)
    add.agree()
    assert_close(add.add("moments", {}, study.n_values), study.expected())
    assert set(add.survivors) == set(rows)
    with pytest.raises(Refusal, match="ROWS"):
        ReleaseGate(Policy(min_rows=1000)).inspect(
            study.study.first_release(), partial(study.study.observe, streamed)
        )


def test_batches_of_wide_rows_are_short() -> None:
    assert batch_rows(10) == 65536
    assert batch_rows(1000) == 4194
    assert batch_rows(10**7) == 256


# --- memory ---------------------------------------------------------------------------

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from fedsdr.data import open_source, read_rows
from fedsdr.rows import StreamedRows
from fedsdr.method import read_parameter
from fedsdr.terms import Terms
from fedsdr.questions import MomentsOf

folder, kind, path, how = Path(sys.argv[1]), *sys.argv[2:]
source = open_source({"kind": kind, "path": path}, folder=folder)
names = [name for name in source.columns if name != "y"]


def peak():
    # Not getrusage, which also counts the process that started this one.
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if "VmHWM" in line)


def sums(n_batches):
    def read():
        for count, batch in enumerate(read_rows(source, names, "y", 500)):
            if count == n_batches:
                return
            yield batch
    rows = StreamedRows(read, np.random.default_rng(0), memory=1 << 22)
    question = MomentsOf(Terms(len(names), read_parameter("kernel", how), n_folds=2))
    question.pack(question.compute(rows))


# Libraries and the parser's own buffers are there after a few batches.
sums(n_batches=3) if how != "held" else next(read_rows(source, names, "y", 500))
before = peak()
if how == "held":
    rows = list(read_rows(source, names, "y", 500))
else:
    sums(n_batches=None)
print(peak() - before)
"""


def as_table(X: np.ndarray) -> pa.Table:
    columns = {f"x{j}": column for j, column in enumerate(X.T)}
    return pa.table({**columns, "y": X[:, 0] + X[:, 1] ** 3})


@pytest.fixture(name="files", scope="module")
def rows_in_files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    X = np.random.default_rng(1).normal(size=(30_000, 150)).round(3)
    # One row group: nothing in the file itself makes it easy. Dictionaries of 150
    # columns would take 8 MB, which are the reader's.
    pq.write_table(
        as_table(X),
        folder / "rows.parquet",
        row_group_size=len(X),
        use_dictionary=False,
    )
    # Ranks of the responses, which a smooth kernel keeps, are not what is measured.
    pv.write_csv(as_table(X.reshape(15_000, 300)), folder / "rows.csv")
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc")
@pytest.mark.parametrize(
    ("kind", "how"), [("csv", "smooth"), ("parquet", "slices"), ("parquet", "held")]
)
def test_memory_stays_far_below_the_size_of_the_rows(kind, how, files) -> None:
    """The memory hardly grows with the number of rows."""
    command = [sys.executable, "-c", PROGRAM, str(files), kind, f"rows.{kind}", how]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    more, held = int(done.stdout), 30_000 * 151 * 8
    if how == "held":
        # That the measurement would see rows which are held.
        assert more > 0.9 * held
    else:
        assert more < held / 4, f"{more / 2**20:.0f} of {held / 2**20:.0f} MB"
