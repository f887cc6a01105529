"""Examples in docstrings say what happens."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import noisewise

MODULES = ["noisewise"] + [
    found.name
    for found in pkgutil.walk_packages(noisewise.__path__, "noisewise.")
    if not found.name.endswith("__main__") and ".integrations" not in found.name
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [t for name in MODULES for t in finder.find(importlib.import_module(name))]
    assert sum(bool(test.examples) for test in tests) >= 4
