"""Jobs of a SLURM cluster, or of this machine, through submitit."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noisewise._check import shown, told
from noisewise.errors import install
from noisewise.executors.base import (
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

#: Shortest and longest pause between two looks at the jobs, in seconds.
_LOOKS = (0.02, 1.0)
#: Seconds that the result of a job which has ended may take to appear on a shared file system.
_LATE = 15.0


@dataclass(frozen=True, kw_only=True)
class SubmititSpec(Workers):
    """See `submitit`."""

    executor: Any

    def start(self, fun: Callable[..., Any], args: tuple[Any, ...], limits: Limits) -> Evaluator:
        return Jobs(fun, args, self.executor, self.workers, self.within(limits))


def submitit(
    executor: Any,
    *,
    workers: int | None = None,
    timeout: float | None = None,
    retries: int | None = None,
) -> SubmititSpec:
    """Jobs of a SLURM cluster, for ``executor=``.

    ``executor`` is one of the package submitit, with the parameters of a job. Every evaluation is a
    job; those that begin together are a job array. ``workers`` is how many there are at the same
    time: by default ``slurm_array_parallelism``, where the executor has it, or the CPUs of this
    machine for submitit's local executor. A job is cancelled and counts as failed when its
    evaluation, once it has begun, takes longer than ``timeout`` seconds. One that ends without a
    result is submitted again, ``retries`` times; one that SLURM takes off its node for another is
    begun anew by itself. With a checkpoint, the jobs of a driver that was killed go on, and the
    same call takes over their results: their ids are in a file beside the checkpoint. submitit
    unpickles what is in its folder: use one that only you can write to.

    >>> import noisewise as nw, submitit
    >>> jobs = nw.executors.submitit(submitit.LocalExecutor("jobs"), workers=2, timeout=3600.0)
    >>> jobs.workers  # for minimize(..., executor=jobs)
    2
    """
    return SubmititSpec(executor=executor, workers=workers, timeout=timeout, retries=retries)


class _Call:
    """An evaluation: what it returned, or the exception that it raised. A file says that it has
    begun."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self._fun = fun

    def __call__(self, *args: Any, **more: Any) -> Any:
        _began(_environment().paths).touch()
        try:
            return self._fun(*args, **more), None
        except Exception as error:
            return None, showable(error)

    def checkpoint(self, *args: Any, **more: Any) -> Any:
        """The cluster needs the node for another job: submitit begins the evaluation anew."""
        from submitit.helpers import DelayedSubmission

        _began(_environment().paths).unlink(missing_ok=True)
        return DelayedSubmission(self, *args, **more)


def _environment() -> Any:
    import submitit

    return submitit.JobEnvironment()


def _began(paths: Any) -> Path:
    """The file that is there while the evaluation of a job runs."""
    return Path(paths.result_pickle).with_suffix(".began")


@dataclass
class _Flight:
    trial: Trial
    job: Any
    #: When its evaluation was first seen to run, and the job to have ended without a result.
    runs: float | None = field(default=None)
    ended: float | None = field(default=None)


class Jobs(Evaluator):
    """Submits jobs and looks at them again and again."""

    def __init__(
        self,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        executor: Any,
        workers: int | None,
        limits: Limits,
    ) -> None:
        super().__init__()
        self._executor, self._inner = executor, _checked(executor)
        self.workers = workers or _at_a_time(self._inner)
        self._call, self._args, self._limits = _Call(fun), args, limits
        self._queue: deque[Trial] = deque()
        self._flights: list[_Flight] = []
        self._attempts: dict[int, int] = {}
        #: Where the ids of jobs are kept, and those of an earlier driver by trial.
        self._path: Path | None = None
        self._known: dict[str, str] = {}

    def keep(self, path: Path, resumed: bool) -> None:
        self._path = path.with_name(f"{path.name}.jobs")
        if not resumed:
            self._path.unlink(missing_ok=True)
        elif self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError, TypeError):  # cut off by a kill
                    what, job = json.loads(line)
                    self._known[what] = job

    def submit(self, trials: list[Trial]) -> None:
        enqueue(self._queue, trials)
        if not self.finished:
            self._feed()

    def receive(self, block: bool) -> None:
        pause = _LOOKS[0]
        if block:
            self._feed()
        while True:
            for flight in list(self._flights):
                self._look(flight)
            if self.finished or not block or not self._flights:
                return
            time.sleep(pause)
            pause = min(1.5 * pause, _LOOKS[1])

    def close(self) -> None:
        for flight in self._flights:
            _cancel(flight.job)
        self._flights.clear()
        self._queue.clear()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _feed(self) -> None:
        """Submit as many jobs as there is room for, those of one call as an array."""
        room = self.workers - len(self._flights)
        trials = [self._queue.popleft() for _ in range(min(room, len(self._queue)))]
        new = []
        for trial in trials:
            if (job := self._known.pop(_name(trial), None)) is None:
                new.append(trial)
            else:  # of a driver that was killed
                self._flights.append(_Flight(trial, _again(self._inner, job)))
        if not new:
            return
        try:
            with contextlib.nullcontext() if len(new) == 1 else self._executor.batch():
                jobs = [
                    self._executor.submit(self._call, trial.x, *self._args, **seed(trial))
                    for trial in new
                ]
        except Exception as error:
            from concurrent.futures import BrokenExecutor  # takes long to import

            broken = BrokenExecutor(f"submitit takes no jobs: {told(error)}")
            self.finished.extend(Outcome(trial.id, error=broken) for trial in new)
            return
        self._flights += map(_Flight, new, jobs)
        self._write(new, jobs)

    def _write(self, trials: list[Trial], jobs: list[Any]) -> None:
        if self._path is None:
            return
        lines = [
            json.dumps([_name(trial), job.job_id]) for trial, job in zip(trials, jobs, strict=True)
        ]
        fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(fd, "".join(f"{line}\n" for line in lines).encode())
        finally:
            os.close(fd)

    def _look(self, flight: _Flight) -> None:
        """See what has become of a job."""
        id, job, now = flight.trial.id, flight.job, time.monotonic()
        if _has_ended(job):
            flight.ended = flight.ended or now
            there = job.paths.result_pickle.exists()
            if there or now - flight.ended >= _LATE or _is_local(job):
                self._flights.remove(flight)
                self._land(id, flight.trial, job)
            return
        flight.ended = None
        timeout = self._limits.timeout
        if timeout is None:
            return
        if not _began(job.paths).exists():
            flight.runs = None
            return
        flight.runs = flight.runs or now
        if now - flight.runs >= timeout:
            _cancel(job)
            self._flights.remove(flight)
            self.finished.append(self._limits.too_long(flight.trial))

    def _land(self, id: int, trial: Trial, job: Any) -> None:
        if job.paths.result_pickle.exists():
            try:
                value, error = job.result()
                self.finished.append(Outcome(id, value, error))
            except Exception as error:  # what cannot be pickled, for example
                said = RuntimeError(f"job {job.job_id} has no result: {told(error)[-300:]}")
                self.finished.append(Outcome(id, error=said))
            return
        attempts = self._attempts[id] = self._attempts.get(id, 0) + 1
        if attempts <= self._limits.retries:
            self._queue.appendleft(trial)
            self._feed()
            return
        died = WorkerDied(
            f"job {job.job_id} of trial {id} ended without a result ({attempts} tries)"
        )
        self.finished.append(Outcome(id, error=died))


def _checked(executor: Any) -> Any:
    """The executor that submits jobs, inside of the one that chooses the cluster."""
    try:
        import submitit as engine
    except ImportError:
        raise ImportError(f"executors.submitit needs submitit: {install('slurm')}") from None
    inner = getattr(executor, "_executor", executor)
    if not isinstance(executor, engine.Executor) or not hasattr(inner, "job_class"):
        raise ValueError(
            f"executor must be a submitit executor that starts jobs, got {shown(executor)}"
        )
    return inner


def _at_a_time(inner: Any) -> int:
    if hasattr(inner, "parameters") and (found := inner.parameters.get("array_parallelism")):
        return int(found)
    if type(inner).__name__ == "LocalExecutor":
        return os.cpu_count() or 1
    raise ValueError(
        "workers must say how many jobs run at the same time, unless the executor has "
        "slurm_array_parallelism, got None"
    )


def _name(trial: Trial) -> str:
    """What a trial is known by in the file of jobs: another run has other points."""
    digest = hashlib.sha256(trial.x.tobytes() + repr(trial.seed).encode()).hexdigest()[:16]
    return f"{trial.id}-{digest}"


def _again(inner: Any, job_id: str) -> Any:
    """The job of an earlier process."""
    return inner.job_class(folder=inner.folder, job_id=job_id)


def _is_local(job: Any) -> bool:
    return hasattr(job, "_process")


def _has_ended(job: Any) -> bool:
    """Whether there is a result, or the job is gone."""
    if _is_local(job) and job._process is None:  # of an earlier process: its id is that of the job
        return job.paths.result_pickle.exists() or not _lives(int(job.job_id))
    return bool(job.done())


def _lives(pid: int) -> bool:
    """Whether a process of this machine runs; one that ended may still be listed."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:  # no such files here
        return True
    except OSError:
        return False
    return state != "Z"


def _cancel(job: Any) -> None:
    with contextlib.suppress(Exception):
        if _is_local(job) and job._process is None:
            os.kill(int(job.job_id), signal.SIGINT)
        else:
            job.cancel(check=False)
