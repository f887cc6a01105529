"""Many evaluations, many coordinates, many workers."""

from __future__ import annotations

import gc
import resource
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import noisewise as nw
from noisewise_bench.reliability.objective import Sleeping, lines


def evaluations(total: int = 100_000, d: int = 10) -> tuple[float, float, float]:
    """Seconds, and megabytes in use after a tenth and at the end, of one run by ask and tell."""
    opt = nw.Optimizer(np.full(d, 3.0), sigma0=1.0, budget=total, rng=1)
    noise, used = np.random.default_rng(1), []
    began = time.process_time()
    tracemalloc.start()
    try:
        for part in (total // 10, total):
            while opt.spent < part and not opt.done:
                for trial in opt.ask():
                    opt.tell(trial.id, float(trial.x @ trial.x) * noise.lognormal())
            gc.collect()
            used.append(tracemalloc.get_traced_memory()[0] / 1e6)
    finally:
        tracemalloc.stop()
    return time.process_time() - began, used[0], used[1]


def dimension(d: int, covariance: str, generations: int = 20) -> tuple[float, float]:
    """Seconds per generation in the library, and whether the sphere's value at the recommendation
    went down, as a ratio to that at the start."""
    method = nw.methods.CMAES(covariance=covariance)
    x0 = np.full(d, 3.0)
    opt = nw.Optimizer(x0, sigma0=1.0, budget=10**7, rng=1, method=method)
    spent = 0.0
    while opt.generation < generations:
        began = time.perf_counter()
        trials = opt.ask()
        spent += time.perf_counter() - began
        values = [float(t.x @ t.x) for t in trials]
        began = time.perf_counter()
        opt.tell([t.id for t in trials], values)
        spent += time.perf_counter() - began
    x = opt.recommend().x
    return spent / generations, float(x @ x) / float(x0 @ x0)


def many_workers(workers: int = 64, budget: int = 1280, mean: float = 0.5) -> tuple[int, float]:
    """Evaluations charged and utilisation with this many real worker processes."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "seconds"
        began = time.monotonic()
        r = nw.minimize(
            Sleeping(mean, 0.0, log),
            np.full(10, 2.0),
            sigma0=1.0,
            budget=budget,
            rng=1,
            workers=workers,
        )
        wall = time.monotonic() - began
        return r.nfev, sum(map(float, lines(log))) / (workers * wall)


def table() -> Iterator[str]:
    yield "| load | what was measured |"
    yield "|---|---|"
    cpu, tenth, end = evaluations()
    yield (
        f"| 100000 evaluations by ask and tell, auto, d = 10 | {cpu:.0f} CPU s (memory traced); "
        f"{tenth:.1f} MB after a tenth, {end:.1f} MB at the end |"
    )
    for d, covariance in ((2000, "diagonal"), (300, "full")):
        per, ratio = dimension(d, covariance)
        yield (
            f"| d = {d}, {covariance} covariance, 20 generations | {1e3 * per:.1f} ms per "
            f"generation; f falls to {ratio:.2f} of its start |"
        )
    nfev, used = many_workers()
    yield f"| 64 worker processes, evaluations of 0.5 s | {nfev} evaluations, {used:.0%} busy |"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    yield f"| all of the above in one process | {peak:.0f} MB at the most |"
