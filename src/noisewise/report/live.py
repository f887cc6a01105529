"""What a tuning run does, while it does it: a progress bar, and why evaluations fail."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, TextIO

from noisewise.answer.sentences import misranking_shown
from noisewise.report.bar import Bar
from noisewise.report.words import brief, gains, valued

if TYPE_CHECKING:
    from noisewise.answer.result import Result
    from noisewise.command.program import Evaluation

#: Different reasons of failures that are told in full.
_MOST_REASONS = 5


class Live:
    """Hears of evaluations (from any thread) and of generations; writes to ``stream``."""

    def __init__(self, budget: int, spent: int, shown: bool, stream: TextIO | None = None) -> None:
        self._bar, self._spent = Bar(budget, spent, shown, stream), spent
        self._shown = shown
        self._failures = 0
        #: Reasons of failures that were told, or would have been; a set that keeps their order.
        self._reasons: dict[str, str] = {}
        self._last: Evaluation | None = None
        self._suspected = False
        self._seen = ""
        self._lock = threading.Lock()

    def evaluation(self, evaluation: Evaluation) -> None:
        """One more evaluation is done."""
        with self._lock:
            self._spent += 1
            if evaluation.failure:
                self._failures += 1
                self._tell_failure(evaluation)
            else:
                self._check(evaluation)
            self._bar.show(self._spent, self._words)

    def note(self, text: str) -> None:
        """Say something else."""
        self._bar.say(text)

    def generation(self, intermediate_result: Result) -> None:
        """A generation is done: what it saw and what follows."""
        result = intermediate_result
        error = result.outlook.error if "outlook" in result else math.nan
        shown = brief(result.fun, result.interval, error)
        parts = [shown] if not math.isnan(result.fun) else []
        if (gain := result.get("smallest_gain", math.nan)) > 0.0:
            parts.append(gains(gain))
        parts.append(f"population {result.history['population'][-1]:.0f}")
        if result.misranking_n:
            parts.append(misranking_shown(result.misranking, result.misranking_n))
        with self._lock:
            self._seen = "  ".join(parts)

    def finish(self) -> None:
        """No more is to come. Why there is no value is said in any case."""
        with self._lock:
            if self._last is None and not self._shown:
                for said in self._reasons.values():
                    self._bar.say(said, always=True)
            self._bar.finish(self._spent, self._words)

    def _check(self, evaluation: Evaluation) -> None:
        """Tell where the first value was read, and warn where values seem to count something."""
        last, self._last = self._last, evaluation
        found = evaluation.found
        if found is None or self._suspected:
            return
        if last is None:
            self._bar.say(f"the first value is {found.value:g}, read from: {found.around}")
        elif (
            found.counter
            and last.value == evaluation.value
            and last.parameters != evaluation.parameters
        ):
            self._suspected = True
            self._bar.say(
                f"two evaluations in a row gave {found.value:g}, read from: {found.around} - if "
                "that counts steps and is not the value, say where it is with --regex or --json",
                always=True,
            )

    def _tell_failure(self, evaluation: Evaluation) -> None:
        if evaluation.failure in self._reasons or len(self._reasons) >= _MOST_REASONS:
            return
        given = ", ".join(f"{name}={valued(v)}" for name, v in evaluation.parameters.items())
        said = f"an evaluation failed ({given}): {evaluation.failure}"
        self._reasons[evaluation.failure] = said
        self._bar.say(said)
        if len(self._reasons) == _MOST_REASONS:
            self._bar.say("further kinds of failures are counted, not shown")

    def _words(self) -> str:
        failed = f"{self._failures} failed" if self._failures else ""
        return "  ".join(filter(None, (self._seen, failed)))
