"""Protocols send exactly the messages that their schemas list."""

from typing import Any

import numpy as np
import pytest
from tests.protocols.studies import Consortium, make_rows
from tools.messages_page import MESSAGES

from fedsdr import HoldOut, PaperFedSSIR
from fedsdr.peers.fed_svd import SvdTerms
from fedsdr.peers.fed_svd.svd_run import masked_svd
from fedsdr.peers.paper import paper_run as paper_runs
from fedsdr.protocols.secure import SecureSum
from fedsdr.questions import ColumnPowers, ProfileOf, SpreadOf
from fedsdr.simulate import make_setting
from fedsdr.summaries.profile import Common, PooledCovariance
from fedsdr.transports import Transcript

ASKERS = ("coordinator", "authority", "server")


@pytest.fixture(scope="module", name="data")
def small_study() -> Any:
    """Three sites, six variables."""
    return make_setting(1, n_sites=3, n_per_site=60, n_features=6, random_state=0)


def met(transcript: Transcript) -> set[tuple[str, str]]:
    """Check every message, and return their names."""
    found: set[tuple[str, str]] = set()
    for message in transcript.messages:
        direction = "request" if message.sender in ASKERS else "reply"
        MESSAGES.check(message.name, direction, message.payload)
        spec = MESSAGES.message(message.name, direction)
        asker = message.sender if direction == "request" else message.receiver
        assert asker == (spec.sender if direction == "request" else spec.receiver)
        found.add((message.name, direction))
    return found


def listed(protocol: str) -> set[tuple[str, str]]:
    return {(s.name, s.direction) for s in MESSAGES if s.protocol == protocol}


def test_the_secure_sum() -> None:
    lost = ("secure.masked", "site-04")

    def fault(name: str, site: str, packed: bytes) -> bytes | None:
        return None if (name, site) == lost else packed

    agreed = {"validation_fraction": 0.3, "max_candidates": 2, "max_profiles": 1}
    group = Consortium(make_rows(5), fault=fault, **agreed)
    add = SecureSum(group.transport, group.study)
    add.agree()
    add(ColumnPowers(group.study.terms))
    add.add("moments", {}, group.n_values)
    bases = [np.eye(4)[:, :1], np.eye(4)[:, :2]]
    add.add("errors", {"bases": bases}, len(bases))
    columns, scale, sigma = np.array([0, 2]), np.ones(2), np.eye(2)
    add(SpreadOf(group.study.terms, columns, scale, sigma))
    common, target = Common(0.5, np.zeros((2, 12)), 120), PooledCovariance(0.5, sigma)
    basis = np.eye(2)
    add(ProfileOf(group.study.terms, columns, scale, basis, common, target))
    add.publish(
        {
            "directions": bases[0],
            "support": np.array([True, False, False, False]),
            "eigenvalues": np.array([0.5]),
            "n_rows": 120,
            "n_sites": 4,
            "penalty": 0.1,
            "objective": -1.0,
            "dual_bound": -1.0,
            "gap": 0.0,
            "converged": True,
            "scale": np.ones(4),
        }
    )
    # No site had a reason to complain.
    disputes = {("secure.dispute", "request"), ("secure.dispute", "reply")}
    assert met(group.transport.transcript) == listed("secure") - disputes


def test_the_papers_protocol(data, monkeypatch) -> None:
    transcript = Transcript()
    monkeypatch.setattr(paper_runs, "Transcript", lambda **_: transcript)
    model = PaperFedSSIR(penalty=HoldOut(penalties=2), tol=0.1, random_state=0)
    model.fit(data.X, data.y, sites=data.sites)
    assert met(transcript) == listed("paper")


@pytest.mark.parametrize(
    ("terms", "missing"),
    [
        (SvdTerms(n_components=2, recover_rows=True), set()),
        (SvdTerms(center="site"), {"fedsvd.cover", "fedsvd.rows"}),
        (SvdTerms(center=False, recover_rows=True), {"fedsvd.share", "fedsvd.mean"}),
    ],
)
def test_fedsvd(data, terms, missing) -> None:
    transcript = Transcript()
    rows = {name: data.X[data.sites == label] for name, label in [("a", 0), ("b", 1)]}
    masked_svd(rows, terms, block_size=4, transcript=transcript)
    expected = {pair for pair in listed("fedsvd") if pair[0] not in missing}
    assert met(transcript) == expected
