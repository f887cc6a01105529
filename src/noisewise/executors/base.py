"""The one path to the objective."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._check import real_array, shown
from noisewise.engine import Trial
from noisewise.errors import BadValueError


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a trial: a value as the objective returned it, or the exception it raised.

    >>> import noisewise as nw
    >>> nw.executors.Outcome(7, 0.5)
    Outcome(id=7, value=0.5, error=None)
    """

    id: int
    value: Any = None
    error: BaseException | None = None


class Spec(ABC):
    """Says where evaluations shall run."""

    @abstractmethod
    def start(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> Evaluator:
        """An evaluator bound to this objective."""


class Evaluator(ABC):
    """Evaluates trials; results come in any order. A context manager."""

    #: How many evaluations run at the same time.
    workers: int = 1

    @abstractmethod
    def submit(self, trials: list[Trial]) -> None:
        """Take on more trials."""

    @abstractmethod
    def collect(self) -> list[Outcome]:
        """Wait until at least one trial is finished and return all that are."""

    def close(self) -> None:  # noqa: B027 - nothing to let go of is a fine default
        """Let go of everything, running evaluations included."""

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Serial(Evaluator):
    """One after the other, in this process."""

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._fun, self._args = fun, args
        self._queue: deque[Trial] = deque()

    def submit(self, trials: list[Trial]) -> None:
        self._queue.extend(trials)

    def collect(self) -> list[Outcome]:
        trial = self._queue.popleft()
        try:
            return [Outcome(trial.id, self._fun(trial.x, *self._args))]
        except Exception as error:
            return [Outcome(trial.id, error=error)]


class Vectorized(Evaluator):
    """All trials in one call of the objective."""

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._fun, self._args = fun, args
        self._queue: list[Trial] = []

    def submit(self, trials: list[Trial]) -> None:
        self._queue.extend(trials)

    def collect(self) -> list[Outcome]:
        trials, self._queue = self._queue, []
        try:
            answer = self._fun(np.array([t.x for t in trials]), *self._args)
        except Exception as error:
            return [Outcome(t.id, error=error) for t in trials]
        try:
            values = real_array(answer)
            said = f"an array of shape {values.shape}"
        except Exception:  # whatever its conversion to an array raises
            values, said = np.empty(0), shown(answer, 60)
        if values.shape != (len(trials),):
            wrong = BadValueError(
                f"with vectorized=True the objective must return {len(trials)} real numbers for "
                f"{len(trials)} points, got {said}"
            )
            return [Outcome(t.id, error=wrong) for t in trials]
        return [Outcome(t.id, v) for t, v in zip(trials, values.tolist(), strict=True)]
