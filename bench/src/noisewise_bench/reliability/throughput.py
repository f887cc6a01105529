"""How many trials a second a shared run hands out and takes in, beside Optuna on the same database.

The objective takes no time, so all of it is the library and the database. Both are asked for the
same number of trials by the same number of processes, one after the other.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw
from noisewise.loop.shared import Shared
from noisewise.problem.values import Value
from noisewise_bench.reliability import postgres
from noisewise_bench.reliability.objective import lines, note

_FORK = multiprocessing.get_context("fork")
WHERE, WORKERS, DIMENSION = ("sqlite", "postgres"), (1, 8, 64), 5

#: Seconds that Optuna may wait for a file that others write to; its processes die otherwise.
_PATIENCE = 600.0
#: Claims that are timed after a process has joined.
_CLAIMS = 50


@dataclass(frozen=True)
class Rate:
    """Trials a second of one library on one database, and what a trial costs late in the run
    relative to an early one."""

    where: str
    workers: int
    library: str
    trials: int
    rate: float
    growth: float


def _sphere(x: Any) -> float:
    return float(x @ x)


def _ours(url: str, budget: int, log: Path) -> None:
    def fun(x: Any) -> float:
        note(log, f"{time.monotonic()!r}\n")
        return _sphere(x)

    nw.minimize(
        fun, np.full(DIMENSION, 2.0), sigma0=1.0, budget=budget, rng=0, method="cma-es",
        storage=url,
    )  # fmt: skip


def _optunas(url: str, budget: int, log: Path) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.RandomSampler()  # no time of its own
    patient = {"connect_args": {"timeout": _PATIENCE}} if url.startswith("sqlite") else {}
    storage = optuna.storages.RDBStorage(url, engine_kwargs=patient)
    study = optuna.load_study(study_name="study", storage=storage, sampler=sampler)

    def fun(trial: Any) -> float:
        note(log, f"{time.monotonic()!r}\n")
        x = np.array([trial.suggest_float(f"x{i}", -5.0, 5.0) for i in range(DIMENSION)])
        return _sphere(x)

    study.optimize(fun, n_trials=budget)


def measure(
    budget: int, workers: tuple[int, ...] = WORKERS, places: tuple[str, ...] = WHERE
) -> Iterator[Rate]:
    """Both libraries on both databases, ``budget`` trials each."""
    for where in places:
        for n in workers:
            with ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                if where == "sqlite":
                    ours, theirs = (f"sqlite:///{folder}/{name}.db" for name in "ab")
                else:
                    ours = stack.enter_context(postgres.server()).url()
                    theirs = ours.replace("postgresql://", "postgresql+psycopg://")
                _create(theirs)
                share = -(-budget // n)
                yield _rate(where, n, "noisewise", _ours, f"{ours}#run", n * share)
                yield _rate(where, n, "Optuna (random)", _optunas, theirs, share)


def _create(url: str) -> None:
    """A study to be loaded; in a process of its own, so that no connection is inherited."""
    process = _FORK.Process(target=_study, args=(url,))
    process.start()
    process.join()


def _study(url: str) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    optuna.create_study(study_name="study", storage=url)


def _rate(where: str, n: int, library: str, work: Callable[..., None], url: str, each: int) -> Rate:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "calls"
        began = [_FORK.Process(target=work, args=(url, each, log)) for _ in range(n)]
        for process in began:
            process.start()
        for process in began:
            process.join()
        times = sorted(map(float, lines(log)))
    took = np.diff(np.array(times))
    third = max(1, len(took) // 3)
    growth = float(took[-third:].mean() / took[third : 2 * third].mean())
    return Rate(where, n, library, len(times), len(took) / (times[-1] - times[0]), growth)


@dataclass(frozen=True)
class Joined:
    """Seconds that a process takes to join a run of so many trials, by the clock and of its own
    work, and milliseconds of a claim with its value."""

    where: str
    trials: int
    seconds: float
    cpu: float
    claim: float


def join(sizes: tuple[int, ...], places: tuple[str, ...] = WHERE) -> Iterator[Joined]:
    """One process makes a run longer and longer, a thousand trials at a time; others join it."""
    for where in places:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            place = f"sqlite:///{folder}/runs.db"
            if where == "postgres":
                place = stack.enter_context(postgres.server()).url()
            url, budget = f"{place}#long", max(sizes) + 1000
            first = _part(url, budget)
            told = 0
            for size in sizes:
                while told < size:
                    trials = first.step([], min(1000, size - told))
                    told += len(trials)
                    first.step([_value(trial) for trial in trials], 0)
                began, cpu = time.perf_counter(), time.process_time()
                late = _part(url, budget)
                seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
                yield Joined(where, size, seconds, cpu, 1000.0 * _claim(late))
                told += _CLAIMS
                late.leave()
            first.leave()


def _part(url: str, budget: int) -> Shared:
    opt = nw.Optimizer(
        np.full(DIMENSION, 2.0), sigma0=1.0, budget=budget, rng=0, method="cma-es", workers=2
    )
    return Shared(url, opt, None)


def _value(trial: nw.Trial) -> Value:
    return Value(trial.id, _sphere(trial.x) + 0.3 * float(np.random.default_rng(trial.id).normal()))


def _claim(part: Shared) -> float:
    """Median seconds of telling a value and getting the next trial."""
    trials, took = part.step([], 1), []
    for i in range(_CLAIMS):
        began = time.perf_counter()
        trials = part.step([_value(trial) for trial in trials], int(i + 1 < _CLAIMS))
        took.append(time.perf_counter() - began)
    return float(np.median(took))


def joined_table(found: Iterator[Joined]) -> Iterator[str]:
    yield "| database | trials so far | joined after | of that own work | a claim |"
    yield "|---|---|---|---|---|"
    for j in found:
        yield (f"| {j.where} | {j.trials} | {j.seconds:.1f} s | {j.cpu:.1f} s | {j.claim:.1f} ms |")


def table(rates: Iterator[Rate]) -> Iterator[str]:
    yield "| database | processes | library | trials | trials a second | late / early |"
    yield "|---|---|---|---|---|---|"
    for r in rates:
        yield (
            f"| {r.where} | {r.workers} | {r.library} | {r.trials} | {r.rate:.0f} "
            f"| {r.growth:.2f} |"
        )
