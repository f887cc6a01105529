"""Workers are killed in the middle of evaluations; the answer stays that of a quiet run."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import noisewise as nw
from noisewise_bench.problems._optional import optional
from noisewise_bench.reliability.kills import options
from noisewise_bench.reliability.objective import bumpy, point_rng

WHERE = ("processes", "dask", "ray")


@dataclass(frozen=True)
class Deadly:
    """`bumpy`, but kills its process at some points, the first time."""

    folder: Path
    share: float

    def __call__(self, x: Any) -> float:
        rng = point_rng(x)
        mark = self.folder / str(rng.integers(2**60))
        if rng.random() < self.share and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return bumpy(x)


@dataclass(frozen=True)
class Survived:
    """Deaths of workers in one run."""

    where: str
    workers: int
    deaths: int
    evaluations: int
    failures: int
    same: bool


def survive(where: str, workers: int, budget: int, share: float, seed: int = 0) -> Survived:
    """One run on ``workers`` of this kind, each evaluation killing its worker with probability
    ``share``."""
    given = options(budget, seed) | {"batch": workers}  # so that the order leaves no trace
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        executor = _executor(where, workers, stack)
        r = nw.minimize(Deadly(folder, share), **given, executor=executor)
        deaths = len(list(folder.iterdir()))
    expected = nw.minimize(bumpy, **given)
    same = r.fun == expected.fun and bool((r.x == expected.x).all())
    return Survived(where, workers, deaths, r.nfev, r.n_failures, same)


def _executor(where: str, workers: int, stack: ExitStack) -> Any:
    """Real workers in processes of their own."""
    if where == "processes":
        return nw.executors.processes(workers)
    if where == "dask":
        distributed = optional("distributed")
        cluster = stack.enter_context(
            distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                silence_logs=50,
            )
        )
        return nw.executors.dask(cluster.scheduler_address)
    ray = optional("ray")
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    stack.callback(ray.shutdown)
    return nw.executors.ray()


def table(rows: Iterator[Survived]) -> Iterator[str]:
    yield "| workers | how many | killed | evaluations charged | failures | same answer |"
    yield "|---|---|---|---|---|---|"
    for r in rows:
        yield (
            f"| {r.where} | {r.workers} | {r.deaths} | {r.evaluations} | {r.failures} "
            f"| {'yes' if r.same else 'NO'} |"
        )
