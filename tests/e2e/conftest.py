"""The order of the tests with nodes."""

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, so that workers finish at about the same time."""
    items.sort(key=lambda item: not item.path.name.startswith("test_killed"))
