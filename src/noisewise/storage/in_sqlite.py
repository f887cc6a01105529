"""A run in a file of SQLite, for the processes of one machine."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from typing import Any, final

from noisewise.storage.base import Lost, Store

#: Seconds to wait for other processes that write.
_BUSY = 30.0
#: Words of errors that another attempt may cure.
_PASSING = ("locked", "busy", "unable to open", "disk i/o", "schema has changed")


@final
class Sqlite(Store):
    """See `noisewise.storage`."""

    mark = "?"

    def __init__(self, path: str, run: str, shown: str) -> None:
        super().__init__(run, shown)
        self._path = os.path.abspath(path)
        self._file = (0, 0)

    def _connect(self, create: bool) -> Any:
        if not create and not os.path.exists(self._path):
            raise Lost("there is no such file")
        try:
            connection = sqlite3.connect(
                self._path, timeout=_BUSY, isolation_level=None, check_same_thread=False
            )
            # Readers and a writer do not wait for each other. It cannot be said twice at once.
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA journal_mode=WAL")
            # Survives every kill; a power cut may undo the newest events, for all of the processes.
            connection.execute("PRAGMA synchronous=NORMAL")
        except sqlite3.Error as error:
            raise self._explained(error) from None
        self._file = self._there()
        return connection

    def _there(self) -> tuple[int, int]:
        """Which file the path leads to now."""
        try:
            found = os.stat(self._path)
        except OSError:
            return (0, 0)
        return found.st_dev, found.st_ino

    def _once(self, work: Callable[[Callable[..., Any]], Any], lock: str) -> Any:
        if self._file != self._there():  # what is written to a removed file is lost
            raise Lost("its file was removed or replaced")
        return super()._once(work, lock)

    def _begin(self, execute: Callable[..., Any], lock: str) -> None:
        execute("BEGIN IMMEDIATE")

    def _explained(self, error: Exception) -> Exception:
        said = str(error)
        if not isinstance(error, sqlite3.Error):
            return error
        if said.startswith("no such table"):
            return self.wrong(f"the table {said.rpartition(' ')[2]} is missing")
        if any(word in said.lower() for word in _PASSING):
            return Lost(said)
        return self.wrong(said)
