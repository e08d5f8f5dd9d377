"""Whether all sites have one span, from counts alone."""

import numpy as np
import pytest

from fedsdr.estimation.one_span import judge_span
from fedsdr.summaries.site_agreement import Findings
from fedsdr.summaries.span_test import LEVELS


def findings(*needs, freedom=8.0, use=(0.0, 0.0, 0.0, 0.0)):
    """Return counts, at all levels alike."""
    counts = np.tile(np.array(needs, dtype=float), (len(LEVELS), 1))
    k, m = len(needs) - 1, sum(needs)
    nothing = np.zeros(0)
    return Findings(
        nothing,
        np.array(use),
        nothing,
        np.zeros((4, 0)),
        counts,
        np.full(k, m * freedom),
    )


def p_value(*needs, shares=(0.6,), n_rows=200.0):
    found = judge_span(findings(*needs), np.array(shares), n_rows)
    assert found.needs == needs
    return found.p_value


def test_sites_that_need_the_same_agree():
    assert p_value(8, 0) == 1.0
    assert p_value(0, 8, 0, shares=(0.6, 0.2)) == 1.0


def test_one_of_eight_that_needs_others_is_noticed():
    chance = 1 - (1 - LEVELS[1]) ** 8
    assert p_value(7, 1) == pytest.approx(chance)
    # With two directions there are two tests.
    assert p_value(0, 7, 1, shares=(0.6, 0.2)) == pytest.approx(2 * chance)
    # A site that contradicts the result less clearly is none.
    found = findings(7, 1)
    found.needs[1:] = [8.0, 0.0]
    assert judge_span(found, np.array([0.6]), 200.0).p_value == 1.0


def test_a_direction_of_one_site_alone_is_noticed():
    assert p_value(7, 1, 0, shares=(0.6, 0.1)) < 0.01


def test_a_weak_direction_of_all_sites_is_not():
    """At 200 rows a share of 0.03 is seen by one site in eight, and not clearly."""
    found = findings(7, 1, 0)
    found.needs[1:] = [8.0, 0.0, 0.0]
    assert judge_span(found, np.array([0.6, 0.03]), 200.0).p_value > 0.05


@pytest.mark.parametrize(("own", "differ"), [(0.0, True), (300.0, False)])
def test_sites_with_fewer_directions_each_are_noticed(own, differ):
    """All sites need both directions, since the first one is turned by some."""
    found = findings(0, 4, 0, use=(4.0, 300.0, own, 25.0))
    p_value = judge_span(found, np.array([0.7, 0.2]), 100.0).p_value
    assert (p_value < 1e-3) == differ


def test_sites_that_all_contradict_the_result_have_no_common_span():
    assert p_value(1, 7) == 0.0


def test_nothing_is_said_where_nobody_could_test():
    assert judge_span(findings(0, 0), np.array([0.5]), 20.0) is None
