"""Noise that follows from a seed, in place of the system's randomness."""

import random
from types import SimpleNamespace

import pytest

from fedsdr.privacy import discrete_gaussian


def seed_noise(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let noise follow from a seed until the test is over."""
    source = random.Random(number)
    stand_in = SimpleNamespace(randbelow=source.randrange, randbits=source.getrandbits)
    monkeypatch.setattr(discrete_gaussian, "secrets", stand_in)
