"""A pytest plugin that notes which lines every test executes, and how long it takes.

It runs under ``coverage run``; ``reach.measure`` starts it. Processes that a test starts write down
their lines under the name of that test.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

#: Names the file for outcomes and times of tests, in the environment.
TIMES = "NOISEWISE_REACH_TIMES"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests, which run without coverage otherwise, are traced like the others."""
    for item in items:
        for node in item.listchain():
            node.own_markers[:] = [mark for mark in node.own_markers if mark.name != "untraced"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    import coverage

    tracer = coverage.Coverage.current()
    if tracer is None:
        raise RuntimeError("this plugin is of use under coverage only")
    tracer.switch_context(item.nodeid)
    tracer.config.context = item.nodeid  # of the processes that the test starts
    os.environ["COVERAGE_PROCESS_CONFIG"] = tracer.config.serialize()
    try:
        return (yield)
    finally:
        tracer.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A line at once, so that what was measured survives whatever ends the run."""
    if "PYTEST_XDIST_WORKER" not in os.environ:  # else the process above hears of it, too
        with Path(os.environ[TIMES]).open("a", encoding="utf-8") as file:
            file.write(json.dumps([report.nodeid, report.outcome, report.duration]) + "\n")
