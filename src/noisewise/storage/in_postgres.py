"""A run on a PostgreSQL server, for processes of many machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from noisewise.errors import install
from noisewise.storage.base import Lost, Store

#: Seconds in which a server must answer a new connection.
_ANSWER = 30
#: States of a server that has just been told to end, begins, or has too many connections, of a
#: transaction that another one had to go before, and of a lock that was waited for too long.
_PASSING = ("57P", "53", "08", "40", "55P03")


@final
class Postgres(Store):
    """See `noisewise.storage`."""

    mark = "%s"

    def __init__(self, url: str, run: str, shown: str) -> None:
        super().__init__(run, shown)
        try:
            import psycopg
        except ImportError:
            raise ImportError(
                f"storage postgresql:// needs psycopg: {install('postgres')}"
            ) from None
        self._psycopg, self._url = psycopg, url

    def _connect(self, create: bool) -> Any:
        try:
            # A network that swallows everything is noticed after about a minute.
            return self._psycopg.connect(
                self._url, autocommit=True, connect_timeout=_ANSWER, keepalives_idle=20,
                keepalives_interval=10, keepalives_count=4, tcp_user_timeout=60_000,
                application_name="noisewise",
            )  # fmt: skip
        except self._psycopg.Error as error:
            raise Lost(_first_line(error)) from None

    def _begin(self, execute: Callable[..., Any], lock: str) -> None:
        execute("BEGIN")
        execute("SELECT pg_advisory_xact_lock(hashtext(?))", (lock,))

    def _explained(self, error: Exception) -> Exception:
        if not isinstance(error, self._psycopg.Error):
            return error
        state, said = error.sqlstate or "", _first_line(error)
        if isinstance(error, self._psycopg.errors.UndefinedTable):
            return self.wrong(f"the table {said.split(chr(34))[1]} is missing")
        connection = (self._psycopg.OperationalError, self._psycopg.InterfaceError)
        if state.startswith(_PASSING) or (not state and isinstance(error, connection)):
            return Lost(said)
        return self.wrong(said)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    found = next((line for line in lines if "FATAL" in line), lines[0] if lines else "")
    return found.rpartition("FATAL:")[2].strip() or type(error).__name__
