"""Worker processes of our own: a worker that dies or hangs costs its evaluation only.

Each worker has a pipe and holds one trial at a time, so it is always known which trial was lost
with a worker. A lost trial is tried again ``retries`` times, at no extra charge: its evaluation
never came to an end. A trial that exceeds ``timeout`` seconds ends with its worker and counts as
a failure. A worker leads a process group that ends with it: processes that the objective started
must not go on beside their successors. `_starting` says how workers are started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

from noisewise._check import integer, told
from noisewise.errors import BadValueError
from noisewise.executors import _groups, _seeding, _starting
from noisewise.executors._worker import BEGUN, LOOK, WRONG, work
from noisewise.executors.base import (
    LONGEST_WAIT,
    Evaluator,
    Limits,
    Outcome,
    WorkerDied,
    Workers,
    enqueue,
    seed,
)
from noisewise.problem.trial import Trial

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Seconds that a worker may take to start and to load the objective, where there is a time-out.
_STARTING = 60.0


@dataclass(frozen=True, kw_only=True)
class ProcessSpec(Workers):
    """See `processes`."""

    workers: int

    def start(self, fun: Callable[..., Any], args: tuple[Any, ...], limits: Limits) -> Processes:
        return Processes(fun, args, self.workers, self.within(limits))


def processes(
    workers: int, *, timeout: float | None = None, retries: int | None = None
) -> ProcessSpec:
    """Worker processes on this machine, for ``executor=``.

    ``timeout`` is in seconds per evaluation: one that takes longer is ended with its worker and
    all processes that it started, and counts as failed. A trial whose worker dies is tried again
    at most ``retries`` times (2 by default), at no charge.

    The objective may start processes of its own. The global generators of numpy and `random` are
    seeded in the worker before each evaluation, so that forked workers do not repeat each other.

    >>> import noisewise as nw
    >>> two = nw.executors.processes(2, timeout=60.0)
    >>> nw.minimize(lambda x: x @ x, [1.0], sigma0=1.0, budget=20, executor=two, rng=0).nfev
    20
    """
    n = integer("workers", workers, least=1)
    return ProcessSpec(workers=n, timeout=timeout, retries=retries)


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    #: Becomes readable when the process ends; None where the system cannot tell.
    life: int | None
    forked: bool
    trial: Trial | None = None
    deadline: float = float("inf")


class Processes(Evaluator):
    """Evaluates on worker processes of its own."""

    def __init__(
        self,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        workers: int,
        limits: Limits,
    ) -> None:
        import multiprocessing as mp  # takes long to import

        super().__init__()
        if mp.current_process().daemon:
            raise ValueError(
                "workers and timeout need processes of their own, which this daemonic process "
                "cannot start: use workers=1 without timeout, or executors.threads"
            )
        self.workers, self.copies = workers, workers > 1
        self._start, self._limits = _starting.Start(fun, args), limits
        #: Whether a worker has ever answered.
        self._answered = False
        self._queue: deque[Trial] = deque()
        self._attempts: dict[int, int] = {}
        self._pool: list[_Worker] = []
        self._entropy = _seeding.entropy()

    def submit(self, trials: list[Trial]) -> None:
        enqueue(self._queue, trials)
        if not self.finished:
            self._feed()

    def receive(self, block: bool) -> None:
        from multiprocessing.connection import wait  # takes long to import

        if block:  # else the run is over
            self._feed()
        busy = [w for w in self._pool if w.trial is not None]
        nearest = min((w.deadline for w in busy), default=0.0)
        patience = min(LONGEST_WAIT, max(0.0, nearest - time.monotonic()))
        lives = [w.life for w in busy if w.life is not None]
        if len(lives) < len(busy):
            patience = min(patience, LOOK)
        ready = set(wait([*(w.pipe for w in busy), *lives], patience if block else 0.0))
        for worker in busy:
            # A child may keep the pipe of a dead worker open: its end of file never comes then.
            if worker.pipe in ready or (_is_dead(worker, ready) and worker.pipe.poll()):
                self._receive(worker)
            elif _is_dead(worker, ready):
                self._lost(worker)
            elif time.monotonic() >= worker.deadline:
                self._give_up(worker)

    def close(self) -> None:
        with _no_interrupts():  # a second Ctrl-C must not leave half of them
            for worker in self._pool:
                self._end(worker)
        self._pool.clear()
        self._queue.clear()

    def _feed(self) -> None:
        """Give every idle worker a trial, starting workers as needed."""
        idle = [w for w in self._pool if w.trial is None]
        while self._queue and (idle or len(self._pool) < self.workers):
            used = idle.pop() if idle else None
            worker = used or self._hire()
            try:
                worker.pipe.send((self._queue[0].x, self._queue[0].id, seed(self._queue[0])))
            except OSError:
                if used:  # it died while it was idle
                    self._dismiss(used)
                    continue  # one that died at birth is found out when collecting
            worker.trial = self._queue.popleft()
            if self._limits.timeout is not None:
                start = 0.0 if used else _STARTING
                worker.deadline = time.monotonic() + start + self._limits.timeout

    def _receive(self, worker: _Worker) -> None:
        trial = worker.trial
        assert trial is not None
        try:
            answer = worker.pipe.recv()
            if answer == BEGUN:
                if self._limits.timeout is not None:
                    worker.deadline = time.monotonic() + self._limits.timeout
                if not worker.pipe.poll():
                    return
                answer = worker.pipe.recv()  # it was quick
            value, error = answer
        except (EOFError, OSError):
            self._lost(worker)
            return
        except Exception as why:  # whatever building the value here raises
            said = f"{WRONG}, got what cannot be received: {told(why)}"
            value, error = None, BadValueError(said)
        self._answered = True
        self.finished.append(Outcome(trial.id, value, error))
        worker.trial, worker.deadline = None, float("inf")
        self._attempts.pop(trial.id, None)

    def _lost(self, worker: _Worker) -> None:
        """The worker died with its trial: try again, or report it."""
        trial = worker.trial
        assert trial is not None
        self._dismiss(worker)
        attempts = self._attempts[trial.id] = self._attempts.get(trial.id, 0) + 1
        if attempts <= self._limits.retries:
            self._queue.appendleft(trial)
            return
        said = f"the worker process died {attempts} times on trial {trial.id}"
        if not self._answered and not worker.forked:
            said += (
                " and none has ever answered: workers import the main script, so put what it runs "
                'under if __name__ == "__main__":'
            )
        error = WorkerDied(said)
        self.finished.append(Outcome(trial.id, error=error))

    def _give_up(self, worker: _Worker) -> None:
        trial = worker.trial
        assert trial is not None
        self._dismiss(worker)
        self.finished.append(self._limits.too_long(trial))

    def _hire(self) -> _Worker:
        context, objective = self._start.context()
        ours, theirs = context.Pipe()
        # A fork inherits our ends of all pipes, which would keep them open if we died.
        forked = context.get_start_method() == _starting.FORK
        others: list[Any] = [ours] if forked else []
        for one in self._pool if forked else ():
            others += [one.pipe, one.life]
        process = context.Process(
            target=work, args=(theirs, objective, self._entropy, others), daemon=True
        )
        with _no_interrupts():  # what handles one while forking would swallow it
            process.start()
        theirs.close()  # so that our end reads the end of file when the worker dies
        if forked:
            _groups.lead(process.pid)  # the worker does so, too: neither may come too late
        worker = _Worker(process, ours, _life(process.pid), forked)
        self._pool.append(worker)
        return worker

    def _dismiss(self, worker: _Worker) -> None:
        self._pool.remove(worker)
        self._end(worker)

    def _end(self, worker: _Worker) -> None:
        worker.pipe.close()
        _groups.end(worker.process.pid)
        worker.process.kill()
        worker.process.join()
        if worker.life is not None:
            os.close(worker.life)


def _life(pid: int) -> int | None:
    """What becomes readable when the process ends. Its sentinel does not: it is a pipe, which
    forked children of the process keep open as well."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _is_dead(worker: _Worker, ready: set[Any]) -> bool:
    return not worker.process.is_alive() if worker.life is None else worker.life in ready


@contextlib.contextmanager
def _no_interrupts() -> Iterator[None]:
    """Ctrl-C comes a moment later, whichever thread the system gives it to."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])
