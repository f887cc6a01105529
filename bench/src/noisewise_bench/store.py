"""The campaign's file: one SQLite table of rows, one of the grids that were asked for.

A row is written in one transaction under a unique key, so a process that dies at any moment
leaves every finished row and no half of one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from noisewise_bench.names import BenchError
from noisewise_bench.record import NAN
from noisewise_bench.task import Key, Row

#: Changes when the columns change; a file of another format is refused, never guessed at.
FORMAT = 2
#: Columns that a file of format 1 lacks. Its rows get empty ones: not known, hence stale.
_SINCE_1 = ("method_digest", "problem_digest")
KEY = ("problem", "method", "budget", "seed")
_COLUMNS = [field.name for field in dataclasses.fields(Row)]
_AFFINITY = {"int": "INTEGER", "int | None": "INTEGER", "float": "REAL"}
_TYPES = {f.name: _AFFINITY.get(str(f.type), "TEXT") for f in dataclasses.fields(Row)}


class Store:
    """Rows and grids in one file. One process writes; any number may read meanwhile."""

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = Path(path)
        if not create and not self.path.exists():
            raise BenchError(f"there is no campaign file {self.path}")
        try:
            self._db = sqlite3.connect(self.path, timeout=60.0, isolation_level=None)
            self._open()
        except sqlite3.DatabaseError as error:
            raise BenchError(f"{self.path} cannot be used as a campaign file: {error}") from None

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._db.close()

    def _open(self) -> None:
        if self._format() != FORMAT:
            # Looked at again under the lock: two processes may begin one campaign together.
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                self._make(self._format())
        # Readers then hold no writer up. While others are at the file SQLite refuses to change
        # it; whoever opens the file next does it.
        with contextlib.suppress(sqlite3.OperationalError):
            self._db.execute("PRAGMA journal_mode = WAL")

    def _format(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _make(self, found: int) -> None:
        if found not in (0, 1, FORMAT):
            raise BenchError(
                f"{self.path} has format {found}, this version reads format {FORMAT} only"
            )
        if found == 0 and self._db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
            raise BenchError(f"{self.path} is a database of something else than a campaign")
        columns = ", ".join(f"{name} {kind}" for name, kind in _TYPES.items())
        self._db.execute(f"CREATE TABLE IF NOT EXISTS rows ({columns}, UNIQUE ({_key()}))")
        self._db.execute("CREATE TABLE IF NOT EXISTS grids (grid TEXT UNIQUE)")
        for name in _SINCE_1 if found == 1 else ():
            self._db.execute(f"ALTER TABLE rows ADD COLUMN {name} TEXT NOT NULL DEFAULT ''")
        self._db.execute(f"PRAGMA user_version = {FORMAT}")

    def put(self, rows: Iterable[Row], *, replace: bool = False) -> None:
        """Write rows in one transaction; one that is there already stays, unless ``replace``."""
        verb = "REPLACE" if replace else "IGNORE"
        marks = ", ".join("?" * len(_COLUMNS))
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                f"INSERT OR {verb} INTO rows VALUES ({marks})",
                [[getattr(row, name) for name in _COLUMNS] for row in rows],
            )

    def rows(self) -> list[Row]:
        """Every row, in the order of its key."""
        found = self._db.execute(f"SELECT {', '.join(_COLUMNS)} FROM rows ORDER BY {_key()}")
        return [Row(*map(_from_sql, _COLUMNS, values)) for values in found]

    def keys(self, *, failed: bool | None = None) -> set[Key]:
        """Keys that are there: all, or (not) failed ones."""
        where = "1" if failed is None else f"error IS {'NOT ' if failed else ''}NULL"
        return set(self._db.execute(f"SELECT {_key()} FROM rows WHERE {where}"))

    def made(self) -> list[tuple[Key, str, str, str]]:
        """(key, version, digest of the method, digest of the problem) of every row."""
        found = self._db.execute(
            f"SELECT {_key()}, version, method_digest, problem_digest FROM rows ORDER BY {_key()}"
        )
        return [(tuple(values[:4]), *values[4:]) for values in found]

    def sources(self) -> list[tuple[str, str, int]]:
        """(version, source fingerprint, number of rows), most rows first."""
        query = "SELECT version, code, COUNT(*) FROM rows GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2"
        return list(self._db.execute(query))

    def errors(self) -> list[tuple[str, str, int]]:
        """(method, error, number of rows), most rows first."""
        query = """SELECT method, error, COUNT(*) FROM rows WHERE error IS NOT NULL
                   GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2"""
        return list(self._db.execute(query))

    def add_grid(self, grid: dict[str, Any]) -> None:
        """Remember what was asked for, so that the file alone is enough to go on."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("INSERT OR IGNORE INTO grids VALUES (?)", [json.dumps(grid)])

    def grids(self) -> list[dict[str, Any]]:
        """The grids asked for so far, oldest first."""
        found = self._db.execute("SELECT grid FROM grids ORDER BY rowid")
        return [json.loads(text) for (text,) in found]


def _key() -> str:
    return ", ".join(KEY)


def _from_sql(name: str, value: Any) -> Any:
    # SQLite keeps nan as NULL.
    return NAN if value is None and _TYPES[name] == "REAL" else value
