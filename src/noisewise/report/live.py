"""What a tuning run does, while it does it: a progress bar, and why evaluations fail."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, TextIO

from noisewise.outlook import misranking_shown
from noisewise.report.bar import Bar
from noisewise.report.words import brief, valued

if TYPE_CHECKING:
    from noisewise.command.program import Evaluation
    from noisewise.result import Result

#: Different reasons of failures that are told in full.
_MOST_REASONS = 5


class Live:
    """Hears of evaluations (from any thread) and of generations; writes to ``stream``."""

    def __init__(self, budget: int, spent: int, shown: bool, stream: TextIO | None = None) -> None:
        self._bar, self._spent = Bar(budget, spent, shown, stream), spent
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
            self._bar.show(self._spent, self._words)

    def note(self, text: str) -> None:
        """Say something else."""
        self._bar.say(text)

    def generation(self, intermediate_result: Result) -> None:
        """A generation is done: what it saw and what follows."""
        result = intermediate_result
        shown = brief(result.fun, result.interval)
        parts = [shown] if not math.isnan(result.fun) else []
        parts.append(f"population {result.history['population'][-1]:.0f}")
        if result.misranking_n:
            parts.append(misranking_shown(result.misranking, result.misranking_n))
        with self._lock:
            self._seen = "  ".join(parts)

    def finish(self) -> None:
        """No more is to come."""
        with self._lock:
            self._bar.finish(self._spent, self._words)

    def _tell_failure(self, evaluation: Evaluation) -> None:
        if evaluation.failure in self._reasons or len(self._reasons) >= _MOST_REASONS:
            return
        self._reasons.add(evaluation.failure)
        given = ", ".join(f"{name}={valued(v)}" for name, v in evaluation.parameters.items())
        self._bar.say(f"an evaluation failed ({given}): {evaluation.failure}")
        if len(self._reasons) == _MOST_REASONS:
            self._bar.say("further kinds of failures are counted, not shown")

    def _words(self) -> str:
        failed = f"{self._failures} failed" if self._failures else ""
        return "  ".join(filter(None, (self._seen, failed)))
