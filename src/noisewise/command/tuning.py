"""Tuning a program, and probing how noisy it is."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from noisewise import methods
from noisewise._check import integer, positive_real
from noisewise.command.job import Job
from noisewise.command.program import Evaluation, EvaluationFailed, Program
from noisewise.command.runs import Kept
from noisewise.errors import CheckpointError
from noisewise.loop.minimize import minimize
from noisewise.loop.optimizer import Optimizer
from noisewise.loop.probe import ProbeReport
from noisewise.loop.probe import probe as probe_function
from noisewise.methods.method import default_population
from noisewise.report.live import Live
from noisewise.report.log import Log
from noisewise.run.run import INTERRUPTED
from noisewise.run.seeds import AUTO


class Interrupted(Exception):
    """A signal ended the run; ``code`` is the exit code that says which."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.code = 128 + number


@dataclass(frozen=True)
class Options:
    """How evaluations are done; may change when a run is resumed."""

    timeout: float | None = None
    retries: int = 0
    quiet: bool = False
    log: str | None = None


def tune(
    job: Job,
    run: Kept,
    options: Options,
    *,
    budget: int,
    workers: int,
    method: str,
    confirm: str,
    target: str,
    data: Any = None,
    batch: int | None = None,
    max_time: float | None = None,
) -> Optimizer:
    """Run ``job``, or go on with it, until the budget is spent or ``max_time`` seconds are over;
    the ended run.

    ``run`` says where it is kept. `Interrupted` if a signal came first; the same call goes on then.
    """
    budget, workers = integer("--budget", budget, 1), integer("--workers", workers, 1)
    if max_time is not None:
        positive_real("--max-time", max_time)
    _check_program(job)
    if job.limits and not methods.get(method).constrained:
        raise ValueError(
            f"--limit needs --method auto, gp, watchful, select or cma-es, got {method}"
        )
    spent = _spent(run, job)
    live = Live(budget, spent, not options.quiet)
    # Threads are enough: the work is in the program, and one process can end all of them.
    with (
        _signals() as caught,
        ThreadPoolExecutor(workers) as pool,
        _program(job, options, live) as program,
        contextlib.suppress(KeyboardInterrupt),
    ):
        result = minimize(
            program,
            job.start if job.start or job.incumbent is None else None,
            budget=budget,
            space=job.space,
            method=method,
            rng=job.seed,
            seeds=job.seeds,
            executor=pool,
            on_error="worst",
            confirm=_confirm(confirm),
            target=target,
            callback=live.generation,
            checkpoint=run.path if run.url is None else None,
            storage=run.url,
            extra=job.extra,
            interrupt="return",
            maximize=job.maximize,
            data=data,
            batch=None if batch is None else integer("--batch", batch, 1),
            incumbent=None if job.incumbent is None else job.space.encode(job.incumbent),
            max_time=max_time,
        )
        live.finish()
        if result.status != INTERRUPTED:
            caught.clear()
    if caught:
        spent = _spent(run, job)
        raise Interrupted(
            f"interrupted after {spent} of {budget} evaluations; the same command goes on from "
            f"{run}",
            caught[0],
        )
    return run.load()


def _confirm(text: str) -> int | str:
    """``--confirm``: a whole number, or auto."""
    if text == "auto":
        return text
    try:
        return integer("--confirm", int(text), 0)
    except ValueError:
        raise ValueError(
            f"--confirm must be auto or a whole number of at least 0, got {text}"
        ) from None


def probe(job: Job, options: Options, n: int | None, workers: int) -> tuple[ProbeReport, int]:
    """How noisy the program is around the start, and how many evaluations failed."""
    _check_program(job)
    workers = integer("--workers", workers, 1)
    count = default_population(job.space.dimension) if n is None else integer("--n", n, 2)
    live = Live((4 if job.seeds == AUTO else 2) * count, 0, not options.quiet)
    failures: list[EvaluationFailed] = []

    def value(program: Program, values: dict[str, Any], seed: int | None = None) -> Any:
        try:
            return program(values, seed)
        except EvaluationFailed as failure:
            failures.append(failure)
            return math.nan

    with (
        _signals() as caught,
        ThreadPoolExecutor(workers) as pool,
        _program(job, options, live) as program,
    ):
        try:
            report = probe_function(
                partial(value, program),
                job.start,
                space=job.space,
                n=count,
                rng=job.seed,
                executor=pool,
                seeds=job.seeds,
            )
        except KeyboardInterrupt:
            raise Interrupted("interrupted; a probe keeps nothing", caught[0]) from None
        live.finish()
    return report, len(failures)


@contextlib.contextmanager
def _program(job: Job, options: Options, live: Live) -> Iterator[Program]:
    with Log(options.log, live.note) as log:

        def listen(evaluation: Evaluation) -> None:
            live.evaluation(evaluation)
            log.evaluation(evaluation)

        with Program(
            job.space,
            job.template,
            job.reader,
            timeout=options.timeout,
            retries=options.retries,
            limits=job.limits,
            listen=listen,
        ) as program:
            yield program


def _check_program(job: Job) -> None:
    """Find out before the first evaluation whether the program is there."""
    name = job.template.argv[0]
    if job.template.shell or "{" in name or shutil.which(name):
        return
    if not os.path.exists(name):
        why = "there is no such program"
    elif os.path.dirname(name):
        why = "it is not executable (chmod +x)"
    else:
        why = f"it is not on the PATH: write ./{name}"
    raise ValueError(f"{name} cannot be run: {why}")


def _spent(run: Kept, job: Job) -> int:
    """Evaluations that the run has spent, if it is there; it must be this job."""
    if not run.exists():
        return 0
    opt = run.load()
    if difference := job.difference(opt.extra):
        raise CheckpointError(
            f"{run} holds a run of another command: {difference}; give the same command"
            + (", another --out, or remove the file" if run.url is None else " or another name")
        )
    return opt.spent


@contextlib.contextmanager
def _signals() -> Iterator[list[int]]:
    """The first signal that asks us to end raises KeyboardInterrupt and is noted; those that
    follow are ignored, so that running programs are ended in any case."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    known = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {s: signal.getsignal(s) for s in known}
    heard = {s: old for s, old in before.items() if old is not signal.SIG_IGN}
    caught: list[int] = []

    def note(number: int, frame: Any) -> None:
        for s in heard:
            signal.signal(s, signal.SIG_IGN)
        caught.append(number)
        raise KeyboardInterrupt

    for s in heard:
        signal.signal(s, note)
    try:
        yield caught
    finally:
        for s, old in heard.items():
            signal.signal(s, old)
