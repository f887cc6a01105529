"""Worker processes leave no open files behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.executors.base import Limits, Outcome
from noisewise.executors.processes import Processes
from noisewise.problem.trial import Trial

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")


def dies(x: np.ndarray) -> float:
    os._exit(1)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def received(evaluator: Processes, n: int) -> list[Outcome]:
    while len(evaluator.finished) < n:
        evaluator.receive(block=True)
    found = list(evaluator.finished)
    evaluator.finished.clear()
    return found


def test_a_dismissed_worker_leaves_no_descriptor() -> None:
    """Its pipe and what tells of its death are closed with it, not at the end of the run."""
    with Processes(dies, (), 1, Limits(retries=0)) as evaluator:
        evaluator.submit([Trial(0, np.zeros(1), "candidate")])
        received(evaluator, 1)
        before = open_files()
        for id in range(1, 9):
            evaluator.submit([Trial(id, np.zeros(1), "candidate")])
            (outcome,) = received(evaluator, 1)
            assert outcome.id == id
            assert outcome.error is not None
        assert open_files() == before


def test_a_run_leaves_no_descriptor() -> None:
    def run() -> nw.Result:
        return nw.minimize(support.bumpy, [1.0], sigma0=1.0, budget=8, workers=2, rng=0)

    run()
    before = open_files()
    for _ in range(3):
        run()
    assert open_files() == before


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_lost_trial_is_tried_again_as_often_as_it_may(retries: int, tmp_path: Path) -> None:
    log = tmp_path / "log"

    def fun(x: np.ndarray) -> float:
        with log.open("a") as file:
            file.write("tried\n")
        os._exit(1)

    with Processes(fun, (), 1, Limits(retries=retries)) as evaluator:
        evaluator.submit([Trial(7, np.zeros(1), "candidate")])
        (outcome,) = received(evaluator, 1)
    assert outcome.error is not None
    times = retries + 1
    assert f"died {times} times on trial 7" in str(outcome.error)
    assert log.read_text().count("tried") == times
