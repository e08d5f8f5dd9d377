"""Differencing: two sums that differ by one site, or by one row."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.protocols.studies import Consortium, Rows, make_rows

from fedsdr.disclosure import Ledger, OpenGate, Policy, ReleaseGate
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.secure import SecureSum

VICTIM = "site-04"
POLICY = Policy(min_rows=20)

MakeGate = Callable[[str], Any]


def open_gates(folder: Path) -> MakeGate:
    """Return gates of sites without a ledger."""
    return lambda name: OpenGate()


def rule_gates(folder: Path) -> MakeGate:
    """Return gates with rules and a ledger on disk."""
    return lambda name: ReleaseGate(POLICY, Ledger(folder / f"{name}.ledger"))


def moments(consortium: Consortium) -> np.ndarray:
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    return add.add("moments", {}, consortium.n_values)


def drop_out(gates: MakeGate) -> tuple[np.ndarray, np.ndarray]:
    """Request a sum twice, and claim the second time that the victim was lost."""
    silenced: set[str] = set()

    def fault(name: str, site: str, packed: bytes) -> bytes | None:
        return None if site in silenced else packed

    consortium = Consortium(make_rows(5), gate=gates, fault=fault)
    first = moments(consortium)
    silenced.add(VICTIM)
    return first - moments(consortium), consortium.expected([VICTIM])


def drop_out_late(gates: MakeGate) -> tuple[np.ndarray, np.ndarray]:
    """Claim that the victim was lost after it has shared its secrets."""
    silenced: set[str] = set()

    def fault(name: str, site: str, packed: bytes) -> bytes | None:
        late = name in ("secure.masked", "secure.confirm", "secure.unmask")
        return None if late and site in silenced else packed

    consortium = Consortium(make_rows(5), gate=gates, fault=fault)
    first = moments(consortium)
    silenced.add(VICTIM)
    return first - moments(consortium), consortium.expected([VICTIM])


def another_study(gates: MakeGate) -> tuple[np.ndarray, np.ndarray]:
    """Run two studies: with all sites, then with all but the victim."""
    rows = make_rows(5)
    # The same sites, with the same ledgers, in both.
    kept: dict[str, Any] = {}

    def gate(name: str) -> Any:
        return kept.setdefault(name, gates(name))

    everyone = Consortium(rows, gate=gate)
    first = moments(everyone)
    fewer = Consortium({n: r for n, r in rows.items() if n != VICTIM}, gate=gate)
    return first - moments(fewer), everyone.expected([VICTIM])


def resubmission(gates: MakeGate) -> tuple[np.ndarray, np.ndarray]:
    """Request the same sum again after the victim has added a row."""
    rows: Rows = make_rows(5)
    kept: dict[str, Any] = {}

    def gate(name: str) -> Any:
        return kept.setdefault(name, gates(name))

    before = Consortium(rows, gate=gate)
    first = moments(before)
    X, y = rows[VICTIM]
    rows[VICTIM] = (np.vstack([X, np.full(4, 2.0)]), np.append(y, 3.0))
    after = Consortium(rows, gate=gate)
    change = after.expected([VICTIM]) - Consortium(make_rows(5)).expected([VICTIM])
    return moments(after) - first, change


def renamed_columns(gates: MakeGate) -> tuple[np.ndarray, np.ndarray]:
    """Run two studies, the second with other names for columns and response."""
    rows = make_rows(5)
    kept: dict[str, Any] = {}

    def gate(name: str) -> Any:
        return kept.setdefault(name, gates(name))

    everyone = Consortium(rows, gate=gate)
    first = moments(everyone)
    rest = {n: r for n, r in rows.items() if n != VICTIM}
    fewer = Consortium(rest, gate=gate, prefix="z", target="w")
    return first - moments(fewer), everyone.expected([VICTIM])


def two_studies_at_once(gates: MakeGate) -> tuple[np.ndarray, np.ndarray]:
    """Agree on a study of other columns in between, to confuse the ledger."""
    rows = make_rows(5)
    kept: dict[str, Any] = {}

    def gate(name: str) -> Any:
        return kept.setdefault(name, gates(name))

    everyone = Consortium(rows, gate=gate)
    others = {n: (X + 1.0, y) for n, (X, y) in rows.items()}
    decoy = Consortium(others, gate=gate, prefix="h")
    add = SecureSum(everyone.transport, everyone.study)
    add.agree()
    SecureSum(decoy.transport, decoy.study).agree()
    first = add.add("moments", {}, everyone.n_values)
    rest = {n: r for n, r in rows.items() if n != VICTIM}
    fewer = Consortium(rest, gate=gate, max_candidates=7)
    return first - moments(fewer), everyone.expected([VICTIM])


@pytest.mark.parametrize(
    "attack",
    [
        drop_out,
        drop_out_late,
        another_study,
        resubmission,
        renamed_columns,
        two_studies_at_once,
    ],
)
def test_differencing(
    attack: Callable[[MakeGate], tuple[np.ndarray, np.ndarray]], tmp_path: Path
) -> None:
    found, truth = attack(open_gates(tmp_path))
    np.testing.assert_allclose(found, truth, rtol=0, atol=1e-9)
    with pytest.raises(IncompleteError, match="disclosure rule"):
        attack(rule_gates(tmp_path))


def test_asking_again_for_the_same_is_allowed(tmp_path: Path) -> None:
    consortium = Consortium(make_rows(5), gate=rule_gates(tmp_path))
    np.testing.assert_array_equal(moments(consortium), moments(consortium))
    ledger = Ledger(tmp_path / "site-00.ledger")
    assert ledger.verify().n_entries == 4
    assert [entry.stage for entry in ledger.entries()] == 2 * ["offered", "released"]


def test_ever_new_candidates_are_refused(tmp_path: Path) -> None:
    consortium = Consortium(
        make_rows(5, n_rows=100),
        gate=rule_gates(tmp_path),
        validation_fraction=0.3,
        max_candidates=1,
    )
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    bases = np.eye(4)
    add.add("errors", {"bases": [bases[:, :1]]}, 1)
    with pytest.raises(IncompleteError, match="disclosure rule"):
        add.add("errors", {"bases": [bases[:, 1:2]]}, 1)
    told = str(consortium.transport.errors["site-00"])
    assert "QUESTIONS" in told


def test_a_site_with_too_few_rows_refuses_before_anything_leaves(
    tmp_path: Path,
) -> None:
    rows = make_rows(3, n_rows=25)
    rows["site-00"] = tuple(part[:10] for part in rows["site-00"])
    consortium = Consortium(rows, gate=rule_gates(tmp_path))
    with pytest.raises(IncompleteError, match="disclosure rule"):
        moments(consortium)
    names = {m.name for m in consortium.transport.transcript.messages}
    assert names == {"secure.agree"}
    assert "ROWS" in str(consortium.transport.errors["site-00"])


@pytest.mark.parametrize("damage", ["nan", "columns", "names"])
def test_rows_that_do_not_fit_are_refused_before_anything_leaves(
    damage: str, tmp_path: Path
) -> None:
    rows = make_rows(3)
    X, y = rows["site-00"]
    if damage == "nan":
        X = X.copy()
        X[3, 1] = np.nan
    elif damage == "columns":
        X = X[:, :3]
    consortium = Consortium(make_rows(3), gate=rule_gates(tmp_path))
    consortium.rows["site-00"] = (X, y)
    consortium.transport.parties["site-00"] = consortium.site("site-00")
    if damage == "names":
        own = consortium.transport.parties["site-00"]._rows
        own.columns = ("x0", "x2", "x1", "x3")
    with pytest.raises(IncompleteError, match="own data cannot be used"):
        moments(consortium)
    assert {m.name for m in consortium.transport.transcript.messages} == {
        "secure.agree"
    }
