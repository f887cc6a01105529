"""Anything that answers with futures: ``concurrent.futures``, Dask, Ray."""

from __future__ import annotations

import contextlib
import os
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from noisewise._check import integer, shown, told
from noisewise.executors import _seeding
from noisewise.executors.base import (
    LONGEST_WAIT,
    Evaluator,
    Limits,
    Outcome,
    WorkerDied,
    Workers,
    enqueue,
    seed,
    showable,
)
from noisewise.problem.trial import Trial

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: Seconds between two questions to a cluster how many workers it has.
_ASKED_EVERY = 1.0
#: Timeouts that workers which hang get to come back before the run is given up.
_GRACE = 10.0


class Source(ABC):
    """Where futures come from. A future has ``add_done_callback``, ``done``, ``cancelled`` and
    ``cancel``."""

    #: How many evaluations run at the same time, when the run begins.
    workers: int
    #: Whether that number may change.
    elastic: bool = False
    #: Whether every evaluation, or every worker, gets a copy of the objective.
    copies: bool = True

    @abstractmethod
    def submit(self, fun: Callable[..., Any], x: Any, args: tuple[Any, ...], **more: Any) -> Any:
        """The future of ``fun(x, *args, **more)``."""

    @abstractmethod
    def result(self, future: Any) -> Any:
        """The value of a future that is done; raises what the evaluation raised, or
        `WorkerDied` if it was lost with its worker."""

    def slots(self) -> int:
        """How many evaluations can run at the same time now. Only asked for if ``elastic``."""
        return self.workers

    def free(self, future: Any) -> bool:
        """Make the worker of a future that is given up do something else; whether that worked."""
        return bool(future.cancel())

    def close(self) -> None:  # noqa: B027 - nothing to let go of is a fine default
        """Let go of what belongs to the library."""


class ExecutorSource(Source):
    """An executor, which stays the user's to shut down unless it is our ``own``."""

    def __init__(self, executor: Executor, workers: int | None = None, own: bool = False) -> None:
        known = getattr(executor, "_max_workers", None)
        self._executor, self._own = executor, own
        self.workers = workers or int(known or os.cpu_count() or 1)
        from concurrent.futures import ProcessPoolExecutor  # takes long to import

        # Forked workers repeat each other's random numbers; threads share the user's generators.
        forks = isinstance(executor, ProcessPoolExecutor)
        self.copies = forks
        self._entropy = _seeding.entropy() if forks else None
        self._submitted = 0

    def submit(self, fun: Callable[..., Any], x: Any, args: tuple[Any, ...], **more: Any) -> Any:
        if self._entropy is not None:
            fun = _seeding.Seeded(fun, self._entropy, self._submitted)
            self._submitted += 1
        return self._executor.submit(fun, x, *args, **more)

    def result(self, future: Any) -> Any:
        return future.result()

    def close(self) -> None:
        if self._own:
            self._executor.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, kw_only=True)
class ThreadSpec(Workers):
    """See `threads`."""

    def start(self, fun: Callable[..., Any], args: tuple[Any, ...], limits: Limits) -> Futures:
        from concurrent.futures import ThreadPoolExecutor  # takes long to import

        threads = ThreadPoolExecutor(self.workers, thread_name_prefix="noisewise")
        source = ExecutorSource(threads, self.workers, own=True)
        return Futures(fun, args, source, self.within(limits))


def threads(workers: int, *, timeout: float | None = None) -> ThreadSpec:
    """Threads of this process, for ``executor=``.

    They suit objectives that wait for something else: another program, a network, a library that
    releases the interpreter's lock. ``timeout`` is in seconds per evaluation; a thread cannot be
    interrupted, so an evaluation that takes longer counts as failed but keeps its thread busy
    until it ends.

    >>> import noisewise as nw
    >>> two = nw.executors.threads(2, timeout=60.0)
    >>> nw.minimize(lambda x: x @ x, [1.0], sigma0=1.0, budget=20, executor=two, rng=0).nfev
    20
    """
    return ThreadSpec(workers=integer("workers", workers, least=1), timeout=timeout)


@dataclass(frozen=True, kw_only=True)
class PoolSpec(Workers):
    """See `pool`."""

    executor: Executor

    def __post_init__(self) -> None:
        from concurrent.futures import Executor  # takes long to import

        if not isinstance(self.executor, Executor):
            raise ValueError(
                f"executor must be a concurrent.futures.Executor, got {shown(self.executor)}"
            )
        super().__post_init__()

    def start(self, fun: Callable[..., Any], args: tuple[Any, ...], limits: Limits) -> Futures:
        source = ExecutorSource(self.executor, self.workers)
        return Futures(fun, args, source, self.within(limits))


def pool(
    executor: Executor, *, workers: int | None = None, timeout: float | None = None
) -> PoolSpec:
    """Any ``concurrent.futures.Executor`` with limits, for ``executor=``. It is not shut down.

    ``workers`` is how many evaluations it runs at the same time; Python's own executors know it.
    ``timeout`` is in seconds from when an evaluation is handed over; one that takes
    longer counts as failed but may keep its worker busy until it ends.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import noisewise as nw
    >>> with ThreadPoolExecutor(2) as mine:
    ...     where = nw.executors.pool(mine, timeout=60.0)
    ...     nw.minimize(lambda x: x @ x, [1.0], sigma0=1.0, budget=20, executor=where, rng=0).nfev
    20
    """
    return PoolSpec(executor=executor, workers=workers, timeout=timeout)


@dataclass(frozen=True)
class _Flight:
    future: Any
    trial: Trial
    deadline: float


class Futures(Evaluator):
    """Hands trials to a source and waits for the futures.

    Without a timeout all trials are handed over at once. With one, only as many as there are
    workers: an evaluation's time runs from there. An evaluation that is given up may go on and
    keep its worker busy; when that is so for all of them, they get ten times as long to come back.
    """

    def __init__(
        self, fun: Callable[..., Any], args: tuple[Any, ...], source: Source, limits: Limits
    ) -> None:
        super().__init__()
        self.workers, self.copies, self.elastic = source.workers, source.copies, source.elastic
        self._slots, self._asked = source.workers, time.monotonic()
        self._fun, self._args, self._source, self._limits = fun, args, source, limits
        self._queue: deque[Trial] = deque()
        self._flights: dict[int, _Flight] = {}
        self._stuck: dict[int, Any] = {}
        self._jammed = float("inf")  # until when a worker must be free again
        self._tickets = 0
        self._landed: SimpleQueue[int] = SimpleQueue()
        self._attempts: dict[int, int] = {}

    @property
    def slots(self) -> int:
        if self.elastic and time.monotonic() - self._asked >= _ASKED_EVERY:
            self._slots, self._asked = self._source.slots(), time.monotonic()
        return self._slots

    def submit(self, trials: list[Trial]) -> None:
        enqueue(self._queue, trials)
        if not self.finished:
            self._feed()

    def receive(self, block: bool) -> None:
        if not block:  # the run is over
            for ticket, flight in list(self._flights.items()):
                if flight.future.done():
                    self._land(ticket)
            return
        self._feed()
        self._wait()
        while not self._landed.empty():
            self._land(self._landed.get())
        for ticket, flight in list(self._flights.items()):
            if time.monotonic() >= flight.deadline:
                self._give_up(ticket)

    def close(self) -> None:
        for future in [*self._stuck.values(), *(f.future for f in self._flights.values())]:
            future.cancel()
        self._flights.clear()
        self._stuck.clear()
        self._queue.clear()
        self._source.close()

    def _wait(self) -> None:
        """Until one lands or is due."""
        if self.finished:  # refused
            return
        due = min([self._jammed, *(flight.deadline for flight in self._flights.values())])
        longest = _ASKED_EVERY if self.elastic else LONGEST_WAIT
        patience = min(longest, max(0.0, due - time.monotonic()))
        with contextlib.suppress(Empty):
            self._land(self._landed.get(timeout=patience))

    def _feed(self) -> None:
        timeout = self._limits.timeout
        if timeout is not None:
            self._look_for_jam(timeout)
        while self._queue:
            if timeout is not None and len(self._flights) + len(self._stuck) >= self.workers:
                return
            trial = self._queue.popleft()
            try:
                future = self._source.submit(self._fun, trial.x, self._args, **seed(trial))
            except Exception as error:
                self._queue.appendleft(trial)
                self._refuse(f"the executor takes no evaluations: {told(error)}")
                return
            self._tickets = ticket = self._tickets + 1
            deadline = float("inf") if timeout is None else time.monotonic() + timeout
            self._flights[ticket] = _Flight(future, trial, deadline)
            future.add_done_callback(lambda _, ticket=ticket: self._landed.put(ticket))

    def _look_for_jam(self, timeout: float) -> None:
        if len(self._stuck) < self.workers:
            self._jammed = float("inf")
        elif self._jammed == float("inf"):
            self._jammed = time.monotonic() + _GRACE * timeout
        elif time.monotonic() >= self._jammed:
            self._refuse(f"all {self.workers} workers hang in evaluations that were given up")

    def _refuse(self, said: str) -> None:
        """Nothing that waits can ever be evaluated."""
        from concurrent.futures import BrokenExecutor  # takes long to import

        broken = BrokenExecutor(said)
        self.finished.extend(Outcome(trial.id, error=broken) for trial in self._queue)
        self._queue.clear()

    def _land(self, ticket: int) -> None:
        self._stuck.pop(ticket, None)
        flight = self._flights.get(ticket)
        if flight is None:  # given up
            return
        outcome = self._outcome(flight)
        if outcome is None:
            self._queue.appendleft(flight.trial)
        else:
            self.finished.append(outcome)
            self._attempts.pop(flight.trial.id, None)
        del self._flights[ticket]  # not before: an interrupt must not lose it

    def _outcome(self, flight: _Flight) -> Outcome | None:
        """What came of a trial; None: its worker died, and it may be tried again."""
        from concurrent.futures import BrokenExecutor, CancelledError  # takes long to import

        id = flight.trial.id
        try:
            return Outcome(id, self._source.result(flight.future))
        except WorkerDied as death:
            attempts = self._attempts[id] = self._attempts.get(id, 0) + 1
            return None if attempts <= self._limits.retries else Outcome(id, error=death)
        except (Exception, CancelledError) as error:
            if not flight.future.cancelled():
                return Outcome(id, error=showable(error))
            # Not by us: the executor is closing, or lost its scheduler.
            said = f"the executor cancelled an evaluation: {told(error)}"
            return Outcome(id, error=BrokenExecutor(said))

    def _give_up(self, ticket: int) -> None:
        flight = self._flights.pop(ticket)
        if not self._source.free(flight.future):
            self._stuck[ticket] = flight.future
        self.finished.append(self._limits.too_long(flight.trial))
