"""Mutated questions of whole studies, to sites that differ in nothing but their rows.

What a coordinator learns from the answer to a question must not depend on rows, before
other sites have shared their secrets.
"""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.attacks.test_fuzz import A_STAGE, CODES, VICTIM, Fuzzer
from tests.protocols.test_second_stage import drawn

from fedsdr.disclosure import Ledger
from fedsdr.estimators.masked_sites import join_under_masks
from fedsdr.exceptions import Refusal
from fedsdr.method import Method
from fedsdr.protocols.secure import SecureSite
from fedsdr.protocols.wire import encode
from fedsdr.rows import MemoryRows, OwnSites
from fedsdr.run import run
from fedsdr.study.later_stages import later_stages
from fedsdr.terms import AgreedModel, Terms, Variables

STUDIES = {
    "default": Method(),
    "scores": Method(scores="normal"),
    "columns": Method(dense_limit=4),
    "tested": Method(select="tested"),
    "fdr": Method(select="fdr(splits=2)"),
    "pictures": Method(),
    "model": Method(refit="pooled"),
}
#: Fewest rows of a cell in pictures.
PICTURED = {"pictures": 10}
#: What sites agreed on about a model.
MODELLED = {"model": AgreedModel("linear", "intercepts", 10)}


def terms_of(kind: str, sites: OwnSites) -> Terms:
    terms = STUDIES[kind].terms(sites.variables)
    modelled = {"model": MODELLED[kind], "max_steps": 20} if kind in MODELLED else {}
    return replace(terms, picture_rows=PICTURED.get(kind, 0), **modelled)


def questions_of(kind: str, sites: OwnSites) -> dict[str, list[dict[str, Any]]]:
    """Run a study, and collect what its coordinator asks for, by statistic."""
    found: dict[str, list[dict[str, Any]]] = {}
    terms = terms_of(kind, sites)
    add, transport = join_under_masks(sites, terms)
    inner = add.exchange

    def exchange(name: str, payloads: Any, timeout: float) -> Any:
        if name == "secure.keys":
            one = next(iter(payloads.values()))
            found.setdefault(one["statistic"], []).append(one)
        return inner(name, payloads, timeout)

    del transport
    add.exchange = exchange
    run(add, STUDIES[kind], afterwards=later_stages(terms, STUDIES[kind]))
    assert ("pictures" in found) == (kind in PICTURED)
    assert ("newton" in found) == (kind in MODELLED)
    return found


def code_of(site: SecureSite, message: Any) -> str:
    """Return what a coordinator learns from an answer to a question."""
    try:
        site.handle("secure.keys", message)
    except Refusal as refusal:
        return refusal.code
    return "answered"


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", STUDIES)
def test_mutated_questions_are_read_alike_whatever_the_rows_are(kind: str) -> None:
    """Two sites of one study, with the same rows and with others: the same codes."""
    draw = random.Random(20261118)
    rows = drawn([80, 90, 100], 0.3, shift=1.5)
    asked = questions_of(kind, own_sites(rows))
    assert len(asked) >= 3
    sites = {name: (1e3 * X[::-1] ** 3, y[::-1]) for name, (X, y) in rows.items()}
    twins = [agreed_site(kind, one) for one in (rows, sites)]
    fuzzer = Fuzzer(Ledger())
    fuzzer.draw = draw
    codes: dict[str, int] = {}
    for messages in asked.values():
        for _ in range(A_STAGE // len(asked)):
            original = draw.choice(messages)
            message = fuzzer.mutated(encode(original), original)
            if message is None:
                continue
            first, second = (code_of(site, message) for site in twins)
            assert first == second
            codes[first] = codes.get(first, 0) + 1
    assert set(codes) <= CODES | {"answered"}
    assert codes["MALFORMED"] > A_STAGE // 4


def own_sites(rows: Any) -> OwnSites:
    held = {
        name: MemoryRows(X, y, np.random.default_rng(3), name)
        for name, (X, y) in rows.items()
    }
    return OwnSites(held, Variables(tuple(f"x{j}" for j in range(6)), discrete=False))


def agreed_site(kind: str, rows: Any) -> SecureSite:
    """Return one site of a study that has agreed to it."""
    sites = own_sites(rows)
    add, transport = join_under_masks(sites, terms_of(kind, sites))
    del add
    found: Any = transport.parties[VICTIM]
    return found
