"""What studies with noise cost a site, and when it has spent enough."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from tests.disclosure.examples import facts, release, write

from fedsdr import InputError
from fedsdr.disclosure import Ledger, LedgerError, Policy, ReleaseGate, void_round
from fedsdr.disclosure.chain import read_chain
from fedsdr.disclosure.privacy_budget import spent
from fedsdr.disclosure.releases import VAIN
from fedsdr.exceptions import Refusal

COST = (1.0, 1e-6)
OTHER = "77" * 32


def offer(ledger: Ledger, **changes: Any) -> None:
    one = release(**{"spends": COST, "round": "r", **changes})
    ledger.append(one, "f0", stage="offered", columns=facts().prints)


def broken(ledger: Ledger, policy: Policy, **changes: Any) -> list[str]:
    asked = release(**{"spends": COST, "round": "r", **changes})
    found = ReleaseGate(policy, ledger).review(asked, facts())
    return [one.rule for one in found]


def test_costs_of_rounds_are_added() -> None:
    ledger = Ledger()
    assert spent(ledger.entries()) == (0.0, 0.0)
    offer(ledger)
    ledger.append(release(spends=COST, round="r"), "f0", stage="released")
    assert spent(ledger.entries()) == (1.0, 1e-6)
    offer(ledger, study=OTHER, spends=(0.5, 1e-7))
    assert spent(ledger.entries()) == (1.5, pytest.approx(1.1e-6))
    write(ledger, 2)
    assert spent(ledger.entries())[0] == 1.5


def test_what_was_refused_or_failed_costs_nothing_and_is_no_answer() -> None:
    ledger = Ledger()
    for stage in VAIN:
        ledger.append(release(spends=COST, round="r"), "f0", stage=stage)
    assert spent(ledger.entries()) == (0.0, 0.0)
    assert broken(ledger, Policy(yearly_epsilon=1.0), round="another") == []
    offer(ledger)
    assert "QUESTIONS" in broken(ledger, Policy(), round="another")


def test_a_voided_round_has_cost_its_price_and_was_an_answer() -> None:
    """Its noise has left: another answer would be a second one."""
    ledger = Ledger()
    offer(ledger)
    void_round(ledger, "r")
    assert spent(ledger.entries()) == COST
    assert "QUESTIONS" in broken(ledger, Policy(), round="another")
    policy = Policy(yearly_epsilon=1.5)
    assert "BUDGET" in broken(ledger, policy, study=OTHER, round="another")


def test_what_is_older_than_a_year_is_not_added() -> None:
    ledger = Ledger()
    offer(ledger)
    now = datetime.now(UTC)
    assert spent(ledger.entries(), now + timedelta(days=364))[0] == 1.0
    assert spent(ledger.entries(), now + timedelta(days=366))[0] == 0.0


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, []),
        ({"yearly_epsilon": 2.0}, []),
        ({"yearly_epsilon": 1.99}, ["BUDGET"]),
        ({"yearly_delta": 2e-6}, []),
        ({"yearly_delta": 1.9e-6}, ["BUDGET"]),
        ({"yearly_epsilon": 2.0, "yearly_delta": 1e-6}, ["BUDGET"]),
    ],
)
def test_the_budget_of_a_year(policy: dict[str, float], expected: list[str]) -> None:
    ledger = Ledger()
    offer(ledger, study=OTHER)
    assert broken(ledger, Policy(**policy)) == expected


def test_the_release_of_an_offer_costs_nothing_more() -> None:
    ledger, policy = Ledger(), Policy(yearly_epsilon=1.0)
    offer(ledger)
    assert broken(ledger, policy) == []
    assert broken(ledger, policy, study=OTHER) == ["BUDGET"]


def test_a_tenth_ten_times_is_one() -> None:
    ledger, policy = Ledger(), Policy(yearly_epsilon=1.0)
    for number in range(9):
        offer(ledger, study=f"{number}{number}" * 32, spends=(0.1, 1e-6))
    assert broken(ledger, policy, spends=(0.1, 1e-6)) == []
    assert broken(ledger, policy, spends=(0.101, 1e-6)) == ["BUDGET"]


def test_sums_without_noise_have_no_place_in_a_budget() -> None:
    policy = Policy(yearly_epsilon=100.0)
    gate = ReleaseGate(policy)
    gate.inspect(release(), lambda own: facts())
    with pytest.raises(Refusal, match=r"BUDGET.*\n?.*adds no noise"):
        gate.permit(release())
    assert broken(Ledger(), Policy(), spends=None) == []


def test_a_study_has_one_noisy_answer() -> None:
    """Also without a budget: the average of many answers would have no noise."""
    gate = ReleaseGate(Policy())
    asked = release(spends=COST, round="first")
    gate.inspect(asked, lambda own: facts())
    values = np.zeros(asked.n_values)
    gate.permit(asked)
    gate.record(asked, values, "offered")
    gate.record(asked, values + 1.0, "released")
    with pytest.raises(Refusal, match=r"QUESTIONS.*\n?.*has had its answer"):
        gate.permit(release(spends=COST, round="second"))
    with pytest.raises(Refusal, match="QUESTIONS"):
        gate.record(release(spends=COST, round="second"), values, "offered")
    # Sums without noise are the same when they are asked for again.
    plain = ReleaseGate(Policy())
    plain.inspect(release(), lambda own: facts())
    for name in ("first", "second"):
        plain.record(release(round=name), values, "offered")


def test_costs_are_in_the_ledger_and_only_there() -> None:
    ledger = Ledger()
    offer(ledger)
    write(ledger, 1)
    private, plain = ledger.entries()
    assert private.spends == COST
    assert b'"spends":[1.0,1e-06]' in private.to_line()
    assert plain.spends is None
    assert b"spends" not in plain.to_line()
    ledger.verify()


@pytest.mark.parametrize("value", ["[1.0]", "[1, 2]", "null", '"1"', "[-1.0,1.0]"])
def test_a_cost_that_nobody_wrote_is_noticed(tmp_path: Any, value: str) -> None:
    ledger = Ledger()
    offer(ledger)
    line = ledger.entries()[0].to_line()
    changed = line.replace(b"[1.0,1e-06]", value.encode())
    with pytest.raises(LedgerError, match=r"not an entry|changed"):
        read_chain(changed)


@pytest.mark.parametrize("value", [0, -1.0, "much", True, float("nan")])
def test_a_budget_is_a_positive_number(value: Any) -> None:
    with pytest.raises(InputError, match="yearly_epsilon must be a positive number"):
        Policy(yearly_epsilon=value)


def test_a_budget_in_a_file() -> None:
    table = {"yearly_epsilon": 4, "yearly_delta": "unlimited"}
    policy = Policy.from_mapping(table)
    assert (policy.yearly_epsilon, policy.yearly_delta) == (4, None)
