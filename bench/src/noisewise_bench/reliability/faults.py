"""Objectives that misbehave in every way they can."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped]

import noisewise as nw
from noisewise_bench.reliability.objective import bumpy, lines, note, point_rng

BUDGET = 40


class Mute(Exception):
    """Cannot even be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def _raise(error: BaseException) -> Any:
    raise error


def _leave_a_child(pids: Path) -> Any:
    """Die, while a child keeps the pipe to the driver open."""
    child = os.fork()
    if child == 0:
        time.sleep(600.0)
        os._exit(0)
    note(pids, f"{child}\n")
    os.kill(os.getpid(), signal.SIGKILL)


def _start_a_program(pids: Path) -> float:
    note(pids, f"{subprocess.Popen(['sleep', '600'], start_new_session=True).pid}\n")
    time.sleep(600.0)
    return 0.0


#: Faults of single evaluations: they count as failures, and the run goes on.
FAILURES: dict[str, Callable[[Path], Any]] = {
    "raises": lambda pids: _raise(KeyError("lost")),
    "raises what cannot be shown": lambda pids: _raise(Mute()),
    "returns nan": lambda pids: math.nan,
    "returns inf": lambda pids: math.inf,
}
#: Those that only a process of its own survives.
DEATHS: dict[str, Callable[[Path], Any]] = {
    "kills its process": lambda pids: os.kill(os.getpid(), signal.SIGKILL),
    "exits": lambda pids: os._exit(3),
    "dies and leaves a child": _leave_a_child,
    "hangs": lambda pids: time.sleep(600.0),
    "hangs with a program": _start_a_program,
}
#: Faults of the objective as such: the run ends with a sentence that says so.
WRONG: dict[str, Callable[[Path], Any]] = {
    "returns None": lambda pids: None,
    "returns text": lambda pids: "0.5",
    "returns a masked value": lambda pids: np.ma.masked,
    "returns two numbers": lambda pids: np.zeros(2),
    "returns -inf": lambda pids: -math.inf,
}


@dataclass(frozen=True)
class Faulty:
    """`bumpy`, except at a seventh of the points; writes down where."""

    kind: str
    log: Path

    def __call__(self, x: Any) -> Any:
        if point_rng(x).random() > 0.15:
            return bumpy(x)
        note(self.log, f"{np.asarray(x).tobytes().hex()}\n")
        return (FAILURES | DEATHS | WRONG)[self.kind](self.log.with_suffix(".pids"))


@dataclass
class Injected:
    """What came of runs of an objective with one kind of fault."""

    fault: str
    where: str
    runs: int = 0
    injected: int = 0
    #: Runs that ended as they should: all failures counted and no budget lost, or a clear error.
    right: int = 0
    #: Processes that were left behind.
    left: int = 0


def inject(kind: str, places: tuple[str, ...], runs: int, seed: int = 0) -> Injected:
    """Runs with different seeds in each of the places "here", "processes" and "threads"."""
    tally = Injected(kind, ", ".join(places))
    before = _children()
    for where, run in itertools.product(places, range(runs)):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "faults"
            tally.right += _is_right(kind, where, Faulty(kind, log), log, seed + run)
            tally.injected += len(set(lines(log)))
            tally.left += _left({int(pid) for pid in lines(log.with_suffix(".pids"))})
        tally.runs += 1
    tally.left += _left(_children() - before)
    return tally


def _children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def _left(pids: set[int]) -> int:
    """How many of these processes are there a while after they were killed."""
    deadline = time.monotonic() + 10.0
    while any(map(_is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return sum(map(_is_alive, pids))


def _is_alive(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def _is_right(kind: str, where: str, fun: Faulty, log: Path, seed: int) -> bool:
    executors = nw.executors
    places: dict[str, Any] = {
        "here": None,
        # A limit only where something hangs: a busy machine may take seconds for a good value.
        "processes": executors.processes(2, timeout=3.0 if "hangs" in kind else None, retries=0),
        "threads": executors.threads(2),
    }
    try:
        r = nw.minimize(
            fun,
            np.full(4, 2.0),
            sigma0=1.0,
            budget=BUDGET,
            rng=seed,
            method=nw.methods.CMAES(population=8),
            on_error="worst",
            confirm=0,
            executor=places[where],
        )
    except nw.EvaluationError as error:
        return kind in WRONG and "the objective must" in str(error)
    failed = len(set(lines(log)))
    return r.nfev == BUDGET and r.n_failures == failed and (kind not in WRONG or failed == 0)


def cases() -> Iterator[tuple[str, tuple[str, ...]]]:
    """All faults, and the places where they can be survived."""
    for kind in (*FAILURES, *WRONG):
        yield kind, ("here", "processes", "threads")
    for kind in DEATHS:
        yield kind, ("processes",)


def table(rows: Iterator[Injected]) -> Iterator[str]:
    yield "| the objective | where | runs | injected | ended as they should | processes left |"
    yield "|---|---|---|---|---|---|"
    for r in rows:
        yield (f"| {r.fault} | {r.where} | {r.runs} | {r.injected} | {r.right} | {r.left} |")
