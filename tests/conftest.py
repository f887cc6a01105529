"""Fixtures of the tests of the library."""

from __future__ import annotations

import pytest

import noisewise as nw
import support
from noisewise.methods import Method


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of problems in a box are not for methods that choose from a list."""
    apart = {name for name, method in support.METHODS.items() if method.lists == "all"}
    left = []
    for item in items:
        callspec = getattr(item, "callspec", None)
        given = set() if callspec is None else set(map(str, callspec.params.values()))
        if item.get_closest_marker("boxes") is None or not given & apart:
            left.append(item)
    config.hook.pytest_deselected(items=[item for item in items if item not in set(left)])
    items[:] = left


@pytest.fixture(scope="session", params=list(support.METHODS))
def method(request: pytest.FixtureRequest) -> Method:
    """Every method that is registered, and a few with other parts."""
    return support.METHODS[request.param]


@pytest.fixture(scope="session", params=nw.list_methods())
def named_method(request: pytest.FixtureRequest) -> Method:
    """Every method that is registered, as it is."""
    return support.METHODS[request.param]
