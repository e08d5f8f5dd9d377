"""Noise that is the same in every run of the tests."""

import pytest
from tests.privacy.seeding import seed_noise


@pytest.fixture
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let noise follow from a seed."""
    seed_noise(monkeypatch, 1)
