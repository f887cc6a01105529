"""A progress bar on stderr: one line that rewrites itself, or a line per tenth elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, TextIO

from noisewise.report.words import clock as _clock
from noisewise.report.words import printable, put

if TYPE_CHECKING:
    from noisewise.optimizer import Optimizer

_WIDTH = 28
#: Seconds between two updates of the bar.
_EVERY = 0.1


class Progress:
    """Shows how far a run is and what it sees."""

    def __init__(self, opt: Optimizer, shown: bool, stream: TextIO | None = None) -> None:
        self._opt, self._shown = opt, shown
        self._stream = stream or sys.stderr
        self._tty = bool(getattr(self._stream, "isatty", lambda: False)())
        self._start = self._last = time.monotonic()
        self._already = opt.spent
        self._tenth = 0

    def update(self) -> None:
        """After a generation."""
        if not self._shown:
            return
        now = time.monotonic()
        if self._tty and now - self._last >= _EVERY:
            self._last = now
            self._write("\r" + self._line(now) + "\x1b[K")
        elif not self._tty and 10 * self._opt.spent // self._opt.budget > self._tenth:
            self._tenth = 10 * self._opt.spent // self._opt.budget
            self._write(self._line(now) + "\n")

    def say(self, *lines: str) -> None:
        """Say something else, each on a line of its own."""
        for line in lines if self._shown else ():
            self._write(("\r\x1b[K" if self._tty else "") + f"{printable(line)}\n")

    def finish(self) -> None:
        """After the last generation."""
        if self._shown and self._tty:
            self._write("\r" + self._line(time.monotonic()) + "\x1b[K\n")

    def _line(self, now: float) -> str:
        spent, budget = self._opt.spent, self._opt.budget
        filled = _WIDTH * spent // budget
        bar = "█" * filled + "·" * (_WIDTH - filled)
        new = spent - self._already
        left = (now - self._start) * (budget - spent) / new if new else float("nan")
        best = self._opt.recommend()
        return f"{bar} {spent}/{budget}  f ≈ {best.fun:.4g}  {_clock(left)} left"

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # a lost terminal is no lost evaluation
            put(text, self._stream)
