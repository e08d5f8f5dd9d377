"""The secure protocol gives the plain sums over the sites that stayed, or no sum."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.protocols.studies import Consortium, make_rows

from fedsdr import FedSSIR, InputError
from fedsdr.exceptions import SiteWarning
from fedsdr.protocols import IncompleteError, Refusal
from fedsdr.protocols.secure import SecureSite, SecureSum, SumFolder
from fedsdr.protocols.secure.round_replies import check_counts
from fedsdr.rows import MemoryRows
from fedsdr.secure_sum import FixedPoint, Identity
from fedsdr.simulate import make_setting
from fedsdr.terms import Terms

RESULT = {
    "directions": np.eye(4)[:, :1],
    "support": np.ones(4, dtype=bool),
    "eigenvalues": np.ones(1),
    "n_rows": 93,
    "n_sites": 3,
    "penalty": 0.1,
    "objective": -1.0,
    "dual_bound": -1.0,
    "gap": 0.0,
    "converged": True,
    "scale": np.ones(4),
}
STAGES = ("keys", "shares", "verify", "masked", "confirm", "unmask")


def add_moments(consortium: Consortium, **options: Any) -> tuple[np.ndarray, SecureSum]:
    add = SecureSum(consortium.transport, consortium.study, **options)
    add.agree()
    return add.add("moments", {}, consortium.n_values), add


@settings(max_examples=25)
@given(
    n_sites=st.integers(3, 20),
    stage=st.sampled_from(STAGES),
    position=st.integers(0, 19),
    threshold=st.integers(0, 20),
)
def test_one_drop_out_anywhere_is_recovered_or_fails_closed(
    n_sites: int, stage: str, position: int, threshold: int
) -> None:
    lost = f"site-{position % n_sites:02d}"
    least = max(3, n_sites // 2 + 1)
    wanted = min(max(threshold, least), n_sites)

    def fault(name: str, site: str, packed: bytes) -> bytes | None:
        return None if (name, site) == (f"secure.{stage}", lost) else packed

    consortium = Consortium(
        make_rows(n_sites, n_features=2), threshold=wanted, fault=fault
    )
    if wanted == n_sites:
        with pytest.raises(IncompleteError, match=lost):
            add_moments(consortium)
        return
    found, add = add_moments(consortium)
    stayed = stage in ("confirm", "unmask")
    assert set(add.survivors) == set(consortium.rows) - (set() if stayed else {lost})
    expected = consortium.expected(add.survivors)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * expected.max())


@pytest.mark.parametrize("refit", ["pooled", True])
@pytest.mark.parametrize("n_sites", [3, 7, 20])
def test_the_fit_is_the_fit_from_plain_sums(n_sites: int, refit: Any) -> None:
    data = make_setting(
        1, n_per_site=50, n_features=15, n_sites=n_sites, random_state=1
    )
    fits = [
        FedSSIR(protocol=protocol, refit=refit).fit(data.X, data.y, sites=data.sites)
        for protocol in ("sums", "secure")
    ]
    np.testing.assert_array_equal(fits[0].support_, fits[1].support_)
    np.testing.assert_allclose(fits[0].directions_, fits[1].directions_, atol=1e-12)
    n_sums = fits[0].communication_.rounds
    assert (n_sums == 1) == (refit == "pooled")
    assert fits[1].communication_.rounds == 1 + 6 * n_sums


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_sums_are_exact_to_twelve_digits_in_any_sensible_unit(scale: float) -> None:
    rows = {name: (scale * X, y) for name, (X, y) in make_rows(5).items()}
    consortium = Consortium(rows)
    found, _ = add_moments(consortium)
    expected = consortium.expected()
    size = np.abs(expected[4:]).max()
    np.testing.assert_allclose(found[4:], expected[4:], rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize(
    ("scale", "message"), [(1e-8, "smaller units"), (1e9, "larger units")]
)
def test_units_that_would_lose_digits_are_refused_at_the_site(
    scale: float, message: str
) -> None:
    rows = {name: (scale * X, y) for name, (X, y) in make_rows(3).items()}
    consortium = Consortium(rows)
    with pytest.raises(IncompleteError, match="own data cannot be used"):
        add_moments(consortium)
    for error in consortium.transport.errors.values():
        assert message in str(error)
        assert isinstance(error, InputError)


def test_one_word_rings_work_too() -> None:
    consortium = Consortium(make_rows(4), ring=FixedPoint(1, 44))
    found, _ = add_moments(consortium)
    np.testing.assert_allclose(found, consortium.expected(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("refit", ["pooled", True])
def test_holdout_and_votes_are_added_under_masks(refit: Any) -> None:
    data = make_setting(1, n_per_site=60, n_features=8, n_sites=4, random_state=1)
    options: dict[str, Any] = {"n_directions": "votes", "penalty": "holdout"}
    options["refit"] = refit
    fits = [
        FedSSIR(protocol=protocol, random_state=0, **options).fit(
            data.X, data.y, sites=data.sites
        )
        for protocol in ("sums", "secure")
    ]
    np.testing.assert_allclose(fits[0].directions_, fits[1].directions_, atol=1e-10)
    n_sums = fits[0].communication_.rounds
    assert n_sums == 2 if refit == "pooled" else n_sums > 3
    assert fits[1].communication_.rounds == 1 + 6 * n_sums


def test_two_sites_are_too_few() -> None:
    data = make_setting(1, n_per_site=60, n_features=8, n_sites=2, random_state=1)
    with pytest.raises(InputError, match="at least 3 sites"):
        FedSSIR(protocol="secure").fit(data.X, data.y, sites=data.sites)


def test_a_study_that_was_interrupted_goes_on(tmp_path: Any) -> None:
    terms = {"validation_fraction": 0.3, "max_candidates": 1}
    cut = {"secure.masked"}

    def fault(name: str, site: str, packed: bytes) -> bytes | None:
        return None if name in cut else packed

    consortium = Consortium(make_rows(4), fault=fault, **terms)
    with pytest.raises(IncompleteError):
        add_moments(consortium, state=SumFolder(tmp_path))
    cut.clear()
    found, _ = add_moments(consortium, state=SumFolder(tmp_path))
    before = consortium.transport.transcript.rounds
    # A new coordinator finds the sum on disk and asks for what is missing only.
    again, add = add_moments(consortium, state=SumFolder(tmp_path))
    np.testing.assert_array_equal(again, found)
    assert set(add.survivors) == set(consortium.rows)
    assert consortium.transport.transcript.rounds == before + 1
    errors = add.add("errors", {"bases": [np.eye(4)[:, :1]]}, 1)
    assert errors.shape == (1,)
    assert consortium.transport.transcript.rounds == before + 7


def test_a_damaged_state_is_said(tmp_path: Any) -> None:
    folder = SumFolder(tmp_path)
    folder.save("moments", {"a": 1})
    assert folder.load("moments") == {"a": 1}
    (tmp_path / "moments.round").write_bytes(b"\xff")
    with pytest.raises(InputError, match="damaged"):
        folder.load("moments")


def test_another_study_is_refused() -> None:
    consortium, other = Consortium(make_rows(3)), Consortium(make_rows(3), prefix="z")
    with pytest.raises(IncompleteError, match="terms differ"):
        SecureSum(consortium.transport, other.study).agree()


def test_a_site_checks_its_own_key_against_the_roster() -> None:
    consortium = Consortium(make_rows(3))
    with pytest.raises(InputError, match="roster"):
        SecureSite("site-00", consortium.study, None, Identity.generate(), None)


@pytest.mark.parametrize(
    ("name", "payload", "code"),
    [
        ("secure.keys", {"round": "1", "statistic": "moments", "request": {}}, "ORDER"),
        ("secure.agree", {"study": "ff"}, "TERMS"),
        ("secure.agree", {}, "MALFORMED"),
        ("secure.shares", {"round": "1", "keys": {}}, "ORDER"),
        ("secure.result", RESULT, "ORDER"),
        ("secure.result", {}, "MALFORMED"),
        ("secure.rows", {}, "MALFORMED"),
    ],
)
def test_messages_out_of_place_are_refused(
    name: str, payload: dict[str, Any], code: str
) -> None:
    site = Consortium(make_rows(3)).sites["site-00"]
    with pytest.raises(Refusal) as caught:
        site.handle(name, payload)
    assert caught.value.code == code


def test_a_round_cannot_be_replayed() -> None:
    consortium = Consortium(make_rows(3))
    add_moments(consortium)
    site = consortium.sites["site-01"]
    for message in consortium.transport.transcript.messages:
        if message.receiver == "site-01" and message.name != "secure.agree":
            with pytest.raises(Refusal) as caught:
                site.handle(message.name, message.payload)
            assert caught.value.code == "ORDER"


def test_candidates_are_asked_for_only_where_the_study_holds_rows_out() -> None:
    consortium = Consortium(make_rows(3))
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    with pytest.raises(IncompleteError, match="not one that this protocol has"):
        add.add("errors", {"bases": [np.eye(4)[:, :1]]}, 1)


def test_the_result_reaches_every_site() -> None:
    consortium = Consortium(make_rows(3))
    _, add = add_moments(consortium)
    add.publish(RESULT)
    for site in consortium.sites.values():
        np.testing.assert_array_equal(site.result["directions"], RESULT["directions"])


def test_sums_that_are_asked_for_again_are_the_same() -> None:
    consortium = Consortium(make_rows(3), n_folds=3, validation_fraction=0.3)
    first, _ = add_moments(consortium)
    again, _ = add_moments(consortium)
    np.testing.assert_array_equal(first, again)


def test_no_mask_is_used_in_two_rounds() -> None:
    consortium = Consortium(make_rows(3))
    add_moments(consortium)
    add_moments(consortium)
    masked = [
        message.payload["masked"]
        for message in consortium.transport.transcript.messages
        if message.name == "secure.masked" and message.sender == "site-00"
    ]
    # The same numbers in both rounds: any equal word would be a mask used twice.
    assert len(masked) == 2
    assert not (masked[0] == masked[1]).any()


def test_a_folder_of_another_study_is_refused(tmp_path: Any) -> None:
    first, second = Consortium(make_rows(3)), Consortium(make_rows(3), prefix="z")
    add_moments(first, state=SumFolder(tmp_path))
    add_moments(second, state=SumFolder(tmp_path))
    assert len(list(tmp_path.iterdir())) == 2
    for file in tmp_path.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600
    one, two = sorted(tmp_path.iterdir())
    content = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(content)
    with pytest.raises(InputError, match="another study"):
        add_moments(first, state=SumFolder(tmp_path))


@pytest.mark.parametrize("stage", ["keys", "shares", "masked", "confirm", "unmask"])
def test_a_reply_that_was_changed_on_the_way_is_a_lost_site(stage: str) -> None:
    consortium = Consortium(make_rows(4), threshold=3)
    inner = consortium.transport

    def exchange(name: str, payloads: Any, timeout: float) -> Any:
        replies, failures = inner(name, payloads, timeout)
        if name == f"secure.{stage}" and "site-01" in replies:
            reply = dict(replies["site-01"])
            key = next(iter(reply))
            if stage == "masked":
                changed = reply["masked"].copy()
                changed[3, 1] += np.uint64(1)
                reply["masked"] = changed
            elif isinstance(reply[key], bytes):
                reply[key] = bytes(len(reply[key]))
            else:
                reply[key] = {peer: bytes(len(v)) for peer, v in reply[key].items()}
            replies["site-01"] = reply
        return replies, failures

    add = SecureSum(exchange, consortium.study)
    add.agree()
    if stage == "shares":
        with pytest.warns(SiteWarning, match="site-01 .* not signed by it"):
            found = add.add("moments", {}, consortium.n_values)
    else:
        found = add.add("moments", {}, consortium.n_values)
    assert add.failures == {"site-01": "TAMPERED"}
    np.testing.assert_allclose(found, consortium.expected(add.survivors), atol=1e-9)
    assert ("site-01" in add.survivors) == (stage in ("confirm", "unmask"))


def test_sums_that_do_not_count_their_sites_are_refused() -> None:
    check_counts(np.array([10.0, 3.0]), 3)
    for rows, sites in ((10.0, 4.0), (10.5, 3.0), (2.0, 3.0), (1e20, 5.7e14)):
        with pytest.raises(Refusal) as caught:
            check_counts(np.array([rows, sites]), 3)
        assert caught.value.code == "TAMPERED"


def test_other_units_at_one_site_are_another_study() -> None:
    consortium = Consortium(make_rows(3))
    metres = replace(consortium.study, units=("m",) * 4)
    assert metres.digest != consortium.study.digest
    with pytest.raises(IncompleteError, match="terms differ"):
        SecureSum(consortium.transport, metres).agree()


@pytest.mark.parametrize(
    "bases",
    [
        [np.full((4, 1), 1e13)],
        [np.full((4, 1), np.inf)],
        [np.eye(4)[:, :1]] * 101,
        [np.zeros((4, 5))],
    ],
)
def test_candidates_beyond_what_was_agreed_are_refused(bases: Any) -> None:
    consortium = Consortium(make_rows(3), validation_fraction=0.3, max_candidates=100)
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    with pytest.raises(IncompleteError, match="not one that this protocol has"):
        add.add("errors", {"bases": bases}, len(bases))


def test_a_request_that_the_schema_does_not_allow_is_not_sent() -> None:
    consortium = Consortium(make_rows(3), validation_fraction=0.3)
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    request = {"bases": [np.zeros((3, 1))]}
    with pytest.raises(Refusal, match=r"request secure\.keys") as caught:
        add.add("errors", request, 1)
    assert caught.value.code == "MALFORMED"
    with pytest.raises(Refusal, match=r"request secure\.result"):
        add.publish({**RESULT, "rows": np.ones((5, 4))})
    names = {message.name for message in consortium.transport.transcript.messages}
    assert names == {"secure.agree"}
    # A site refuses it as well, whoever sends it.
    asked = {"round": "1", "statistic": "errors", "request": request}
    with pytest.raises(Refusal) as caught:
        consortium.sites["site-00"].handle("secure.keys", asked)
    assert caught.value.code == "MALFORMED"


MALFORMED = [
    None,
    [],
    {},
    {"other": 1},
    lambda reply: {**reply, "rows": np.ones((5, 4))},
    lambda reply: dict.fromkeys(reply),
    lambda reply: {name: _longer(value) for name, value in reply.items()},
]


def _longer(value: Any) -> Any:
    if isinstance(value, bytes):
        return value + b"."
    if isinstance(value, int):
        return value
    if isinstance(value, np.ndarray):
        return np.concatenate([value, value])
    if isinstance(value, list):
        return [*value, 1]
    return {site: own + b"." for site, own in value.items()}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("reply", MALFORMED)
def test_a_site_whose_reply_is_malformed_is_lost(stage: str, reply: Any) -> None:
    consortium = Consortium(make_rows(5, n_features=2), threshold=4)
    inner = consortium.transport

    def exchange(name: str, payloads: Any, timeout: float) -> Any:
        replies, failures = inner(name, payloads, timeout)
        if name == f"secure.{stage}":
            own = replies["site-01"]
            replies["site-01"] = reply(own) if callable(reply) else reply
        return replies, failures

    add = SecureSum(exchange, consortium.study)
    add.agree()
    found = add.add("moments", {}, consortium.n_values)
    assert add.failures == {"site-01": "MALFORMED"}
    assert ("site-01" in add.survivors) == (stage in ("confirm", "unmask"))
    np.testing.assert_allclose(found, consortium.expected(add.survivors), atol=1e-9)


def test_a_reply_from_a_site_that_was_not_asked_is_not_read() -> None:
    consortium = Consortium(make_rows(4), threshold=3)
    inner = consortium.transport

    def exchange(name: str, payloads: Any, timeout: float) -> Any:
        replies, failures = inner(name, payloads, timeout)
        return {**replies, "site-99": next(iter(replies.values()))}, failures

    add = SecureSum(exchange, consortium.study)
    assert set(add.agree()) == set(consortium.rows)
    add.add("moments", {}, consortium.n_values)
    assert set(add.survivors) == set(consortium.rows)
    assert add.failures == {}


def test_rows_do_not_show_when_printed() -> None:
    site = Consortium(make_rows(3)).sites["site-00"]
    assert "0." not in repr(site._rows)


@pytest.mark.parametrize("fractions", [(0.3, 0.31), (0.3, 0.5)])
def test_parts_of_other_sizes_are_drawn_anew(fractions: tuple[float, float]) -> None:
    rows = MemoryRows(*make_rows(1, n_rows=100)["site-00"], np.random.default_rng(0))
    masks = [rows.hold_out(Terms(4, validation_fraction=f)) for f in fractions]
    assert (masks[0] & ~masks[1]).sum() > 10
    np.testing.assert_array_equal(
        masks[0], rows.hold_out(Terms(4, validation_fraction=fractions[0]))
    )
