"""The progress bar: one line that rewrites itself on a terminal, a line per tenth elsewhere."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

from noisewise.report.words import clock, printable, put

#: Width of the bar, and that of a terminal that does not say its own.
_WIDTH, _COLUMNS = 20, 80


class Bar:
    """How much of a budget is spent, with more words beside it. Writes to ``stream`` (stderr), from
    any thread; ``spent`` was spent before."""

    def __init__(self, budget: int, spent: int, shown: bool, stream: TextIO | None = None) -> None:
        self._budget, self._already, self._shown = budget, spent, shown
        self._stream = stream or sys.stderr
        self._tty = bool(getattr(self._stream, "isatty", lambda: False)())
        self._start, self._last = time.monotonic(), -math.inf
        self._tenth = 10 * spent // budget
        self._lock = threading.RLock()

    def show(self, spent: int, words: Callable[[], str], every: float = 0.0) -> None:
        """Show that so much is spent, if there is news to show: on a terminal at most once in
        ``every`` seconds, elsewhere once per tenth. Only then ``words`` is called."""
        with self._lock:
            tenth, now = 10 * spent // self._budget, time.monotonic()
            if self._tty and now - self._last >= every:
                self._last = now
                self._rewrite(spent, words())
            elif not self._tty and tenth > self._tenth and self._shown:
                self._write(f"{self._bar(spent)} {self._line(spent, words())}\n")
            self._tenth = tenth

    def say(self, text: str, always: bool = False) -> None:
        """Say something else, on a line of its own; ``always``, even if no bar is shown."""
        with self._lock:
            self._write(("\r\x1b[K" if self._tty else "") + f"{printable(text)}\n", always)

    def finish(self, spent: int, words: Callable[[], str]) -> None:
        """No more is to come."""
        with self._lock:
            if self._tty:
                self._rewrite(spent, words())
                self._write("\n")

    def _line(self, spent: int, words: str) -> str:
        new, passed = spent - self._already, time.monotonic() - self._start
        left = passed * (self._budget - spent) / new if new else math.nan
        parts = (f"{spent}/{self._budget}", words, f"{clock(left)} left")
        return "  ".join(filter(None, parts))

    def _bar(self, spent: int) -> str:
        filled = _WIDTH * spent // self._budget
        return "█" * filled + "·" * (_WIDTH - filled)

    def _rewrite(self, spent: int, words: str) -> None:
        """Replace the terminal's last line, with a bar if there is room for it."""
        line, room = self._line(spent, words), self._columns() - 1
        bar = f"{self._bar(spent)} " if len(line) + _WIDTH < room else ""
        self._write(f"\r{bar}{line[:room]}\x1b[K")

    def _columns(self) -> int:
        """Width of the terminal; a line that wraps could not be rewritten."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS
        except (OSError, ValueError, AttributeError):
            return _COLUMNS

    def _write(self, text: str, always: bool = False) -> None:
        if not (self._shown or always):
            return
        with contextlib.suppress(OSError, ValueError):  # a lost terminal is no lost evaluation
            put(text, self._stream)
