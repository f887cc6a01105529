"""How long a run may take: when its search has to end, so that its answer is measured in time.

Time is counted in evaluations: those that still fit into it, at the pace of the newest ones. As
soon as they are no more than a run of that length would keep for its answer, the search ends. A
last phase grows about like the square root of the budget.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Collection
from typing import Any

from noisewise._check import positive_real
from noisewise.run.pool import LEAST
from noisewise.run.run import Run

#: Newest evaluations whose durations say how long the next ones will take.
_NEWEST = 30


class Clock:
    """Counts down ``max_time`` seconds. ``together``: evaluations are done a round at a time, and
    the answer takes two."""

    def __init__(self, max_time: Any, together: bool = False) -> None:
        self._last = 2 if together else 1
        self._end = time.monotonic() + positive_real("max_time", max_time)
        #: When the trials that are out began, and how long the newest of the others took.
        self._began: dict[int, float] = {}
        self._took: deque[float] = deque(maxlen=_NEWEST)
        #: Seconds in which evaluations ran, each with the number of values that came after it.
        self._paces: deque[tuple[float, int]] = deque(maxlen=_NEWEST)
        self._since = time.monotonic()
        #: Seconds between values and the next trials, which the method took.
        self._pauses: deque[float] = deque(maxlen=_NEWEST)

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self._end - time.monotonic()

    def begin(self, ids: Collection[int]) -> None:
        """These trials are handed to workers."""
        now = time.monotonic()
        self._pauses.append(now - self._since)
        if not self._began:
            self._since = now
        self._began |= dict.fromkeys(ids, now)

    def end(self, ids: Collection[int]) -> None:
        """The values of these trials are there."""
        now = time.monotonic()
        self._paces.append((now - self._since, len(ids)))
        self._since = now
        self._took += [now - self._began.pop(id, now) for id in ids]

    def fits(self, left: float) -> float:
        """Evaluations that can begin now and end in ``left`` seconds, even if the method and the
        last one take as long as they ever did of late."""
        if not self._took:
            return math.inf if left > 0.0 else 0.0
        spent, values = map(sum, zip(*self._paces, strict=True))
        left -= self._last * max(self._took) + max(self._pauses)
        return max(0.0, left) * values / max(spent, 1e-9)

    def over(self, run: Run, left: float | None = None, processes: int = 1) -> int | None:
        """How many evaluations may measure the answer if the search has to end now, else None.
        ``left``: seconds, those of this clock by default; ``processes``: that are as fast."""
        ledger = run.ledger
        if run.time_up or run.final is not None or ledger.told == 0 or ledger.remaining == 0:
            return None
        n = processes * self.fits(self.left if left is None else left)
        if n > ledger.reserve + LEAST:
            return None
        kept = float(ledger.reserve)
        if run.setup.adaptive:
            kept *= math.sqrt(min(1.0, (run.handed + n) / ledger.budget))
        return int(n) if n <= kept + LEAST else None  # as many as may be left of the last round
