"""Sites without one of their defences, on which an attack must succeed.

Each function takes one defence away, for the duration of a test. What is left is how
the site behaved before it had the defence.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedsdr.disclosure import Facts, Release, differencing, facts
from fedsdr.disclosure.chain import Entry
from fedsdr.protocols import wire
from fedsdr.protocols.exchange import Payload
from fedsdr.protocols.secure import SecureSite
from fedsdr.questions import Outcomes, SplitTestsOf, reading
from fedsdr.rows import Rows, dealt_rows
from fedsdr.rows.half_samples import deal_halves
from fedsdr.study import site_data
from fedsdr.summaries.cross_fit import HalfTest
from fedsdr.terms import Terms


def trust_values(patch: pytest.MonkeyPatch) -> None:
    """Let sites compute with whatever value the coordinator sends."""
    patch.setattr(Outcomes, "settle", lambda self, question: question)


def compute_first(patch: pytest.MonkeyPatch) -> None:
    """Let sites compute before they look at stage, boxes, rules and ledger."""
    trust_values(patch)
    after = SecureSite._mask

    def mask(self: SecureSite, payload: Payload) -> Payload:
        question = self._going(payload).question
        self._addable(question, question.compute(self._rows))
        return after(self, payload)

    patch.setattr(SecureSite, "_mask", mask)


def look_up_first(patch: pytest.MonkeyPatch) -> None:
    """Let sites ask their ledger about any set of sites that is named to them."""
    after = SecureSite._mask

    def mask(self: SecureSite, payload: Payload) -> Payload:
        going = self._going(payload)
        sites = tuple({*payload["boxes"], self.name})
        self._gate.permit(replace(going.release, sites=sites))
        return after(self, payload)

    patch.setattr(SecureSite, "_mask", mask)


def compare_features(patch: pytest.MonkeyPatch) -> None:
    """Let ledgers compare features, by their names and by their values."""

    def related(
        entries: Iterable[Entry], about: Facts, release: Release
    ) -> list[Entry]:
        prints = set(about.prints.values()) - {""}
        return [
            entry
            for entry in entries
            if entry.statistic == release.statistic
            and (
                entry.subject == release.subject
                or not set(entry.columns).isdisjoint(about.prints)
                or not prints.isdisjoint(entry.columns.values())
            )
        ]

    patch.setattr(differencing, "related_entries", related)
    patch.setattr(site_data.OriginReader, "origin", lambda self: None)


def count_no_gaps(patch: pytest.MonkeyPatch) -> None:
    """Let a column with one value and many gaps count as a constant one."""
    patch.setattr(facts, "_gap_counts", lambda *_: {})


def count_no_nodes(patch: pytest.MonkeyPatch) -> None:
    """Read messages without counting their values first."""
    patch.setattr(wire, "_check_nodes", lambda packed: None)


def believe_results(patch: pytest.MonkeyPatch) -> None:
    """Let sites take any result for that of the sums which they have signed."""

    def publish(self: SecureSite, payload: Payload) -> Payload:
        self.took_part = True
        self.result = payload
        return {}

    patch.setattr(SecureSite, "_publish", publish)


def count_halves_only(patch: pytest.MonkeyPatch) -> None:
    """Let rules look at halves, and not at what follows from several of them."""
    patch.setattr(dealt_rows, "deal_smallest", deal_halves)


def new_halves(patch: pytest.MonkeyPatch) -> None:
    """Let every study have halves of its own."""
    patch.setattr(Rows, "keep_halves", lambda self, seed: None)


def read_any_test(patch: pytest.MonkeyPatch) -> None:
    """Let sites take tests as they are sent."""

    def read(rest: Any, terms: Terms) -> SplitTestsOf:
        tests = tuple(HalfTest(**one) for one in rest["tests"])
        return SplitTestsOf(terms, rest["tested"], rest["tested_scale"], tests)

    patch.setattr(reading, "read_split_tests", read)


def answer_again(patch: pytest.MonkeyPatch) -> None:
    """Let a study ask any number of questions of a kind."""
    patch.setattr(Terms, "n_questions", lambda *_: 99)


def count_joined_apart(patch: pytest.MonkeyPatch) -> None:
    """Let a sum that holds two others count as neither of them."""
    patch.setattr(differencing, "JOINED", {})


def zeros_for_too_large(patch: pytest.MonkeyPatch) -> None:
    """Let sites add zeros where their numbers are too large."""
    compute = SplitTestsOf.compute

    def finite(self: SplitTestsOf, rows: Rows) -> Any:
        found = self.pack(compute(self, rows))
        return np.where((np.abs(found) < 1e14).all(), found, 0.0) / self._units()

    patch.setattr(SplitTestsOf, "compute", finite)


def nothing(patch: pytest.MonkeyPatch) -> None:
    """Leave every defence as it is."""
    del patch


def codes_of(errors: dict[str, Any]) -> set[str]:
    """Return the codes of all errors at sites."""
    return {error.code for error in errors.values()}
