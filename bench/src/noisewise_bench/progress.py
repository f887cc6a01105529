"""How far a campaign is and how long it still takes, on one line of a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

#: Seconds between two updates of a terminal, and of a log file.
TERMINAL, LOG = 0.2, 10.0


class Progress:
    """Counts finished tasks; draws a bar on a terminal and writes plain lines elsewhere."""

    def __init__(
        self,
        total: int,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        quiet: bool = False,
    ) -> None:
        self.total, self.done, self.failed = total, 0, 0
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._clock = clock
        self._quiet = quiet
        self._start = self._drawn = clock()

    def add(self, done: int, failed: int) -> None:
        """Note finished tasks, of which ``failed`` failed."""
        self.done += done
        self.failed += failed
        if self._quiet:
            return
        now = self._clock()
        pause = TERMINAL if self._terminal else LOG
        if now - self._drawn >= pause or self.done == self.total:
            self._drawn = now
            self._draw(now - self._start)

    def close(self) -> None:
        """Leave the line, so that what follows starts on its own."""
        if self._terminal and self.done and not self._quiet:
            self._stream.write("\n")
            self._stream.flush()

    def _draw(self, elapsed: float) -> None:
        left = elapsed * (self.total - self.done) / max(self.done, 1)
        trouble = f", {self.failed} failed" if self.failed else ""
        text = f"{self.done}/{self.total} runs{trouble}, {span(elapsed)} gone, {span(left)} left"
        if self._terminal:
            filled = 24 * self.done // max(self.total, 1)
            self._stream.write(f"\r[{'#' * filled}{'.' * (24 - filled)}] {text}\x1b[K")
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()


def span(seconds: float) -> str:
    """A duration for people: 42s, 3m07s, 2h05m."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
