"""A PostgreSQL server for tests, where it is installed."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from noisewise_bench.reliability.postgres import Server, initdb, server

REQUIRED = "NOISEWISE_REQUIRE_POSTGRES"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A server that this fixture starts and stops."""
    if initdb() is None:
        if os.environ.get(REQUIRED):
            pytest.fail(f"{REQUIRED} is set, but there is no initdb")
        pytest.skip("PostgreSQL is not installed: there is no initdb")
    with server() as found:
        yield found
