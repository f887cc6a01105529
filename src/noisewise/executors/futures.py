"""Any executor that speaks ``concurrent.futures``."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from typing import Any

from noisewise.engine import Trial
from noisewise.executors.base import Evaluator, Outcome


class Futures(Evaluator):
    """Hands trials to the user's executor, which stays the user's to shut down."""

    def __init__(
        self, fun: Callable[..., Any], args: tuple[Any, ...], executor: Executor, workers: int
    ) -> None:
        self._fun, self._args, self._executor = fun, args, executor
        known = getattr(executor, "_max_workers", None)
        self.workers = workers if workers > 1 else int(known or os.cpu_count() or 1)
        self._running: dict[Future[Any], int] = {}

    def submit(self, trials: list[Trial]) -> None:
        for trial in trials:
            self._running[self._future(trial)] = trial.id

    def _future(self, trial: Trial) -> Future[Any]:
        try:
            return self._executor.submit(self._fun, trial.x, *self._args)
        except Exception as error:
            refused: Future[Any] = Future()
            said = f"the executor takes no evaluations: {type(error).__name__}: {error}"
            refused.set_exception(BrokenExecutor(said))
            return refused

    def collect(self) -> list[Outcome]:
        done, _ = wait(self._running, return_when=FIRST_COMPLETED)
        return [self._outcome(future) for future in done]

    def _outcome(self, future: Future[Any]) -> Outcome:
        id = self._running.pop(future)
        try:
            error = future.exception()
        except CancelledError as cancelled:
            return Outcome(id, error=cancelled)
        return Outcome(id, error=error) if error is not None else Outcome(id, future.result())

    def close(self) -> None:
        for future in self._running:
            future.cancel()
        self._running.clear()
