"""Settings of all tests, those of the library in tests/ and those of the bench in bench/tests/."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator

import noisewise_bench  # isort: skip # noqa: F401 - fixes the arithmetic before numpy is loaded

import pytest
from hypothesis import HealthCheck, settings

# Whoever starts the tests in the background may have had signals ignored, and every process started
# from here would inherit that: the tests of interruptions would wait for ever.
for _name, _usual in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
    if signal.getsignal(getattr(signal, _name, signal.SIGINT)) is signal.SIG_IGN:
        signal.signal(getattr(signal, _name), _usual)


settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("ci")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Tests marked ``untraced`` run without coverage, which makes Python nearly twice as slow.
    The mark is for long tests that execute, again and again, lines which others execute, too."""
    coverage = sys.modules.get("coverage")
    tracer = coverage.Coverage.current() if coverage is not None else None
    if tracer is None or item.get_closest_marker("untraced") is None:
        return (yield)
    children = os.environ.pop("COVERAGE_PROCESS_CONFIG", None)
    tracer.stop()
    try:
        return (yield)
    finally:
        tracer.start()
        if children is not None:
            os.environ["COVERAGE_PROCESS_CONFIG"] = children
