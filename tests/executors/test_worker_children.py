"""Objectives that start processes themselves, and worker processes that end with all of them."""

from __future__ import annotations

import concurrent.futures as cf
import contextlib
import multiprocessing as mp
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped]
import pytest

import noisewise as nw
import support
from noisewise.executors import processes, start
from noisewise.executors.base import Limits
from noisewise.methods import CMAES

linux = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
_GOOD: dict[str, Any] = {
    "x0": [2.0, 2.0],
    "sigma0": 1.0,
    "budget": 12,
    "rng": 0,
    "method": CMAES(population=6),
}


def alive(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def pids(folder: Path) -> list[int]:
    return [int(file.name) for file in folder.iterdir()]


def square(v: float) -> float:
    return float(v) ** 2


def by_pool(x: Any) -> float:
    with mp.get_context("fork").Pool(2) as pool:
        value = float(sum(pool.map(square, x)))
        # Else leaving kills its processes, which may hang while coverage writes what it has.
        pool.close()
        pool.join()
    return value


def by_executor(x: Any) -> float:
    with cf.ProcessPoolExecutor(2, mp_context=mp.get_context("fork")) as pool:
        return float(sum(pool.map(square, x)))


def by_process(x: Any) -> float:
    queue = mp.get_context("fork").SimpleQueue()
    process = mp.get_context("fork").Process(target=lambda: queue.put(float(x @ x)))
    process.start()
    value = queue.get()
    process.join()
    return float(value)


def by_minimize(x: Any) -> float:
    inner = nw.minimize(lambda y: float(y @ y), **_GOOD, workers=2)
    return float(x @ x) + 0.0 * inner.nfev


@linux
@pytest.mark.parametrize("fun", [by_pool, by_executor, by_process, by_minimize])
@pytest.mark.parametrize(
    "given",
    [{"workers": 2}, {"executor": processes(2, timeout=120.0)}],
    ids=["workers", "timeout"],
)
def test_objectives_that_use_multiprocessing(fun: Any, given: Any) -> None:
    before = support.children()
    r = nw.minimize(fun, **_GOOD, batch=6, **given)
    expected = nw.minimize(lambda x: float(sum(square(v) for v in x)), **_GOOD, batch=6)
    assert r.nfev == 12
    assert r.x == pytest.approx(expected.x)
    assert support.children() <= before


@linux
def test_children_end_with_their_worker(tmp_path: Path) -> None:
    """Those of a nested run too, though they lead process groups of their own."""

    def hang(x: Any) -> float:
        (tmp_path / str(os.getpid())).touch()
        program = subprocess.Popen(["sleep", "600"], start_new_session=True)
        (tmp_path / str(program.pid)).touch()
        time.sleep(600.0)
        return 0.0

    def nested(x: Any) -> float:
        nw.minimize(hang, **_GOOD, workers=2)
        return 0.0

    with start(nested, (), False, 2, None, Limits()) as evaluator:
        evaluator.submit([nw.Trial(0, np.zeros(2), "candidate")])
        support.wait_until(lambda: len(pids(tmp_path)) == 4)
        assert all(map(alive, pids(tmp_path)))
    support.wait_until(lambda: not any(map(alive, pids(tmp_path))))


@linux
@pytest.mark.parametrize("pidfd", [True, False])
def test_a_dead_worker_is_noticed_though_a_child_keeps_its_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pidfd: bool
) -> None:
    """A forked child inherits the worker's end of the pipe, so its end of file never comes."""
    if not pidfd:  # an older system
        monkeypatch.delattr(os, "pidfd_open", raising=False)

    def fun(x: Any) -> float:
        pid = os.fork()
        if pid == 0:
            time.sleep(600.0)
            os._exit(0)
        (tmp_path / str(pid)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
        return 0.0

    with pytest.raises(nw.EvaluationError, match="died 2 times on trial"):
        nw.minimize(fun, **_GOOD, executor=processes(1, retries=1))
    assert len(pids(tmp_path)) == 2
    support.wait_until(lambda: not any(map(alive, pids(tmp_path))))


@linux
def test_a_worker_without_a_driver_ends_with_its_children(tmp_path: Path) -> None:
    """Though another process of the driver keeps the pipe open."""

    def fun(x: Any) -> float:
        program = subprocess.Popen(["sleep", "600"])
        (tmp_path / str(program.pid)).touch()
        (tmp_path / str(os.getpid())).touch()
        return 0.0

    def drive() -> None:
        evaluator = start(fun, (), False, 2, None, Limits())
        evaluator.submit([nw.Trial(0, np.zeros(2), "candidate")])
        while not evaluator.finished:
            evaluator.receive(block=True)
        if os.fork() == 0:  # inherits the driver's ends of all pipes
            os.closerange(0, 3)
            support.wait_until((tmp_path.parent / "done").exists)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)

    driver = mp.get_context("fork").Process(target=drive)
    driver.start()
    driver.join()
    try:
        assert len(pids(tmp_path)) == 2
        support.wait_until(lambda: not any(map(alive, pids(tmp_path))))
    finally:
        (tmp_path.parent / "done").touch()


@linux
def test_a_daemonic_process_is_told_what_it_cannot_do() -> None:
    """A worker of somebody else's pool: the limit is not ours."""
    with mp.get_context("fork").Pool(1) as pool:
        said = pool.apply(_refusal)
    assert said.startswith("workers and timeout need processes of their own, which this daemonic")


def _refusal() -> str:
    try:
        nw.minimize(support.bumpy, **_GOOD, workers=2)
    except ValueError as error:
        return str(error)
    return ""
