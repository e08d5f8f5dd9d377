"""What can be promised, and what is refused."""

from typing import Any

import pytest

from fedsdr import InputError, Privacy
from fedsdr.privacy import read_privacy

GIVEN: dict[str, Any] = {
    "epsilon": 1,
    "delta": 1e-6,
    "ranges": (-1, 1),
    "response": (0, 1),
}


def test_one_range_serves_all_columns() -> None:
    privacy = Privacy(**GIVEN)
    assert privacy.pairs(2) == ((-1.0, 1.0), (-1.0, 1.0))
    several = Privacy(**{**GIVEN, "ranges": [(0, 1), (0, 2), (0, 3)]})
    assert several.pairs(3)[2] == (0.0, 3.0)
    with pytest.raises(InputError, match="3 columns, and there are 2"):
        several.pairs(2)


def test_plain_values_give_it_back() -> None:
    for privacy in (
        Privacy(**GIVEN),
        Privacy(epsilon=1, delta=0.1, ranges=[(0, 1)] * 3, classes=["a", "b"]),
    ):
        assert read_privacy(privacy.to_mapping()) == privacy
    assert read_privacy(None) is None


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"epsilon": 0}, "epsilon must be a number above 0"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"delta": 0.0}, "delta must be a number above 0 and below 1"),
        ({"delta": 1.0}, "delta"),
        ({"radius": 1.5}, "radius must be a number above 0 and at most 1"),
        ({"ranges": (1, 0)}, "lowest, highest"),
        ({"ranges": (0, float("inf"))}, "two finite numbers"),
        ({"ranges": ()}, "one such pair for every column"),
        ({"ranges": 3}, "one such pair for every column"),
        ({"response": None}, "range of y"),
        ({"classes": ("a", "b")}, "not both"),
        ({"response": None, "classes": ("a", "a")}, "two or more different"),
        ({"epsilom": 1}, "has no 'epsilom'"),
    ],
)
def test_what_cannot_be_promised(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_privacy({**GIVEN, **changes})


@pytest.mark.parametrize("value", [1.0, "yes"])
def test_a_number_is_no_promise(value: Any) -> None:
    with pytest.raises(InputError, match="Privacy\\(epsilon"):
        read_privacy(value)


def test_a_promise_without_delta() -> None:
    with pytest.raises(InputError, match="privacy needs delta"):
        read_privacy({"epsilon": 1, "ranges": (0, 1), "response": (0, 1)})
