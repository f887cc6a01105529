"""The one path to the objective."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from noisewise._check import integer, integer_or_none, positive_real, real_array, shown, told
from noisewise.errors import BadValueError
from noisewise.problem.trial import Trial
from noisewise.problem.values import LARGEST, Value

#: Seconds to wait at a time: more is too long for some systems.
LONGEST_WAIT = 86400.0


class WorkerDied(RuntimeError):
    """A worker ended during an evaluation, more often than it may be tried again.

    >>> import os, noisewise as nw
    >>> once = nw.executors.processes(1, retries=0)
    >>> try:
    ...     nw.minimize(lambda x: os._exit(1), [1.0], sigma0=1.0, budget=9, executor=once)
    ... except nw.EvaluationError as error:
    ...     print(type(error.__cause__).__name__)
    WorkerDied
    """


class EvaluationTimeout(TimeoutError):
    """An evaluation took longer than it may; it counts as failed.

    >>> import time, noisewise as nw
    >>> hasty = nw.executors.processes(2, timeout=0.1)
    >>> r = nw.minimize(lambda x: time.sleep(60), [1.0], sigma0=1.0, budget=4, executor=hasty)
    >>> r.n_failures
    4
    """


class Outcome(NamedTuple):
    """What came of a trial: a value as the objective returned it, or the exception it raised.

    >>> import noisewise as nw
    >>> nw.executors.Outcome(7, 0.5)
    Outcome(id=7, value=0.5, error=None)
    """

    id: int
    value: Any = None
    error: BaseException | None = None


@dataclass(frozen=True)
class Limits:
    """``timeout``: seconds that an evaluation may take, None: any time. ``retries``: how often a
    trial is tried again whose worker died.

    >>> import noisewise as nw
    >>> nw.executors.Limits(timeout=60.0).but(timeout=None, retries=0)
    Limits(timeout=60.0, retries=0)
    """

    timeout: float | None = None
    retries: int = 2

    def __post_init__(self) -> None:
        integer("retries", self.retries, least=0)
        if self.timeout is not None:
            positive_real("timeout", self.timeout)

    def but(self, timeout: float | None, retries: int | None) -> Limits:
        """These limits, where nothing else is said."""
        return Limits(
            self.timeout if timeout is None else timeout,
            self.retries if retries is None else retries,
        )

    def too_long(self, trial: Trial) -> Outcome:
        """What comes of a trial that is given up."""
        said = f"trial {trial.id} took longer than {float(self.timeout or 0.0):g} s"
        return Outcome(trial.id, error=EvaluationTimeout(said))


class Spec(ABC):
    """Says where evaluations shall run."""

    @abstractmethod
    def start(self, fun: Callable[..., Any], args: tuple[Any, ...], limits: Limits) -> Evaluator:
        """An evaluator bound to this objective; ``limits`` hold where the spec has none."""


@dataclass(frozen=True, kw_only=True)
class Workers(Spec):
    """``workers`` evaluations at a time, with limits of its own where these are not None."""

    workers: int | None = None
    timeout: float | None = None
    retries: int | None = None

    def __post_init__(self) -> None:
        integer_or_none("workers", self.workers, least=1)
        self.within(Limits())

    def within(self, limits: Limits) -> Limits:
        """The limits that hold here."""
        return limits.but(self.timeout, self.retries)


class Evaluator(ABC):
    """Evaluates trials; results come in any order. A context manager."""

    #: How many evaluations run at the same time when the run begins, and whether that may change.
    workers: int = 1
    elastic: bool = False
    #: Whether evaluations work on several copies of the objective.
    copies: bool = False
    #: Whether all trials of a round are one call of the objective.
    together: bool = False
    #: Whether the caller wants to hear of every value as soon as it is there.
    one_at_a_time: bool = False

    def __init__(self) -> None:
        #: What came back; an outcome stays here until the caller has made sure of it.
        self.finished: deque[Outcome] = deque()

    @property
    def slots(self) -> int:
        """How many evaluations can run at the same time now."""
        return self.workers

    @abstractmethod
    def submit(self, trials: list[Trial]) -> None:
        """Take on more trials, for free workers at once if nothing came back meanwhile."""

    @abstractmethod
    def receive(self, block: bool) -> None:
        """Move outcomes to ``finished``: all that are there, after waiting for one if ``block``,
        or for a second at most where workers may come and go.

        Only then is a free worker given its next trial: what came back before is safe by now.
        """

    def keep(self, path: Path, resumed: bool) -> None:  # noqa: B027 - nothing to keep is fine
        """The run is kept in the file ``path``, and goes on from there if it is ``resumed``."""

    def numbers(self, maximize: bool) -> list[Value] | None:
        """What came back, if all of it is ordinary numbers; else each has to be looked at."""
        ids, found, _ = zip(*self.finished, strict=True)
        # A small sum has small terms only.
        if set(map(type, found)) != {float} or not sum(map(abs, found)) < LARGEST:
            return None
        return list(map(Value, ids, [-y for y in found] if maximize else found))

    def evaluated(self, trials: list[Trial]) -> Iterator[Outcome]:
        """What comes of these trials, and of no others, in the order in which it is known."""
        self.submit(trials)
        for _ in trials:
            while not self.finished:
                self.receive(block=True)
            yield self.finished.popleft()

    def close(self) -> None:  # noqa: B027 - nothing to let go of is a fine default
        """Let go of everything, running evaluations included."""

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Serial(Evaluator):
    """One after the other, in this process."""

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
        super().__init__()
        self._fun, self._args = fun, args
        self._queue: deque[Trial] = deque()

    def submit(self, trials: list[Trial]) -> None:
        self._queue.extend(trials)

    def receive(self, block: bool) -> None:
        if not block:
            return
        queue, fun, args, finished = self._queue, self._fun, self._args, self.finished
        while queue:
            trial = queue.popleft()
            try:
                more = {} if trial.seed is None else {"seed": trial.seed}
                finished.append(Outcome(trial.id, fun(trial.x, *args, **more)))
            except Exception as error:  # which may be the end of the run
                finished.append(Outcome(trial.id, error=showable(error)))
                return
            if self.one_at_a_time:
                return


class Vectorized(Evaluator):
    """All trials in one call of the objective."""

    together = True

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
        super().__init__()
        self._fun, self._args = fun, args
        self._queue: list[Trial] = []

    def submit(self, trials: list[Trial]) -> None:
        self._queue.extend(trials)

    def receive(self, block: bool) -> None:
        if block:
            trials, self._queue = self._queue, []
            self.finished.extend(self._evaluated(trials))

    def _evaluated(self, trials: list[Trial]) -> list[Outcome]:
        try:
            more = {"seed": np.array([t.seed for t in trials])} if seed(trials[0]) else {}
            answer = self._fun(np.array([t.x for t in trials]), *self._args, **more)
        except Exception as error:
            return [Outcome(t.id, error=showable(error)) for t in trials]
        n, parts = len(trials), answer if _is_pair(answer) else (answer,)
        columns: list[list[float]] = []
        for part in parts:
            try:
                array = real_array(part)
                said = f"an array of shape {array.shape}"
            except Exception:  # whatever its conversion to an array raises
                array, said = np.empty((0, 0)), shown(part, 60)
            if array.shape != (n,):
                wrong = BadValueError(
                    f"with vectorized=True the objective must return {n} real numbers for {n} "
                    f"points, or a tuple of {n} values and {n} standard errors, got {said}"
                )
                return [Outcome(t.id, error=wrong) for t in trials]
            columns.append(array.tolist())
        measured: Any = zip(*columns, strict=True) if len(columns) == 2 else columns[0]
        return list(map(Outcome, [t.id for t in trials], measured))


def _is_pair(answer: Any) -> bool:
    """Whether an answer for several points is values and their standard errors."""
    return isinstance(answer, tuple) and len(answer) == 2


def showable(error: Exception) -> Exception:
    """``error``, or one that stands for it if it cannot be shown."""
    try:
        str(error)
    except Exception:  # a class of the user's may do anything
        stand_in = RuntimeError(told(error))
        stand_in.__cause__ = error
        return stand_in
    return error


def seed(trial: Trial) -> dict[str, int]:
    """Keyword arguments of the objective: the seed, where the run hands out seeds."""
    return {} if trial.seed is None else {"seed": trial.seed}


def enqueue(queue: deque[Trial], trials: list[Trial]) -> None:
    """Put re-evaluations before everything else: their generation waits for them, while candidates
    may belong to the next one."""
    queue.extend(t for t in trials if t.kind != "reevaluation")
    queue.extendleft(reversed([t for t in trials if t.kind == "reevaluation"]))
