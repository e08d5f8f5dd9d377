"""Seeds, hypothesis profiles and reference folders shared by all tests."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a generator with the same seed for every test."""
    return np.random.default_rng(20261115)


def _folder_from(variable: str) -> Path:
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} does not name a folder of reference files")
    return Path(folder)


@pytest.fixture(scope="session")
def reference_folder() -> Path:
    """Folder of values computed with R, named by FEDSDR_REFERENCE."""
    return _folder_from("FEDSDR_REFERENCE")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder of public data sets, named by FEDSDR_DATA."""
    return _folder_from("FEDSDR_DATA")
