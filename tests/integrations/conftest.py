"""What tests of integrations share."""

from __future__ import annotations

from collections.abc import Iterator

import optuna
import pytest

from noisewise_bench.reliability.postgres import Server
from postgres_server import postgres_server as postgres_server


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


@pytest.fixture(scope="session")
def postgres(postgres_server: Server) -> str:
    """URL of a database on a server of our own, for SQLAlchemy."""
    return postgres_server.url().replace("postgresql://", "postgresql+psycopg://")
