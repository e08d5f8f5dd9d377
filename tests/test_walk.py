"""The way from `fit` to the arithmetic stays short."""

import warnings

import pytest
from tools.walk import Walk, walk_fit, walk_study

MOST_CALLS, MOST_FILES = 7, 20


@pytest.fixture(name="walks", scope="module")
def traced_fits() -> list[Walk]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return walk_fit()


def test_few_calls_from_fit_to_the_arithmetic(walks: list[Walk]) -> None:
    _check_calls(walks)


def test_few_calls_in_a_study() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _check_calls(walk_study())


def _check_calls(walks: list[Walk]) -> None:
    for walk in walks:
        assert set(walk.chains) == set(walk.ends), walk.title
        for end, chain in walk.chains.items():
            names = [code.co_qualname for code in chain]
            assert len(names) <= MOST_CALLS, (walk.title, end, names)


def test_few_files_on_the_way(walks: list[Walk]) -> None:
    for walk in walks:
        assert len(walk.passed) <= MOST_FILES, (walk.title, sorted(walk.passed))
