"""Who of the processes that share a run is at work.

Every process counts up a number in the database while it lives. Another one that watches and sees
no change for a while takes it for dead, by its own clock: clocks of other machines may be wrong.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable
from typing import final

from noisewise import _threads
from noisewise.storage import Store

#: Seconds between two signs of life, and after which a process without one is taken for dead.
BEAT, OVERDUE = 5.0, 60.0


@final
class Pulse:
    """Signs of life of this process in a thread of its own, and what it sees of the others."""

    def __init__(self, store: Store, worker: str, left: Callable[[], float]) -> None:
        self._store, self._worker, self._left = store, worker, left
        self._beats = 0
        self._known: dict[str, tuple[int, float]] = {}
        self._looked = time.monotonic()
        #: Seconds for which others were silent while we looked.
        self._silent: dict[str, float] = {}
        #: Those that have trials; those that are taken for dead; seconds that others have at most,
        #: and how many they are.
        self.claimants: frozenset[str] = frozenset()
        self.dead: frozenset[str] = frozenset()
        self.others_left, self.others = -math.inf, 0
        self._lock = threading.Lock()
        self._end = threading.Event()
        #: Held while it does anything, and while this process is forked.
        self._busy = threading.Lock()
        self._beat()
        _threads.quiet.add(self)
        _PULSES.add(self)
        self._thread = threading.Thread(target=self._work, daemon=True, name="noisewise pulse")
        self._thread.start()

    def _work(self) -> None:
        while not self._end.wait(BEAT):
            with self._busy, contextlib.suppress(Exception):  # the main thread meets it, too
                self._beat()

    def _beat(self) -> None:
        """Give a sign of life, and look for those of others."""
        self._beats += 1
        left = self._left()
        rows = self._store.beat(self._worker, self._beats, left if left < math.inf else None)
        with self._lock:
            self._look(rows)

    def _look(self, rows: dict[str, tuple[int, float | None]]) -> None:
        """Who was silent since we looked last."""
        now = time.monotonic()
        # While the database was away, nobody could give a sign.
        seen, self._looked = min(now - self._looked, 2.0 * BEAT), now
        rows.pop(self._worker, None)
        for name in set(rows) | self.claimants - {self._worker}:
            beats = rows.get(name, (-1, None))[0]
            if self._known.get(name, (None, 0.0))[0] == beats:
                self._silent[name] = self._silent.get(name, 0.0) + seen
            else:
                self._silent[name] = 0.0
            self._known[name] = (beats, now)
        dead = {name for name, silence in self._silent.items() if silence > OVERDUE}
        self.dead = frozenset(dead)
        alive = [row for name, row in rows.items() if name not in dead]
        self.others = len(alive)
        self.others_left = max(
            (math.inf if seconds is None else seconds for _, seconds in alive), default=-math.inf
        )

    def buried(self, name: str) -> None:
        """What a dead process had is given back."""
        with self._lock:
            self._silent.pop(name, None)
            self._known.pop(name, None)
            self.dead -= {name}
            self.claimants -= {name}

    def stop(self) -> None:
        self._end.set()
        self._store.patience = 0.0
        self._thread.join(2.0 * BEAT)
        self._store.close()
        _threads.quiet.discard(self)
        _PULSES.discard(self)


#: Those of this process, and those that a fork waits for. A worker that is forked while one of them
#: held a lock would wait for ever.
_PULSES: set[Pulse] = set()
_STILL: list[Pulse] = []
#: Seconds that a fork waits, at most, where the database is away.
_FORK = 2.0


def _before() -> None:
    _STILL[:] = [one for one in _PULSES if one._busy.acquire(timeout=_FORK)]


def _after() -> None:
    for one in _STILL:
        one._busy.release()
    _STILL.clear()


def _in_child() -> None:
    _threads.quiet.clear()
    _PULSES.clear()
    _STILL.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
