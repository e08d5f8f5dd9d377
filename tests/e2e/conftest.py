"""The order of the tests with nodes, and the signals of their commands."""

import signal
from collections.abc import Iterator

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, so that workers finish at about the same time."""
    items.sort(key=lambda item: not item.path.name.startswith("test_killed"))


@pytest.fixture(scope="session", autouse=True)
def as_in_a_terminal() -> Iterator[None]:
    """Let commands notice Ctrl-C.

    Programs that a script starts in the background ignore it, and so would whatever
    they start: these tests too, and the commands in them.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
