"""Noise that is the same in every run of the tests."""

import random
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from fedsdr.privacy import discrete_gaussian


@pytest.fixture
def seeded(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that lets noise follow from a seed."""

    def seed(number: int) -> None:
        source = random.Random(number)
        stand_in = SimpleNamespace(
            randbelow=source.randrange, randbits=source.getrandbits
        )
        monkeypatch.setattr(discrete_gaussian, "secrets", stand_in)

    seed(1)
    return seed
