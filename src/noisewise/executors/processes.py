"""Worker processes of our own: a worker that dies or hangs costs its evaluation only.

Each worker has a pipe and holds one trial at a time, so it is always known which trial was lost
with a worker. A lost trial is tried again ``retries`` times, at no extra charge: its evaluation
never came to an end. A trial that exceeds ``timeout`` seconds ends with its worker and counts as
a failure. A forked worker leads a process group that ends with it: programs that the objective
started must not go on beside their successors.
"""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from types import FrameType
from typing import Any

from noisewise._check import integer
from noisewise.errors import BadValueError
from noisewise.executors.base import (
    LONGEST_WAIT,
    Evaluator,
    Limits,
    Outcome,
    Spec,
    WorkerDied,
    enqueue,
)
from noisewise.trial import Trial

_WRONG = "the objective must return one real number"


@dataclass(frozen=True)
class ProcessSpec(Spec):
    """See `processes`."""

    workers: int
    timeout: float | None = None
    retries: int | None = None

    def __post_init__(self) -> None:
        integer("workers", self.workers, least=1)
        Limits().but(self.timeout, self.retries)

    def start(self, fun: Callable[..., Any], args: tuple[Any, ...], limits: Limits) -> Processes:
        return Processes(fun, args, self.workers, limits.but(self.timeout, self.retries))


def processes(
    workers: int, *, timeout: float | None = None, retries: int | None = None
) -> ProcessSpec:
    """Worker processes on this machine, for ``executor=``.

    ``timeout`` is in seconds per evaluation; a trial whose worker dies is tried again at most
    ``retries`` times. None: as `noisewise.minimize` is told.

    >>> import noisewise as nw
    >>> two = nw.executors.processes(2, timeout=60.0)
    >>> nw.minimize(lambda x: x @ x, [1.0], sigma0=1.0, budget=20, executor=two, rng=0).nfev
    20
    """
    return ProcessSpec(workers, timeout, retries)


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    #: Whether it leads a process group of its own.
    leads: bool = False
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
        super().__init__()
        self.workers = workers
        self._fun, self._args, self._limits = fun, args, limits
        # Forked workers inherit the objective: lambdas and closures work.
        self._context: Any = mp.get_context("fork" if sys.platform == "linux" else None)
        if self._context.get_start_method() != "fork":
            _check_picklable(fun)
        self._queue: deque[Trial] = deque()
        self._attempts: dict[int, int] = {}
        self._pool: list[_Worker] = []

    def submit(self, trials: list[Trial]) -> None:
        enqueue(self._queue, trials)
        if not self.finished:
            self._feed()

    def receive(self, block: bool) -> None:
        if block:  # else the run is over
            self._feed()
        busy = [w for w in self._pool if w.trial is not None]
        nearest = min((w.deadline for w in busy), default=0.0)
        patience = min(LONGEST_WAIT, max(0.0, nearest - time.monotonic()))
        ready = set(wait([w.pipe for w in busy], patience if block else 0.0))
        for worker in busy:
            if worker.pipe in ready:
                self._receive(worker)
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
                worker.pipe.send(self._queue[0].x)
            except OSError:
                if used:  # it died while it was idle
                    self._dismiss(used)
                    continue  # one that died at birth is found out when collecting
            worker.trial = self._queue.popleft()
            if self._limits.timeout is not None:
                worker.deadline = time.monotonic() + self._limits.timeout

    def _receive(self, worker: _Worker) -> None:
        trial = worker.trial
        assert trial is not None
        try:
            value, error = worker.pipe.recv()
        except (EOFError, OSError):
            self._lost(worker, trial)
            return
        except Exception as why:  # whatever building the value here raises
            said = f"{_WRONG}, got what cannot be received: {type(why).__name__}: {why}"
            value, error = None, BadValueError(said)
        self.finished.append(Outcome(trial.id, value, error))
        worker.trial, worker.deadline = None, float("inf")
        self._attempts.pop(trial.id, None)

    def _lost(self, worker: _Worker, trial: Trial) -> None:
        """The worker died with this trial: try again, or report it."""
        self._dismiss(worker)
        attempts = self._attempts[trial.id] = self._attempts.get(trial.id, 0) + 1
        if attempts <= self._limits.retries:
            self._queue.appendleft(trial)
            return
        error = WorkerDied(f"the worker process died {attempts} times on trial {trial.id}")
        self.finished.append(Outcome(trial.id, error=error))

    def _give_up(self, worker: _Worker) -> None:
        trial = worker.trial
        assert trial is not None
        self._dismiss(worker)
        self.finished.append(self._limits.too_long(trial))

    def _hire(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        # A fork inherits our ends of all pipes, which would keep them open if we died.
        forked = self._context.get_start_method() == "fork"
        others = [w.pipe for w in self._pool] + [ours] if forked else []
        process = self._context.Process(
            target=_work, args=(theirs, self._fun, self._args, others), daemon=True
        )
        with _no_interrupts():  # what handles one while forking would swallow it
            process.start()
        theirs.close()  # so that our end reads the end of file when the worker dies
        worker = _Worker(process, ours)
        if forked:
            with contextlib.suppress(OSError):  # it may be dead already
                os.setpgid(process.pid, process.pid)
                worker.leads = True
        self._pool.append(worker)
        return worker

    def _dismiss(self, worker: _Worker) -> None:
        self._pool.remove(worker)
        self._end(worker)

    def _end(self, worker: _Worker) -> None:
        worker.pipe.close()
        if worker.leads:
            with contextlib.suppress(OSError):
                os.killpg(worker.process.pid, signal.SIGKILL)
        worker.process.kill()
        worker.process.join()


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


def _work(
    pipe: Connection, fun: Callable[..., Any], args: tuple[Any, ...], others: list[Connection]
) -> None:
    """A worker's life: read a point, answer with a value or an exception."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides what Ctrl-C means
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for other in others:
        other.close()
    while True:
        try:
            x = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer: tuple[Any, BaseException | None] = (fun(x, *args), None)
        except Exception as error:
            answer = (None, _sendable(error))
        try:
            pipe.send(answer)
        except OSError:
            return
        except Exception:  # whatever pickling the value raises
            kind = type(answer[0]).__name__
            pipe.send((None, BadValueError(f"{_WRONG}, got a {kind}")))


def _sendable(error: Exception) -> Exception:
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:
        pass
    return RuntimeError(f"{type(error).__name__}: {error}")


def _check_picklable(fun: Callable[..., Any]) -> None:
    try:
        pickle.dumps(fun)
    except Exception as error:
        raise ValueError(
            "fun must be picklable (a function at the top level of a module) for workers > 1 on "
            f"this platform, got {fun!r}"
        ) from error
