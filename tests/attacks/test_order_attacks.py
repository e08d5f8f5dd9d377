"""A coordinator who asks in the wrong order, or with values of its own choice."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.attacks import weakened
from tests.protocols.studies import Consortium, Rows, make_rows

from fedsdr.disclosure import Ledger, Policy, ReleaseGate
from fedsdr.exceptions import Refusal, fixed_code
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.secure import SecureSum
from fedsdr.protocols.wire import decode, encode
from fedsdr.questions import (
    ColumnPowers,
    GapTotals,
    MomentsOf,
    Outcomes,
    RowSettings,
    fills_from,
)
from fedsdr.secure_sum.parcels import Parcel
from fedsdr.terms import Terms

Weaken = Callable[[pytest.MonkeyPatch], None]

VICTIM = "site-01"
GAPPY = 2
#: One row with a gap is allowed here: what protects it are not the rules about levels.
LAX = Policy(min_rows=20, min_level_rows=1, max_row_share=None)


def gaps_in(rows: Rows, n_gaps: int) -> Rows:
    """Take values of one column away from the victim."""
    X, y = rows[VICTIM]
    X = X.copy()
    X[3 : 3 + n_gaps, GAPPY] = np.nan
    return {**rows, VICTIM: (X, y)}


def gappy(folder: Path, n_gaps: int = 1, **options: Any) -> Consortium:
    def gate(name: str) -> ReleaseGate:
        return ReleaseGate(LAX, Ledger(folder / f"{name}.ledger"))

    rows = gaps_in(make_rows(4), n_gaps)
    return Consortium(rows, gate=gate, imputed=(f"x{GAPPY}",), **options)


def agreed_sum(group: Consortium) -> SecureSum:
    add = SecureSum(group.transport, group.study)
    add.agree()
    return add


def filled(group: Consortium, value: float) -> MomentsOf:
    settings = RowSettings(None, (GAPPY,), np.array([value]))
    return MomentsOf(group.study.terms, settings)


# --- one site alone, asked again and again --------------------------------------------


class Interrogator:
    """Asks one site, without any other site, whether sums overflow at a fill value."""

    def __init__(self, group: Consortium) -> None:
        self.group, self.site = group, group.sites[VICTIM]
        self.site.handle("secure.agree", {"study": group.study.digest})
        self.codes: list[str] = []

    def overflows(self, value: float) -> bool:
        """Ask for moments, and read the code of the refusal."""
        question = filled(self.group, value)
        name = {"round": f"round {len(self.codes)}"}
        asked = {**name, "statistic": question.name, "request": question.request()}
        try:
            self.site.handle("secure.keys", asked)
            self.site.handle("secure.masked", {**name, "boxes": {}})
        except Exception as error:
            self.codes.append(fixed_code(error))
        return self.codes[-1] == "INPUT"

    def threshold(self, sign: float) -> float:
        """Find the fill value from which sums overflow, by halving intervals."""
        low, high = 0.0, 1e18
        for _ in range(70):
            middle = (low + high) / 2
            over = self.overflows(sign * middle)
            low, high = (low, middle) if over else (middle, high)
        return sign * high


def interrogate(folder: Path) -> tuple[Interrogator, float, float]:
    ask = Interrogator(gappy(folder, n_gaps=4))
    ends = ask.threshold(1.0), ask.threshold(-1.0)
    limit = ask.group.study.ring.limit(4)
    return ask, sum(ends) / 2, limit / (ends[0] - sum(ends) / 2) ** 2


def test_overflow_tells_mean_and_gaps_of_a_site_that_computes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weakened.compute_first(monkeypatch)
    ask, mean, weight = interrogate(tmp_path)
    values = ask.group.rows[VICTIM][0][:, GAPPY]
    known = values[~np.isnan(values)]
    # The scatter is that of the values plus g (n - g) / n times the squared distance of
    # the fill value from their mean, for g gaps in n rows.
    n, g = values.size, values.size - known.size
    assert mean == pytest.approx(known.mean(), rel=1e-2)
    assert weight == pytest.approx(g * (n - g) / n, rel=1e-6)
    assert set(ask.codes) == {"INPUT", "ORDER"}
    assert Ledger(tmp_path / f"{VICTIM}.ledger").entries() == ()


def test_a_site_gives_one_code_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, _, _ = interrogate(tmp_path)
    assert set(ask.codes) == {"ORDER"}
    # Also if it used any value: a round without boxes comes to nothing.
    weakened.trust_values(monkeypatch)
    ask, _, _ = interrogate(tmp_path / "..")
    assert set(ask.codes) == {"ORDER"}


def test_failures_have_one_code_and_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With boxes of all sites, at whatever step the rows do not allow a sum."""
    group = gappy(tmp_path)
    for error in (ValueError("x"), ZeroDivisionError(), MemoryError(), KeyError("y")):

        def fail(self: Any, rows: Any, error: Exception = error) -> Any:
            raise error

        monkeypatch.setattr(GapTotals, "compute", fail)
        for _ in range(3):
            with pytest.raises(IncompleteError):
                agreed_sum(group)(GapTotals((GAPPY,)))
            codes = {fixed_code(one) for one in group.transport.errors.values()}
            assert codes <= {"INPUT", "DISCLOSURE"}
            assert len(codes) == 1
            if codes == {"DISCLOSURE"}:
                break
    entries = Ledger(tmp_path / f"{VICTIM}.ledger").entries()
    assert [entry.stage for entry in entries] == ["failed"] * LAX.max_failures


# --- a value in place of a gap --------------------------------------------------------


def record_of_gap(group: Consortium, value: float) -> np.ndarray:
    """Ask for moments with a fill value that makes one row dominate them."""
    add = agreed_sum(group)
    add(GapTotals((GAPPY,)))
    total = add(filled(group, value)).parts["total"]
    return np.asarray(total.scatter[GAPPY] / value)


def test_a_fill_value_of_its_own_shows_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weakened.trust_values(monkeypatch)
    group = gappy(tmp_path)
    found = record_of_gap(group, 1e6)
    X, _ = group.rows[VICTIM]
    others = [j for j in range(X.shape[1]) if j != GAPPY]
    truth = (X[3] - X.mean(axis=0))[others]
    np.testing.assert_allclose(found[others], truth, atol=1e-3)
    # And the ledger looks as after any study.
    stages = [e.stage for e in Ledger(tmp_path / f"{VICTIM}.ledger").entries()]
    assert stages == ["offered", "released", "opened", "offered", "released"]


@pytest.mark.parametrize("value", [1e6, 1.0, 0.0])
def test_a_fill_value_follows_from_sums_that_sites_have_opened(
    tmp_path: Path, value: float
) -> None:
    group = gappy(tmp_path)
    with pytest.raises(IncompleteError, match="value does not fit"):
        record_of_gap(group, value)
    assert weakened.codes_of(group.transport.errors) == {"TAMPERED"}
    # The mean itself is used, and the study goes on.
    add = agreed_sum(group)
    (mean,) = fills_from(add(GapTotals((GAPPY,))))
    pooled = np.concatenate([X[:, GAPPY] for X, _ in group.rows.values()])
    assert mean == pytest.approx(np.nanmean(pooled))
    assert add(filled(group, mean)).parts["total"].n_sites == 4


def shift_opened(name: str, site: str, packed: bytes) -> bytes:
    """Change one masked number of a finished round, on its way to a site."""
    if name != "secure.opened":
        return packed
    message = decode(packed)
    masked = {one: own.copy() for one, own in message["masked"].items()}
    masked["site-00"][-1, 0] += np.uint64(1)
    return encode({**message, "masked": masked})


def test_a_finished_round_cannot_be_changed(tmp_path: Path) -> None:
    group = gappy(tmp_path, fault=shift_opened)
    add = agreed_sum(group)
    (mean,) = fills_from(add(GapTotals((GAPPY,))))
    assert weakened.codes_of(group.transport.errors) == {"TAMPERED"}
    with pytest.raises(IncompleteError, match="out of order"):
        add(filled(group, mean))


def test_a_mean_outside_of_its_range_is_refused(tmp_path: Path) -> None:
    """A site that works with the coordinator can move the mean, but not far."""
    rows = gaps_in(make_rows(4), 1)
    X, y = rows["site-00"]
    lying = X.copy()
    lying[:, GAPPY] += 1e6
    group = Consortium({**rows, "site-00": (lying, y)}, imputed=(f"x{GAPPY}",))
    ranges = tuple((-10.0, 10.0) for _ in group.study.columns)
    group.study = replace(group.study, ranges=ranges)
    group.sites = {name: group.site(name) for name in group.rows}
    group.transport.parties = group.sites
    add = agreed_sum(group)
    (mean,) = fills_from(add(GapTotals((GAPPY,))))
    assert mean > 10.0
    assert weakened.codes_of(group.transport.errors) == {"TAMPERED"}


def test_sums_in_other_units_are_not_mixed() -> None:
    """The mean of a column as it is held, in a column that was divided."""
    powers = np.array([3, 0])
    opened = Outcomes((0,))
    known = opened.with_sum(GapTotals((0,)), np.array([2.0, 10.0]))
    plain = MomentsOf(Terms(2), RowSettings(None, (0,), np.array([5.0])))
    known.settle(plain)
    rescaled = MomentsOf(Terms(2), RowSettings(powers, (0,), np.array([5.0])))
    with pytest.raises(Refusal) as caught:
        known.settle(rescaled)
    assert caught.value.code == "ORDER"
    more = known.with_sum(ColumnPowers(Terms(2)), np.array([6.0, 0.0, 2.0, 2.0]))
    with pytest.raises(Refusal) as caught:
        more.settle(rescaled)
    assert caught.value.code == "TAMPERED"


# --- codes as an oracle ---------------------------------------------------------------


def codes_about_partners(folder: Path) -> dict[tuple[str, ...], str]:
    """Name sets of sites to a site, with boxes that nobody sealed."""
    rows = make_rows(5)
    gates: dict[str, ReleaseGate] = {}

    def gate(name: str) -> ReleaseGate:
        made = ReleaseGate(Policy(min_rows=20), Ledger(folder / f"{name}.ledger"))
        return gates.setdefault(name, made)

    earlier = Consortium({n: rows[n] for n in sorted(rows)[:4]}, gate=gate)
    add = SecureSum(earlier.transport, earlier.study)
    add.agree()
    add.add("moments", {}, earlier.n_values)
    now = Consortium(rows, gate=gate)
    site = now.sites[VICTIM]
    site.handle("secure.agree", {"study": now.study.digest})
    found = {}
    for other in (3, 4):
        claimed = [f"site-0{i}" for i in (0, 2, other)]
        tag = {"round": f"round {other}"}
        site.handle("secure.keys", {**tag, "statistic": "moments", "request": {}})
        boxes = dict.fromkeys(claimed, bytes(Parcel.SIZE))
        with pytest.raises(Refusal) as caught:
            site.handle("secure.masked", {**tag, "boxes": boxes})
        found[tuple(claimed)] = caught.value.code
    return found


@pytest.mark.parametrize(
    ("weaken", "n_codes"), [(weakened.look_up_first, 2), (weakened.nothing, 1)]
)
def test_codes_do_not_tell_with_whom_a_site_has_worked(
    weaken: Weaken, n_codes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weaken(monkeypatch)
    codes = set(codes_about_partners(tmp_path).values())
    assert len(codes) == n_codes
    assert ("DISCLOSURE" in codes) == (n_codes == 2)
