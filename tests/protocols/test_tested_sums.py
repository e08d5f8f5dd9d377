"""Tests of variables under masks: the plain ones, in no more rounds."""

from typing import Any

import numpy as np
import pytest
from tests.protocols.test_second_stage import (
    Rows,
    Study,
    assert_same,
    drawn,
    gated,
    in_classes,
    with_degenerate_site,
    with_gaps,
)

from fedsdr.choices import Fdr
from fedsdr.method import Method
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.secure import SumFolder
from fedsdr.questions import MomentsOf
from fedsdr.questions.split_tests import units_of_test
from fedsdr.run import run
from fedsdr.summaries.cross_fit import HalfTest
from fedsdr.summaries.slicing import Slices


def in_three_classes(rows: Rows) -> Rows:
    return {
        name: (X, np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.5])])
        for name, (X, y) in rows.items()
    }


SITES = drawn([80, 100, 120], 0.3)
STUDIES: dict[str, tuple[Rows, Method]] = {
    "tested": (SITES, Method(select="tested")),
    "all splits": (SITES, Method(select="tested(splits=7)")),
    "fdr": (SITES, Method(select=Fdr(level=0.2, splits=2))),
    "slices": (SITES, Method(select="tested", kernel=Slices(size=10))),
    "two classes": (in_classes(SITES), Method(select="tested")),
    "three classes": (in_three_classes(SITES), Method(select="tested")),
    "gaps": (with_gaps(SITES), Method(select="tested")),
    "scores": (SITES, Method(select="fdr", scores="normal")),
    "units": (
        {name: (X * 1e9 ** np.arange(6), y) for name, (X, y) in SITES.items()},
        Method(select="tested"),
    ),
    "degenerate": (
        with_degenerate_site(drawn([30, 90, 90, 90], 0.3)),
        Method(select="tested"),
    ),
    "noise": (drawn([30, 40, 50], 30.0), Method(select="fdr")),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", STUDIES)
def test_tests_under_masks_are_those_of_one_process(name: str) -> None:
    study = Study(*STUDIES[name])
    expected, n_sums = study.plain()
    found = run(study.adder(), study.method)
    assert_same(found, expected)
    assert found.certainty is not None
    assert expected.certainty is not None
    for values in ("p_values", "q_values", "frequencies", "loadings", "errors"):
        own, plain = (getattr(one.certainty, values) for one in (found, expected))
        np.testing.assert_allclose(own, plain, rtol=1e-9, atol=1e-10)
        # The tail counts: p-values of 1e-40 are equal in their first ten digits.
    assert found.certainty.dimensions == expected.certainty.dimensions
    assert len(study.questions) in (n_sums, n_sums + (name == "units"))


@pytest.mark.parametrize(("select", "more"), [("tested", 0), ("fdr", 1)])
def test_tests_cost_no_round_unless_they_select(select: str, more: int) -> None:
    asked = {}
    for chosen in ("criteria", select):
        study = Study(SITES, Method(select=chosen))
        run(study.adder(), study.method)
        asked[chosen] = [one["statistic"] for one in study.questions]
    first, second = asked["criteria"], asked[select]
    assert len(second) == len(first) + more
    assert ("tested_spread" in second) == (select == "tested")
    assert second.count("split_tests") == more


def test_a_study_goes_on_after_its_tests(tmp_path: Any) -> None:
    study = gated(SITES, Method(select="tested"))
    add = study.adder(state=SumFolder(tmp_path))
    inner, rounds = add.exchange, []

    def until_profile(name: str, payloads: Any, timeout: float) -> Any:
        one = next(iter(payloads.values()))
        if one.get("statistic") == "profile":
            raise KeyboardInterrupt
        return inner(name, payloads, timeout)

    add.exchange = until_profile
    with pytest.raises(KeyboardInterrupt):
        run(add, study.method)
    # Sites and coordinator start again.
    for name in study.rows:
        study.consortium.transport.parties[name] = study.consortium.site(name)
    again = study.adder(state=SumFolder(tmp_path))
    inner = again.exchange

    def counting(name: str, payloads: Any, timeout: float) -> Any:
        rounds.append(next(iter(payloads.values())).get("statistic"))
        return inner(name, payloads, timeout)

    again.exchange = counting
    found = run(again, study.method)
    expected, _ = study.plain()
    np.testing.assert_allclose(
        found.certainty.p_values, expected.certainty.p_values, rtol=1e-9
    )
    assert not {"moments", "tested_spread"} & set(rounds)
    entries = study.consortium.gates["site-00"].ledger.entries()
    listed = [(one.statistic, one.stage) for one in entries]
    assert listed[:4] == [
        ("moments", "offered"), ("moments", "released"),
        ("tested_spread", "offered"), ("tested_spread", "released"),
    ]  # fmt: skip


def test_sums_of_many_rows_keep_their_digits() -> None:
    """Fourth powers of weights of a million rows are far below the ring's last bit."""
    study = Study(SITES, Method(select="tested(splits=1)"))
    run(study.adder(), study.method)
    sent = next(one for one in study.questions if "tests" in one["request"])
    test = HalfTest(**sent["request"]["tests"][0])
    s, k = test.basis.shape
    for n_rows in (1e2, 1e6):
        inverse = np.eye(s) / n_rows
        many = HalfTest(
            test.half, test.columns, test.basis, test.slopes, inverse, 1.0, test.common
        )
        fourth = 3 * n_rows * n_rows**-4.0
        packed = (fourth * units_of_test(many))[s * (k + k * (k + 1) // 2) :][:s]
        assert (packed > 1.0).all()


def test_a_sum_of_halves_that_cannot_be_is_refused() -> None:
    """Two halves have all rows together, or a site has lied about them."""
    study = Study(SITES, Method(select="tested(splits=1)"))
    party = study.consortium.sites["site-00"]
    honest = party._addable

    def lying(question: Any, answer: Any) -> Any:
        values = honest(question, answer)
        if isinstance(question, MomentsOf):
            values[question.lengths[0]] -= 1
        return values

    party._addable = lying
    with pytest.raises(Exception, match="two halves do not have all rows together"):
        run(study.adder(), study.method)


def test_tests_are_refused_where_none_were_agreed_on() -> None:
    tested = Study(SITES, Method(select="tested"))
    run(tested.adder(), tested.method)
    sent = next(one for one in tested.questions if "tests" in one["request"])
    plain = Study(SITES, Method())
    add = plain.adder()
    for name in ("tested_spread", "split_tests"):
        with pytest.raises(IncompleteError, match="not one that this protocol has"):
            add.add(name, sent["request"], 100)
