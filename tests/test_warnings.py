"""Warnings: raised where something is wrong, silent where all is well."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from benchmarks.hard_designs.alarm_designs import ALARM_DESIGNS, ALARMS
from fedsdr import FedSSIR
from fedsdr.estimation.alarms import (
    COVARIANCE_SIZE,
    count_skewed,
    count_squares,
    covariances_differ,
    subspaces_differ,
    usual_at_sites,
)

SEED = 78


def anchors_of(name: str) -> set[str]:
    """Fit one sample of a design, and return where its warnings point."""
    sample = ALARM_DESIGNS[name].draw(SEED)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FedSSIR(random_state=0).fit(sample.X, sample.y, sites=sample.sites)
    return {"#" + str(one.message).rpartition("#")[2] for one in caught}


@pytest.mark.parametrize(
    ("design", "anchor"),
    [
        ("other units: a noise column", "#units"),
        ("y shuffled at one site", "#silent"),
        ("another subspace at 3 of 10", "#groups"),
        ("covariances: scales, linear", "#covariances"),
        ("columns: log-normal", "#skewness"),
        ("y = b1'x + (b2'x)^2", "#symmetry"),
    ],
)
def test_what_is_wrong_is_said(design: str, anchor: str) -> None:
    assert anchor in anchors_of(design)


@pytest.mark.parametrize(
    "design",
    [
        "linear, 10 x 50, AR(0.5)",
        "linear, 20 to 500 rows",
        "ratio, 10 x 200, means differ",
        "setting 6, 10 x 100",
    ],
)
def test_nothing_is_said_where_all_is_well(design: str) -> None:
    assert anchors_of(design).isdisjoint(ALARMS.values())


def test_every_warning_points_to_a_heading_of_the_page() -> None:
    page = (Path(__file__).parents[1] / "docs" / "warnings.md").read_text()
    headings = {
        "#" + line.removeprefix("## ").lower()
        for line in page.splitlines()
        if line.startswith("## ")
    }
    assert {mark for mark in ALARMS.values() if mark.startswith("#")} <= headings
    classes = set(re.findall(r"`(\w+Warning)`", page))
    assert {mark for mark in ALARMS.values() if mark.endswith("Warning")} <= classes


# --- tests and their laws -------------------------------------------------------------


def test_covariances_differ_beyond_sampling_and_by_a_size() -> None:
    # 10 sites of 100 rows, 3 variables: mean 120, variance 480, 60 degrees of freedom.
    equal = np.array([120.0, 120.0, 480.0])
    assert not covariances_differ(equal, 1000, 3)
    enough = 120.0 + COVARIANCE_SIZE * 3000
    assert covariances_differ(np.array([enough + 1, 120.0, 480.0]), 1000, 3)
    # Clear, but too small to matter.
    assert not covariances_differ(np.array([enough - 1, 120.0, 480.0]), 1000, 3)
    # Large, but a few large values explain it.
    assert not covariances_differ(np.array([enough + 1, 120.0, 4e5]), 1000, 3)
    assert not covariances_differ(np.zeros(3), 1000, 3)


@pytest.mark.parametrize(
    ("use", "unevenness", "differ"),
    [
        ([10.0, 100.0, 0.0, 25.0], 0.1, True),
        ([10.0, 100.0, 20.0, 25.0], 0.1, False),  # the sites use the last one
        ([10.0, 40.0, 0.0, 25.0], 0.1, False),  # cannot be told
        ([10.0, 100.0, 0.0, 25.0], 0.3, False),  # sites cannot be compared
        ([2.0, 100.0, 0.0, 25.0], 0.1, False),  # too few sites
        ([0.0, 0.0, 0.0, 0.0], 0.0, False),
    ],
)
def test_sites_with_subspaces_of_their_own(use, unevenness, differ) -> None:
    assert subspaces_differ(np.array(use), unevenness) is differ


def test_what_every_site_should_show() -> None:
    shares = np.array([0.8, 0.2])
    np.testing.assert_array_equal(usual_at_sites(shares, 0.0, 10), shares)
    # The 99 % point of t with 8 degrees of freedom is 2.896.
    found = usual_at_sites(shares, 0.1, 10)
    np.testing.assert_allclose(found, (1 - 0.2896) * shares, rtol=1e-3)
    assert not usual_at_sites(shares, 0.1, 2).any()
    assert not usual_at_sites(shares, 0.1, 3).any()
    assert not usual_at_sites(shares, 0.5, 100).any()


def test_skewed_variables_are_counted() -> None:
    assert count_skewed(np.array([100.0, -160.0, 149.0, 151.0]), 100) == 2


def test_squares_are_judged_over_all_columns() -> None:
    squares = np.zeros((4, 50))
    squares[2:] = 4.0
    # The normal quantile of 0.005 / 200, two-sided, is 4.06.
    squares[0, :3] = 2 * np.array([4.0, 4.1, -4.1])
    squares[1, 1] = 20.0
    assert count_squares(squares) == 2
    squares[2:] = 0.0
    assert count_squares(squares) == 0
