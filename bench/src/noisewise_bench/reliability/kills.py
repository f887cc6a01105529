"""The driver is killed at random moments, again and again, and goes on from its checkpoint."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw
from noisewise_bench.reliability.objective import Logged, bumpy, draws, lines

_FORK = multiprocessing.get_context("fork")
SIGNALS = {"kill -9": signal.SIGKILL, "Ctrl-C": signal.SIGINT}


@dataclass
class Tally:
    """What came of runs whose driver was killed."""

    workers: int
    fault: str
    method: str = "cma-es"
    kills: int = 0
    evaluations: int = 0
    #: Calls beyond the budgets: evaluations in flight at a kill, done again.
    again: int = 0
    #: Evaluations that were not in the file although they were not in flight.
    lost: int = 0
    #: Points that the budget was charged for twice.
    doubled: int = 0
    #: Runs, and those whose answer is right: with one worker that of a run with which nobody
    #: interferes; with several, which come to another one each time, that of the file.
    runs: int = 0
    right: int = 0


def options(budget: int, seed: int, method: str = "cma-es") -> dict[str, Any]:
    """A run with a population of 8 where the method has one. CMA-ES evaluates every point once;
    other methods evaluate some again."""
    needs: dict[str, Any] = {"draws": draws, "n_draws": 8} if method == "pem" else {}
    chosen: Any = nw.methods.get(method, **needs)
    if any(field.name == "population" for field in dataclasses.fields(chosen)):
        chosen = dataclasses.replace(chosen, population=8)
    return {
        "x0": np.full(4, 2.0),
        "sigma0": 1.0,
        "budget": budget,
        "rng": seed,
        "method": chosen,
        "confirm": 0,
    }


def torture(
    workers: int,
    fault: str,
    kills: int,
    budget: int = 152,
    seed: int = 0,
    method: str = "cma-es",
) -> Tally:
    """Interfere ``kills`` times, over as many runs as that takes."""
    tally, rng = Tally(workers, fault, method), np.random.default_rng(seed)
    while tally.kills < kills:
        with tempfile.TemporaryDirectory() as folder:
            _one_run(tally, Path(folder), budget, tally.runs, kills, rng)
    return tally


def _one_run(
    tally: Tally, folder: Path, budget: int, seed: int, kills: int, rng: np.random.Generator
) -> None:
    path, log = folder / "run", folder / "calls"
    given = options(budget, seed, tally.method)
    once = tally.method == "cma-es"
    fun = Logged(log, pause=0.002)

    def work() -> None:
        nw.minimize(fun, **given, workers=tally.workers, checkpoint=path)

    for _ in range(10):  # as often as fits into a run of this length
        if tally.kills == kills or not _interfere(work, log, SIGNALS[tally.fault], rng):
            break
        tally.kills += 1
        if path.exists():
            started = len(set(lines(log)))
            kept = nw.Optimizer.load(path, given["method"]).spent
            tally.lost += max(0, started - kept - tally.workers)
    r = nw.minimize(fun, **given, workers=tally.workers, checkpoint=path)
    calls = Counter(lines(log))
    if tally.workers == 1:
        expected = nw.minimize(bumpy, **given)
    else:
        expected = nw.Optimizer.load(path, given["method"]).result()
    tally.evaluations += r.nfev
    tally.again += sum(calls.values()) - budget
    tally.doubled += (abs(budget - len(calls)) if once else 0) + abs(r.nfev - budget)
    tally.runs += 1
    tally.right += r.fun == expected.fun and bool((r.x == expected.x).all())


def _interfere(work: Callable[[], None], log: Path, number: int, rng: np.random.Generator) -> bool:
    """Start the driver, send it a signal at a random moment; False if it ended before."""
    before = len(lines(log))
    process = _FORK.Process(target=_with_interrupts, args=(work,))
    process.start()
    deadline = time.monotonic() + 60.0
    while len(lines(log)) == before and process.is_alive() and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(rng.uniform(0.0, 0.05))
    alive = process.is_alive()
    if alive and process.pid is not None:
        os.kill(process.pid, number)
    process.join()
    return alive


def _with_interrupts(work: Callable[[], None]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        work()


def table(tallies: Iterator[Tally]) -> Iterator[str]:
    yield (
        "| fault | method | workers | injected | runs | right answer | evaluations "
        "| in flight, done again | lost | counted twice |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for t in tallies:
        yield (
            f"| {t.fault} of the driver | {t.method} | {t.workers} | {t.kills} | {t.runs} "
            f"| {t.right} | {t.evaluations} | {t.again} | {t.lost} | {t.doubled} |"
        )
