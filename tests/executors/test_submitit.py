"""Jobs of the local executor of submitit, some of them killed, and a driver that dies."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.executors import on_submitit
from noisewise.methods import CMAES

submitit = pytest.importorskip("submitit")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
_GOOD: dict[str, Any] = {
    "x0": [2.0, 2.0, 2.0],
    "sigma0": 1.0,
    "budget": 4,
    "rng": 0,
    "method": CMAES(population=4),
    "confirm": 0,
    "batch": 4,  # the order of values leaves no trace
}


def jobs(folder: Path, **given: Any) -> Any:
    return nw.executors.submitit(submitit.LocalExecutor(folder / "jobs"), workers=4, **given)


def objective(folder: Path, trouble: str = "") -> Any:
    """By value, since jobs cannot import the tests. In trouble once."""
    import zlib

    def fun(x: Any) -> float:

        import numpy as np

        with open(folder / "calls", "a") as file:
            file.write(f"{np.asarray(x).tobytes().hex()} {os.getpid()}\n")
        noise = np.random.default_rng(zlib.crc32(np.asarray(x).tobytes())).normal()
        if trouble:
            try:
                os.close(os.open(folder / "once", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                if trouble == "dies":
                    os.kill(os.getpid(), signal.SIGKILL)
                if trouble == "raises":
                    raise KeyError("lost")
                if trouble == "preempted":
                    os.kill(os.getpid(), signal.SIGUSR2)
                time.sleep(1e4)
        return float(x @ x + 0.2 * noise)

    return fun


def calls(folder: Path) -> list[str]:
    path = folder / "calls"
    return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("trouble", ["dies", "preempted"])
def test_a_job_is_killed(trouble: str, tmp_path: Path) -> None:
    here = nw.minimize(support.bumpy, **_GOOD)
    there = nw.minimize(objective(tmp_path, trouble), **_GOOD, executor=jobs(tmp_path))
    assert support.same_result(there, here)
    assert len(calls(tmp_path)) == 5
    assert len(set(calls(tmp_path))) == 4


def test_a_job_hangs_raises_or_dies_for_good(tmp_path: Path) -> None:
    patient = jobs(tmp_path, timeout=5.0)
    r = nw.minimize(objective(tmp_path, "hangs"), **_GOOD, executor=patient)
    assert (r.n_failures, r.nfev) == (1, 4)
    (tmp_path / "once").unlink()
    with pytest.raises(nw.EvaluationError, match="KeyError: 'lost'"):
        nw.minimize(objective(tmp_path, "raises"), **_GOOD, executor=jobs(tmp_path))
    (tmp_path / "once").unlink()
    with pytest.raises(nw.EvaluationError, match="ended without a result"):
        nw.minimize(objective(tmp_path, "dies"), **_GOOD, executor=jobs(tmp_path, retries=0))


def _drive(folder: Path, checkpoint: Path) -> None:
    fun = objective(folder)

    def slow(x: Any) -> float:
        value = fun(x)
        while not (folder / "go").exists():
            time.sleep(0.01)
        return value

    nw.minimize(slow, **_GOOD, executor=jobs(folder), checkpoint=checkpoint)


def test_the_driver_is_killed_and_its_jobs_go_on(tmp_path: Path) -> None:
    """Their results are taken over by id; nothing is evaluated again."""
    path = tmp_path / "run.nw"
    driver = multiprocessing.get_context("fork").Process(target=_drive, args=(tmp_path, path))
    driver.start()
    while len(calls(tmp_path)) < 3:
        assert driver.is_alive()
        time.sleep(0.01)
    assert driver.pid is not None
    os.kill(driver.pid, signal.SIGKILL)
    driver.join()
    assert (tmp_path / "run.nw.jobs").exists()
    (tmp_path / "go").touch()
    _drive(tmp_path, path)
    assert len(calls(tmp_path)) == len(set(calls(tmp_path))) == 4
    assert not (tmp_path / "run.nw.jobs").exists()
    r = nw.Optimizer.load(path, _GOOD["method"]).result()
    assert support.same_result(r, nw.minimize(support.bumpy, **_GOOD))


def test_jobs_of_another_run_are_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "run.nw"
    left = tmp_path / "run.nw.jobs"
    left.write_text('["0-0123456789abcdef", "1"]\n["1-')
    evaluator = jobs(tmp_path).start(support.bumpy, (), on_submitit.Limits())
    evaluator.keep(path, True)
    assert evaluator._known == {"0-0123456789abcdef": "1"}
    trial = nw.Trial(0, np.zeros(2), "candidate")
    assert on_submitit._name(trial) not in evaluator._known
    evaluator.keep(path, False)  # a new run
    assert not left.exists()


def test_wrong_executors(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="executor must be a submitit executor that starts jobs, got 3"
    ):
        nw.minimize(support.bumpy, **_GOOD, executor=nw.executors.submitit(3))
    local = submitit.LocalExecutor(tmp_path)
    with pytest.raises(ValueError, match=r"use noisewise\.executors\.submitit\(\.\.\.\)"):
        nw.minimize(support.bumpy, **_GOOD, executor=local)
    assert nw.executors.submitit(local).start(abs, (), on_submitit.Limits()).workers >= 1
    with pytest.raises(ValueError, match="workers must be"):
        nw.executors.submitit(local, workers=0)
