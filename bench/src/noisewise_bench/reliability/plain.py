"""Runs on real workers against plain futures of the same calls, which no optimizer waits for.

An evaluation sleeps, so that the machine is not what is measured. Afterwards the workers do the
same sleeps, one after the other as they become free, without an optimizer.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw
from noisewise_bench.problems._optional import optional
from noisewise_bench.reliability.objective import Sleeping, lines
from noisewise_bench.reliability.virtual import greedy

#: Where evaluations run, and how many at a time.
PLACES: dict[str, int] = {
    "processes, 8": 8,
    "processes, 64": 64,
    "dask, 64 slots": 64,
    "optuna, 32 jobs": 32,
}
#: A cluster that grows: slots at the beginning and after a quarter of the evaluations.
GROWS = (2, 34)
#: Slots of a Dask worker.
_SLOTS = 2
#: Coordinates of the run, and standard deviation of the logarithm of the seconds.
_D, _SPREAD = 6, 0.5
Sleeps = list[float]


@dataclass(frozen=True)
class Timed:
    """Seconds of a run and of plain futures of the same calls."""

    where: str
    evaluations: int
    seconds: float
    plain: float


def timed(places: Sequence[str], waves: int, mean: float) -> Iterator[Timed]:
    """``waves`` evaluations per worker of ``mean`` seconds, log-normal with sd 0.5 of the log."""
    for where in places:
        n = PLACES[where]
        with ExitStack() as stack:
            log = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "seconds"
            run, plain = _ways(where, n, stack)
            fun = Sleeping(mean, _SPREAD, log)
            began = time.monotonic()
            run(fun, waves * n)
            ours = time.monotonic() - began
            slept = [float(line) for line in lines(log)]
            began = time.monotonic()
            plain(slept)
            yield Timed(where, len(slept), ours, time.monotonic() - began)


def grown(budget: int, mean: float) -> Timed:
    """A Dask cluster that grows in the middle of a run, against workers that take the same calls
    from the moment when all slots are there, one after the other and without an optimizer."""
    few, many = GROWS
    distributed = optional("distributed")
    with ExitStack() as stack:
        log = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "seconds"
        cluster = stack.enter_context(_cluster(distributed, few))
        came: list[float] = []

        def grow(progress: Any) -> None:
            if not came and progress.nfev >= budget // 4:
                cluster.scale(many // _SLOTS)
                client.wait_for_workers(many // _SLOTS)
                came.append(time.monotonic())

        client = stack.enter_context(distributed.Client(cluster))
        _run(Sleeping(mean, _SPREAD, log), budget, nw.executors.dask(client), callback=grow)
        seconds = time.monotonic() - came[0]
        slept = [float(line) for line in lines(log)][budget // 4 :]
        return Timed(f"dask, {few} -> {many} slots", len(slept), seconds, greedy(slept, many))


def _run(fun: Any, budget: int, executor: Any, **more: Any) -> None:
    nw.minimize(fun, np.full(_D, 2.0), sigma0=1.0, budget=budget, rng=1, executor=executor, **more)


def _cluster(distributed: Any, slots: int) -> Any:
    """Workers of this process with two slots each, which are threads: they only sleep."""
    return distributed.LocalCluster(
        n_workers=slots // _SLOTS,
        threads_per_worker=_SLOTS,
        processes=False,
        dashboard_address=None,
        silence_logs=50,
    )


def _ways(
    where: str, n: int, stack: ExitStack
) -> tuple[Callable[[Any, int], None], Callable[[Sleeps], None]]:
    """How evaluations run there, and how plain futures do."""
    if where.startswith("processes"):

        def processes(slept: Sleeps) -> None:
            with ProcessPoolExecutor(n) as pool:
                list(pool.map(time.sleep, slept))

        return lambda fun, budget: _run(fun, budget, nw.executors.processes(n)), processes
    if where.startswith("dask"):
        distributed = optional("distributed")
        client = stack.enter_context(
            distributed.Client(stack.enter_context(_cluster(distributed, n)))
        )

        def cluster(slept: Sleeps) -> None:
            client.gather(client.map(time.sleep, slept, pure=False))

        return lambda fun, budget: _run(fun, budget, nw.executors.dask(client)), cluster

    def threads(slept: Sleeps) -> None:
        with ThreadPoolExecutor(n) as pool:
            list(pool.map(time.sleep, slept))

    return lambda fun, budget: _study(fun, budget, n), threads


def _study(fun: Any, budget: int, jobs: int) -> None:
    """A study whose sampler is noisewise's."""
    optuna = optional("optuna")
    from noisewise.integrations.optuna import NoisewiseSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    names = [f"x{i}" for i in range(_D)]
    space = {name: optuna.distributions.FloatDistribution(-5.0, 5.0) for name in names}
    sampler = NoisewiseSampler(budget, seed=1, workers=jobs, search_space=space)

    def objective(trial: Any) -> float:
        return float(fun(np.array([trial.suggest_float(name, -5.0, 5.0) for name in names])))

    optuna.create_study(sampler=sampler).optimize(objective, n_trials=budget, n_jobs=jobs)


def table(rows: Iterator[Timed]) -> Iterator[str]:
    yield "| workers | evaluations | seconds | plain futures of the same calls | ratio |"
    yield "|---|---|---|---|---|"
    for t in rows:
        ratio = t.seconds / t.plain
        yield f"| {t.where} | {t.evaluations} | {t.seconds:.1f} | {t.plain:.1f} | {ratio:.2f} |"
