"""What a tuning run does, while it does it: one line that rewrites itself, or a line per tenth."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, TextIO

from noisewise.report.words import clock, printable, put, valued

if TYPE_CHECKING:
    from noisewise.command.program import Evaluation
    from noisewise.result import Result

_WIDTH = 20
#: Width of a terminal that does not say.
_COLUMNS = 80
#: Different reasons of failures that are told in full.
_MOST_REASONS = 5


class Live:
    """Hears of evaluations (from any thread) and of generations; writes to ``stream``."""

    def __init__(self, budget: int, spent: int, shown: bool, stream: TextIO | None = None) -> None:
        self._budget, self._spent, self._already = budget, spent, spent
        self._stream = stream or sys.stderr
        self._shown = shown
        self._tty = bool(getattr(self._stream, "isatty", lambda: False)())
        self._start = time.monotonic()
        self._tenth = 10 * spent // budget
        self._failures = 0
        self._reasons: set[str] = set()
        self._seen = ""
        self._lock = threading.Lock()

    def evaluation(self, evaluation: Evaluation) -> None:
        """One more evaluation is done."""
        with self._lock:
            self._spent += 1
            if evaluation.failure:
                self._failures += 1
                self._tell_failure(evaluation)
            tenth = 10 * self._spent // self._budget
            if self._tty:
                self._rewrite(self._line())
            elif tenth > self._tenth:
                self._write(f"{self._bar()} {self._line()}\n")
            self._tenth = tenth

    def note(self, text: str) -> None:
        """Say something else."""
        with self._lock:
            self._say(text)

    def generation(self, intermediate_result: Result) -> None:
        """A generation is done: what it saw and what follows."""
        result = intermediate_result
        parts = [f"f ≈ {result.fun:.4g}"] if not math.isnan(result.fun) else []
        parts.append(f"population {result.history['population'][-1]:.0f}")
        if not math.isnan(result.misranking):
            parts.append(f"misranking {result.misranking:.2f}")
        with self._lock:
            self._seen = "  ".join(parts)

    def finish(self) -> None:
        """No more is to come."""
        with self._lock:
            if self._tty:
                self._rewrite(self._line())
                self._write("\n")

    def _tell_failure(self, evaluation: Evaluation) -> None:
        if evaluation.failure in self._reasons or len(self._reasons) >= _MOST_REASONS:
            return
        self._reasons.add(evaluation.failure)
        given = ", ".join(f"{name}={valued(v)}" for name, v in evaluation.parameters.items())
        self._say(f"an evaluation failed ({given}): {evaluation.failure}")
        if len(self._reasons) == _MOST_REASONS:
            self._say("further kinds of failures are counted, not shown")

    def _say(self, text: str) -> None:
        """A line of its own."""
        if self._tty:
            self._rewrite("")
        self._write(f"{printable(text)}\n")

    def _line(self) -> str:
        new = self._spent - self._already
        passed = time.monotonic() - self._start
        left = passed * (self._budget - self._spent) / new if new else math.nan
        parts = [f"{self._spent}/{self._budget}", self._seen]
        parts += [f"{self._failures} failed"] if self._failures else []
        parts.append(f"{clock(left)} left")
        return "  ".join(part for part in parts if part)

    def _bar(self) -> str:
        filled = _WIDTH * self._spent // self._budget
        return "█" * filled + "·" * (_WIDTH - filled)

    def _rewrite(self, line: str) -> None:
        """Replace the terminal's last line, with a bar if there is room for it."""
        room = self._columns() - 1
        bar = f"{self._bar()} " if line and len(line) + _WIDTH < room else ""
        self._write(f"\r{bar}{line[:room]}\x1b[K")

    def _columns(self) -> int:
        """Width of the terminal; a line that wraps could not be rewritten."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS
        except (OSError, ValueError, AttributeError):
            return _COLUMNS

    def _write(self, text: str) -> None:
        if not self._shown:
            return
        with contextlib.suppress(OSError, ValueError):  # a lost terminal is no lost evaluation
            put(text, self._stream)
