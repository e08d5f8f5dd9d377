"""The second stage under masks: the plain result, and no more than was agreed."""

import warnings
from typing import Any

import numpy as np
import pytest
from tests.protocols.studies import Consortium, make_rows

from fedsdr.disclosure import Ledger, Policy, ReleaseGate
from fedsdr.exceptions import CovarianceWarning, SiteWarning
from fedsdr.method import Method
from fedsdr.protocols import IncompleteError, Refusal
from fedsdr.protocols.secure import SecureSum, SumFolder
from fedsdr.protocols.secure.attempts import BrokenRoundError
from fedsdr.questions import AgreementOf, ProfileOf, SpreadOf
from fedsdr.result import Result
from fedsdr.rows import MemoryRows, OwnSites
from fedsdr.run import run
from fedsdr.summaries.site_agreement import Expected
from fedsdr.summaries.slicing import Slices
from fedsdr.terms import Variables

Rows = dict[str, tuple[np.ndarray, np.ndarray]]


def drawn(
    sizes: list[int], noise: float, *, d: int = 6, shift: float = 0.0, seed: int = 0
) -> Rows:
    """Draw sites with two active columns, and covariances that may differ."""
    rng = np.random.default_rng(seed)
    rows = {}
    for i, n in enumerate(sizes):
        mixing = np.eye(d)
        mixing[2 + i % (d - 2), 0] = shift * (-1) ** i
        X = rng.normal(size=(n, d)) @ mixing.T + rng.normal(size=d)
        y = X[:, 0] + X[:, 1] + noise * rng.normal(size=n)
        rows[f"site-{i:02d}"] = (X, y)
    return rows


def in_classes(rows: Rows) -> Rows:
    """Cut the responses, whose means differ, at the median of their site."""
    return {
        name: (X, np.where(y > np.median(y), "high", "low"))
        for name, (X, y) in rows.items()
    }


def with_degenerate_site(rows: Rows) -> Rows:
    (name, (X, _)), *_ = rows.items()
    return {**rows, name: (X, np.ones(len(X)))}


def with_gaps(rows: Rows) -> Rows:
    """Take a tenth of the values away, from the rows of all sites."""
    rng = np.random.default_rng(1)
    return {
        name: (np.where(rng.random(X.shape) < 0.1, np.nan, X), y)
        for name, (X, y) in rows.items()
    }


STUDIES: dict[str, tuple[Rows, Method]] = {
    "strong": (drawn([80, 100, 120], 0.3), Method()),
    "different": (drawn([150, 150, 150, 150], 0.3, shift=1.5), Method()),
    "weak": (drawn([20, 24, 30, 26, 22, 35] * 4, 3.0), Method()),
    "slices": (drawn([80, 100, 120], 0.3), Method(kernel=Slices(size=10))),
    "classes": (in_classes(drawn([80, 100, 120], 0.3)), Method()),
    "given": (drawn([80, 100, 120], 0.3), Method(n_directions=2, penalty=0.02)),
    "gaps": (with_gaps(drawn([80, 100, 120], 0.3)), Method()),
    "gaps, scores": (with_gaps(drawn([80, 100, 120], 0.3)), Method(scores="normal")),
    "degenerate": (with_degenerate_site(drawn([30, 90, 90, 90], 0.3)), Method()),
}


class Study:
    """The same rows for an adder in one process, and for a consortium."""

    def __init__(self, rows: Rows, method: Method, **options: Any) -> None:
        discrete = next(iter(rows.values()))[1].dtype.kind != "f"
        width = next(iter(rows.values()))[0].shape[1]
        names = tuple(f"x{j}" for j in range(width))
        self.rows, self.method = rows, method
        gaps = any(np.isnan(X).any() for X, _ in rows.values())
        filled = names if gaps else ()
        self.variables = Variables(names, discrete=discrete, filled=filled)
        terms = method.terms(self.variables)
        asked = {name: getattr(terms, name) for name in terms.__slots__}
        del asked["n_features"]
        self.consortium = Consortium(rows, imputed=filled, **asked, **options)

    def plain(self) -> tuple[Result, int]:
        """Fit in one process, and count the sums."""
        own = {
            name: MemoryRows(X, y, np.random.default_rng(7), name)
            for name, (X, y) in self.rows.items()
        }
        adder = OwnSites(own, self.variables)
        return run(adder, self.method), adder.n_sums

    def adder(self, **options: Any) -> SecureSum:
        """Return a coordinator with whom all sites agree."""
        add = SecureSum(self.consortium.transport, self.consortium.study, **options)
        add.agree()
        return add

    @property
    def questions(self) -> list[dict[str, Any]]:
        """Requests in the order in which the first site got them."""
        return [
            message.payload
            for message in self.consortium.transport.transcript.messages
            if message.name == "secure.keys" and message.receiver == "site-00"
        ]


def assert_same(found: Result, expected: Result, tolerance: float = 1e-10) -> None:
    np.testing.assert_array_equal(found.support, expected.support)
    assert found.directions.shape == expected.directions.shape
    np.testing.assert_allclose(
        found.directions, expected.directions, rtol=0, atol=tolerance
    )
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=tolerance)
    assert len(found.validation) == len(expected.validation)


# --- the plain result -----------------------------------------------------------------


@pytest.mark.parametrize("name", STUDIES)
def test_masks_change_nothing(name: str) -> None:
    study = Study(*STUDIES[name])
    with warnings.catch_warnings():
        if name == "degenerate":
            warnings.simplefilter("ignore", SiteWarning)
        if name == "different":
            warnings.simplefilter("ignore", CovarianceWarning)
        expected, n_sums = study.plain()
        found = run(study.adder(), study.method)
    assert_same(found, expected)
    asked = [one["statistic"] for one in study.questions]
    earlier = {"gaps": ["means"], "gaps, scores": ["shapes", "steps"]}.get(name, [])
    # What is left beside the directions is asked for once, if covariances differ.
    assert asked.count("remainder") == (name == "different")
    profiles = ["profile"] * asked.count("profile")
    others = [one for one in asked if one != "remainder"]
    assert others == [*earlier, "moments", "spread", *profiles, "agreement"]
    assert len(asked) == n_sums
    assert 1 <= len(profiles) <= study.consortium.study.terms.max_profiles
    last = study.questions[-2]["request"]
    # A weak signal over many small sites is estimated from common means.
    assert ("common" in last) == (name == "weak")
    assert ("weight" in last) == (name != "different")
    assert {"x0", "x1"} <= set(found.selected)


def test_every_site_is_asked_the_same() -> None:
    study = Study(*STUDIES["weak"])
    run(study.adder(), study.method)
    by_round: dict[str, set[bytes]] = {}
    for message in study.consortium.transport.transcript.messages:
        if message.name == "secure.keys" and message.receiver.startswith("site"):
            by_round.setdefault(message.payload["round"], set()).add(message.packed)
    assert len(by_round) == len(study.questions)
    assert all(len(asked) == 1 for asked in by_round.values())


# --- no more than was agreed ----------------------------------------------------------


def profile_at(study: Study, angle: float, scale: float = 1.0) -> ProfileOf:
    terms = study.consortium.study.terms
    basis = np.array([[np.cos(angle)], [np.sin(angle)]])
    return ProfileOf(terms, np.array([0, 1]), np.full(2, scale), basis)


def gated(rows: Rows, method: Method | None = None) -> Study:
    gates: dict[str, ReleaseGate] = {}

    def gate(name: str) -> ReleaseGate:
        # A site keeps its ledger when its process starts again.
        policy = Policy(min_rows=5, max_columns_per_row=None)
        return gates.setdefault(name, ReleaseGate(policy, Ledger()))

    return Study(rows, method or Method(), gate=gate)


def test_a_profile_more_than_was_agreed_is_refused() -> None:
    study = gated(drawn([30, 30, 30], 0.3, d=3))
    add = study.adder()
    for i in range(30):
        add(profile_at(study, i / 30))
    first = add(profile_at(study, 0.0))
    with pytest.raises(IncompleteError, match="disclosure rule"):
        add(profile_at(study, 2.0))
    for error in study.consortium.transport.errors.values():
        assert error.code == "DISCLOSURE"
        assert "QUESTIONS: this study has already had 30 answers" in str(error)
    # One that was asked before may be asked again.
    assert add(profile_at(study, 0.0)).explained == pytest.approx(first.explained)


def test_the_spread_is_asked_for_once() -> None:
    study = gated(drawn([30, 30, 30], 0.3, d=3))
    add = study.adder()
    terms = study.consortium.study.terms
    add(SpreadOf(terms, np.array([0, 1]), np.ones(2), np.eye(2)))
    with pytest.raises(IncompleteError, match="disclosure rule"):
        add(SpreadOf(terms, np.array([0, 1]), np.ones(2), 2.0 * np.eye(2)))


def test_findings_under_masks_are_those_of_one_process() -> None:
    study = Study(drawn([40, 60, 80], 0.3, d=4), Method())
    terms = study.consortium.study.terms
    expected = Expected(np.array([[1.0, 0.2], [0.9, -0.4]]), np.array([0.6, 0.1]))
    columns, scale = np.array([0, 1]), np.ones(2)
    question = AgreementOf(terms, columns, scale, expected, np.full(4, 1e4))
    own = {
        name: MemoryRows(X, y, np.random.default_rng(7), name)
        for name, (X, y) in study.rows.items()
    }
    with pytest.warns(SiteWarning, match="more or far less variable"):
        plain = OwnSites(own, study.variables)(question)
    add = study.adder()
    with pytest.warns(SiteWarning, match="more or far less variable"):
        masked = add(question)
    assert plain.counts.tolist() == masked.counts.tolist() == [3.0, 0.0, 0.0]
    np.testing.assert_allclose(
        question.pack(masked), question.pack(plain), rtol=1e-12, atol=1e-12
    )
    assert plain.use.all()
    assert plain.skewness.all()
    assert plain.squares[:, 2:].all()


@pytest.mark.parametrize("refit", ["pooled", False, 0.5])
def test_a_study_without_a_second_stage_refuses_it(refit: Any) -> None:
    study = Study(drawn([30, 30, 30], 0.3, d=3), Method(refit=refit))
    add = study.adder()
    for question in (
        profile_at(study, 0.3),
        SpreadOf(study.consortium.study.terms, np.array([0]), np.ones(1), np.eye(1)),
    ):
        with pytest.raises(IncompleteError, match="not one that this protocol has"):
            add(question)
        asked = {"round": "1", "statistic": question.name}
        site = study.consortium.sites["site-00"]
        with pytest.raises(Refusal) as caught:
            site.handle("secure.keys", {**asked, "request": question.request()})
        assert caught.value.code == "MALFORMED"


def test_a_site_whose_sums_are_too_large_refuses_and_counts_the_question() -> None:
    """Zeros in its place would show it by a difference, and a free refusal its size."""
    rows = drawn([40, 40, 40, 40], 0.3, d=3)
    X, y = rows["site-00"]
    study = gated({**rows, "site-00": (100.0 * X, y)})
    add = study.adder()
    add(profile_at(study, 0.4))
    for i in range(10):
        with pytest.raises(BrokenRoundError, match="Missing now: site-00"):
            add(profile_at(study, 0.4, (1 + i / 100) * 3e-7))
        error = study.consortium.transport.errors["site-00"]
        assert "too large to be added exactly: look at the units" in str(error)
    ledger = study.consortium.gates["site-00"].ledger
    stages = [one.stage for one in ledger.entries()]
    assert stages == ["offered", "released", *["failed"] * 10]
    # Nothing more is answered, whatever it is about.
    with pytest.raises(IncompleteError):
        add(profile_at(study, 0.5))
    told = str(study.consortium.transport.errors["site-00"])
    assert "ATTEMPTS: 10 requests of this study were refused or failed" in told
    assert len(ledger.entries()) == 12


@pytest.mark.parametrize("scale", [1e-140, 1e-60, 1e60, 1e140])
def test_no_scale_ends_a_site(scale: float) -> None:
    study = Study(make_rows(4, 2), Method())
    add = study.adder()
    for question in (
        profile_at(study, 0.4, scale),
        SpreadOf(
            study.consortium.study.terms,
            np.array([0, 1]),
            np.full(2, scale),
            np.eye(2),
        ),
    ):
        if scale > 1:
            add(question)
        else:
            with pytest.raises(IncompleteError, match="no answer to"):
                add(question)
    assert np.isfinite(add(profile_at(study, 0.4)).explained)


# --- sites that are lost --------------------------------------------------------------


class Losing:
    """Loses sites as long as it is told to."""

    def __init__(self) -> None:
        self.sites: set[str] = set()
        self.asked: list[tuple[str, str]] = []

    def __call__(self, name: str, site: str, packed: bytes) -> bytes | None:
        """Lose a message, or pass it on."""
        self.asked.append((name, site))
        return None if site in self.sites else packed


def four_sites() -> tuple[Study, Losing]:
    fault = Losing()
    study = Study(drawn([50, 50, 50, 50], 0.3, d=3), Method(), threshold=3, fault=fault)
    return study, fault


def test_a_site_that_missed_the_moments_is_not_asked_again() -> None:
    study, fault = four_sites()
    fault.sites = {"site-03"}
    add = study.adder()
    add.add("moments", {}, study.consortium.n_values)
    fault.sites.clear()
    fault.asked.clear()
    found = add(profile_at(study, 0.2))
    assert add.survivors == ("site-00", "site-01", "site-02")
    assert "site-03" not in {site for _, site in fault.asked}
    assert found.explained > 0


def test_all_profiles_are_sums_over_the_same_sites() -> None:
    study, fault = four_sites()
    add = study.adder()
    add.add("moments", {}, study.consortium.n_values)
    first = add(profile_at(study, 0.2))
    fault.sites = {"site-03"}
    with pytest.raises(BrokenRoundError, match=r"Missing now: site-03 \(no answer"):
        add(profile_at(study, 0.3))
    # No masked numbers have left: the sites have not been asked for any.
    names = [name for name, _ in fault.asked]
    assert names.count("secure.masked") == 2 * 4
    fault.sites.clear()
    second = add(profile_at(study, 0.3))
    assert set(add.survivors) == set(study.rows)
    assert second.explained != first.explained


def test_a_site_may_be_lost_before_the_first_profile() -> None:
    study, fault = four_sites()
    add = study.adder()
    add.add("moments", {}, study.consortium.n_values)
    fault.sites = {"site-03"}
    with pytest.warns(SiteWarning, match="site-03 left after the moments: the sums fr"):
        add(profile_at(study, 0.2))
    fault.asked.clear()
    add(profile_at(study, 0.3))
    assert add.survivors == ("site-00", "site-01", "site-02")
    assert add.counted == tuple(study.rows)
    assert "site-03" not in {site for _, site in fault.asked}


# --- interruptions --------------------------------------------------------------------


class StopError(Exception):
    """Failure of the coordinator's machine."""


@pytest.mark.filterwarnings("ignore::fedsdr.CovarianceWarning")
@pytest.mark.parametrize("stop_at", [1, 2, 3, 4])
def test_a_second_stage_that_was_interrupted_goes_on(tmp_path, stop_at: int) -> None:
    """Whichever sum it stops in, finished ones are not asked for again."""
    left = [stop_at]

    def fault(name: str, site: str, packed: bytes) -> bytes:
        if (name, site) == ("secure.keys", "site-00"):
            if not left[0]:
                raise StopError
            left[0] -= 1
        return packed

    rows = drawn([150, 150, 150, 150], 0.3, shift=1.5)
    study = Study(rows, Method(), fault=fault)
    expected, n_sums = study.plain()
    assert n_sums > stop_at
    with pytest.raises(StopError):
        run(study.adder(state=SumFolder(tmp_path)), Method())
    left[0] = 100
    found = run(study.adder(state=SumFolder(tmp_path)), Method())
    assert_same(found, expected, 1e-12)
    assert 100 - left[0] == n_sums - stop_at
    assert_same(run(study.adder(state=SumFolder(tmp_path)), Method()), expected, 1e-12)
    assert 100 - left[0] == n_sums - stop_at
