"""Asking, evaluating, writing down, telling: one value after the other."""

from __future__ import annotations

import contextlib
from concurrent.futures import BrokenExecutor

from noisewise._values import as_value
from noisewise.checkpoint import Journal
from noisewise.errors import BadValueError, EvaluationError
from noisewise.executors import Evaluator, Outcome
from noisewise.executors.base import EvaluationTimeout
from noisewise.optimizer import Optimizer


class Drive:
    """Moves a run on. A value is in the journal before anything is made of it."""

    def __init__(
        self, opt: Optimizer, evaluator: Evaluator, journal: Journal | None, on_error: str
    ) -> None:
        self._opt, self._evaluator, self._journal = opt, evaluator, journal
        self._on_error = on_error
        #: Whether the optimizer is between an ask and a tell, not within one.
        self._whole = True

    def step(self) -> None:
        """Wait for one value and tell it."""
        self._whole = False
        trials = self._opt.ask()
        self._whole = True
        self._evaluator.submit(trials)
        self._settle(self._evaluator.first())

    def rescue(self) -> None:
        """Keep the values that are there but were not told, when something ended the run. Not the
        failures: they may come of what ended the run, as when Ctrl-C reaches a program, too."""
        with contextlib.suppress(Exception):  # what ended the run is what the user shall see
            self._evaluator.receive(block=False)
        finished = self._evaluator.finished
        while finished:
            outcome = finished[0]
            if outcome.error is None:
                with contextlib.suppress(Exception):
                    self._settle(outcome)
            if finished and finished[0] is outcome:
                finished.popleft()

    def _settle(self, outcome: Outcome) -> None:
        opt, value = self._opt, self._value(outcome)
        if self._journal is not None:
            self._journal.append(outcome.id, value)
        self._evaluator.finished.popleft()
        if self._whole:
            self._whole = False
            opt.tell(outcome.id, value)
            self._whole = True

    def _value(self, outcome: Outcome) -> float:
        """The outcome's value, +inf for a failure; raises where the user wants that."""
        opt, error = self._opt, outcome.error
        if error is None:
            try:
                return as_value(outcome.value)
            except BadValueError as wrong:
                error = wrong
        if isinstance(error, BadValueError):
            raise EvaluationError(str(error), opt.result()) from error
        if isinstance(error, EvaluationTimeout):  # the user said when to give up
            return float("inf")
        # A broken pool is no failure of the objective, and every further evaluation would meet it.
        if self._on_error == "worst" and not isinstance(error, BrokenExecutor):
            return float("inf")
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise EvaluationError(
            f"evaluation {outcome.id} failed after {opt.spent} evaluations with {what}",
            opt.result(),
        ) from error
