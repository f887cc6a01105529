"""A run in a database, in the SQL that SQLite and PostgreSQL share.

| table | a row is |
|---|---|
| noisewise_format | the version of these tables |
| noisewise_runs | a run: its name, the version of the library, the number of its newest event |
| noisewise_events | an event: its number in the run, who wrote it and as which of his, a line |
| noisewise_snapshots | the state of a run after an event, so that not all are replayed |
| noisewise_workers | a process at work: how often it said that it lives, and the seconds it has |

Events are only ever appended. Their numbers are given under a lock on the run's row, held for as
long as a few rows take to write, so they are in the order in which others see them. A process
numbers its own events, too: one that is written again, because its connection broke before the
database could answer, is there once.
"""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from noisewise.errors import CheckpointError

_T = TypeVar("_T")
#: The version of the tables.
FORMAT = 1
#: Seconds for which a database may be away before a run is given up, and the shortest and longest
#: pause between two attempts to reach it.
PATIENCE, _PAUSES = 3600.0, (0.05, 2.0)
#: Snapshots that are kept of a run.
_KEPT = 2
_TABLES = (
    "CREATE TABLE IF NOT EXISTS noisewise_format (format INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS noisewise_runs (name TEXT PRIMARY KEY, version TEXT NOT NULL, "
    "newest BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS noisewise_events (run TEXT NOT NULL, number BIGINT NOT NULL, "
    "worker TEXT NOT NULL, own BIGINT NOT NULL, line TEXT NOT NULL, "
    "PRIMARY KEY (run, number), UNIQUE (run, worker, own))",
    "CREATE TABLE IF NOT EXISTS noisewise_snapshots (run TEXT NOT NULL, number BIGINT NOT NULL, "
    "content TEXT NOT NULL, PRIMARY KEY (run, number))",
    "CREATE TABLE IF NOT EXISTS noisewise_workers (run TEXT NOT NULL, worker TEXT NOT NULL, "
    "beats BIGINT NOT NULL, seconds DOUBLE PRECISION, PRIMARY KEY (run, worker))",
)


class Lost(Exception):
    """The database could not be reached; it may be back soon."""


class Entry(NamedTuple):
    """An event of a run: its number, the process that wrote it, and what happened."""

    number: int
    worker: str
    line: str


class Store(ABC):
    """One run in a database. A database that goes away is waited for."""

    #: What stands for a value in a statement.
    mark: str

    def __init__(self, run: str, shown: str) -> None:
        self.run, self.shown = run, shown
        #: Seconds for which the database may be away.
        self.patience = PATIENCE
        self._connection: Any = None
        _OPEN.add(self)

    # -- what kinds of databases differ in

    @abstractmethod
    def _connect(self, create: bool) -> Any:
        """A connection in which every statement counts at once unless `_begin` was called;
        `Lost` or `CheckpointError`."""

    @abstractmethod
    def _begin(self, execute: Callable[..., Any], lock: str) -> None:
        """Begin a transaction when no other process has one with this lock."""

    @abstractmethod
    def _explained(self, error: Exception) -> Exception:
        """`Lost` if another attempt may succeed, or else what to say."""

    def wrong(self, why: str) -> CheckpointError:
        """What to say of this storage."""
        return CheckpointError(f"storage {self.shown} cannot be used: {why}")

    # -- the run

    def prepare(self) -> None:
        """Make the tables, where they are missing. Fails at once where the database cannot be
        reached."""

        def work(execute: Callable[..., Any]) -> None:
            for statement in _TABLES:
                execute(statement)
            if not execute("SELECT format FROM noisewise_format").fetchall():
                execute("INSERT INTO noisewise_format VALUES (?)", (FORMAT,))

        self._connection = self._reached(create=True)
        self._patiently(work, "noisewise")
        self._check_format()

    def look(self) -> None:
        """Make sure that the run is there, to be read. Fails at once, too."""
        self._connection = self._reached(create=False)
        self._check_format()
        if not self._patiently(lambda execute: self._newest(execute)):
            raise self.wrong(f"it holds no run {self.run}")

    def create(self, content: str, version: str) -> bool:
        """Begin the run with this state, unless another process has done so; whether it is new."""

        def work(execute: Callable[..., Any]) -> bool:
            if self._newest(execute):
                return False
            row = (self.run, 0, content)
            execute("INSERT INTO noisewise_snapshots VALUES (?, ?, ?) ON CONFLICT DO NOTHING", row)
            execute(
                "INSERT INTO noisewise_runs VALUES (?, ?, 0) ON CONFLICT DO NOTHING",
                (self.run, version),
            )
            return True

        return self._patiently(work, f"noisewise {self.run}")

    def version(self) -> str:
        """The version of the library that began the run."""
        found = self._rows("SELECT version FROM noisewise_runs WHERE name = ?", self.run)
        return str(found[0][0]) if found else ""

    def newest(self) -> int:
        """The number of the newest event; 0 if there is none, -1 if there is no run."""
        found = self._rows("SELECT newest FROM noisewise_runs WHERE name = ?", self.run)
        return int(found[0][0]) if found else -1

    def since(self, number: int) -> list[Entry]:
        """Events after this one, in order."""
        rows = self._rows(
            "SELECT number, worker, line FROM noisewise_events WHERE run = ? AND number > ? "
            "ORDER BY number",
            self.run,
            number,
        )
        return [Entry(*row) for row in rows]

    def append(self, worker: str, own: int, lines: Sequence[str]) -> None:
        """Write events, the first of which is number ``own`` of this process; nothing if they are
        there already."""

        def work(execute: Callable[..., Any]) -> None:
            found = self._newest(execute)
            if not found:
                raise self.wrong(f"run {self.run} was removed")
            there = execute(
                "SELECT 1 FROM noisewise_events WHERE run = ? AND worker = ? AND own = ?",
                (self.run, worker, own),
            )
            if there.fetchall():
                return
            newest = found[0][0]
            for i, line in enumerate(lines):
                row = (self.run, newest + 1 + i, worker, own + i, line)
                execute("INSERT INTO noisewise_events VALUES (?, ?, ?, ?, ?)", row)
            execute(
                "UPDATE noisewise_runs SET newest = ? WHERE name = ?",
                (newest + len(lines), self.run),
            )

        self._patiently(work, f"noisewise {self.run}")

    def _newest(self, execute: Callable[..., Any]) -> list[Any]:
        statement = "SELECT newest FROM noisewise_runs WHERE name = ?"
        return list(execute(statement, (self.run,)).fetchall())

    # -- snapshots

    def snapshot(self) -> tuple[int, str]:
        """The newest state, and the number of the event after which it was so."""
        rows = self._rows(
            "SELECT number, content FROM noisewise_snapshots WHERE run = ? "
            "ORDER BY number DESC LIMIT 1",
            self.run,
        )
        if not rows:
            raise self.wrong(f"it holds no run {self.run}")
        return int(rows[0][0]), str(rows[0][1])

    def snapshots(self) -> list[int]:
        """After which events the state is kept, the newest first."""
        rows = self._rows(
            "SELECT number FROM noisewise_snapshots WHERE run = ? ORDER BY number DESC", self.run
        )
        return [int(number) for (number,) in rows]

    def keep(self, number: int, content: str) -> None:
        """Keep the state after this event, and forget older ones."""

        def work(execute: Callable[..., Any]) -> None:
            execute(
                "INSERT INTO noisewise_snapshots VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (self.run, number, content),
            )
            execute(
                "DELETE FROM noisewise_snapshots WHERE run = ? AND number < (SELECT MIN(number) "
                "FROM (SELECT number FROM noisewise_snapshots WHERE run = ? "
                "ORDER BY number DESC LIMIT ?) AS kept)",
                (self.run, self.run, _KEPT),
            )

        self._patiently(work, f"noisewise {self.run}")

    # -- processes at work

    def beat(self, worker: str, beats: int, seconds: float | None) -> dict[str, Any]:
        """Say that a process lives and how many seconds it has, None: as many as it takes. Returns
        beats and seconds of all processes, by name."""
        self._patiently(
            lambda execute: execute(
                "INSERT INTO noisewise_workers VALUES (?, ?, ?, ?) ON CONFLICT (run, worker) "
                "DO UPDATE SET beats = excluded.beats, seconds = excluded.seconds",
                (self.run, worker, beats, seconds),
            )
        )
        rows = self._rows(
            "SELECT worker, beats, seconds FROM noisewise_workers WHERE run = ?", self.run
        )
        return {name: (beats, seconds) for name, beats, seconds in rows}

    def forget(self, worker: str) -> None:
        """A process is no longer at work."""
        self._patiently(
            lambda execute: execute(
                "DELETE FROM noisewise_workers WHERE run = ? AND worker = ?", (self.run, worker)
            )
        )

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.close()
        self._connection = None

    # -- how it is done

    def _check_format(self) -> None:
        found = self._rows("SELECT format FROM noisewise_format")
        if not found:
            raise self.wrong("the table noisewise_format is empty")
        if found[0][0] != FORMAT:
            raise self.wrong(
                f"its tables have format {found[0][0]}, this noisewise reads {FORMAT}: use the "
                "version that made them"
            )

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        return self._patiently(lambda execute: list(execute(statement, values).fetchall()))

    def _reached(self, create: bool) -> Any:
        try:
            return self._connect(create)
        except Lost as error:
            raise self.wrong(str(error)) from None

    def _patiently(self, work: Callable[[Callable[..., Any]], _T], lock: str = "") -> _T:
        """Do something, again and again while the database is away. With a ``lock``, all of it or
        nothing, while no other process has this lock."""
        began, pause = time.monotonic(), _PAUSES[0]
        while True:
            try:
                if self._connection is None:
                    self._connection = self._connect(create=False)
                return self._once(work, lock)
            except CheckpointError:
                raise
            except Exception as error:
                known = error if isinstance(error, Lost) else self._explained(error)
                self.close()
                if not isinstance(known, Lost):
                    raise known from None
                if time.monotonic() - began > self.patience:
                    raise self.wrong(str(known)) from None
            time.sleep(pause)
            pause = min(2.0 * pause, _PAUSES[1])

    def _once(self, work: Callable[[Callable[..., Any]], _T], lock: str) -> _T:
        connection = self._connection

        def execute(statement: str, values: tuple[Any, ...] = ()) -> Any:
            return connection.execute(statement.replace("?", self.mark), values)

        if not lock:
            return work(execute)
        try:
            self._begin(execute, lock)
            done = work(execute)
            execute("COMMIT")
            return done
        except BaseException:
            with contextlib.suppress(Exception):
                execute("ROLLBACK")
            raise


#: Connections of the process that this one was forked from: closing them would end them there.
_ABANDONED: list[Any] = []
_OPEN: weakref.WeakSet[Store] = weakref.WeakSet()


def _let_go() -> None:
    for store in _OPEN:
        _ABANDONED.append(store._connection)
        store._connection = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
