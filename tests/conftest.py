"""Seeds, hypothesis profiles and reference folders shared by all tests."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# A test command must give the same answer every time; `make test-random` looks for
# examples that nobody has tried.
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, max_examples=300)
settings.load_profile("random" if os.environ.get("FEDSDR_RANDOM_TESTS") else "fixed")


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a generator with the same seed for every test."""
    return np.random.default_rng(20261115)


def _folder_from(variable: str) -> Path:
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} does not name a folder")
    return Path(folder)


@pytest.fixture(scope="session")
def reference_folder() -> Path:
    """Folder of values computed with R, named by FEDSDR_REFERENCE."""
    return _folder_from("FEDSDR_REFERENCE")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder of public data sets, named by FEDSDR_DATA."""
    return _folder_from("FEDSDR_DATA")
