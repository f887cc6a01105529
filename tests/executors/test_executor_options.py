"""Limits that belong to the executor, and what workers make of exceptions and random numbers."""

from __future__ import annotations

import concurrent.futures as cf
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise import executors
from noisewise.methods import CMAES

_GOOD: dict[str, Any] = {
    "x0": [2.0, 2.0],
    "sigma0": 1.0,
    "budget": 24,
    "rng": 0,
    "method": CMAES(population=6),
}


def slow_beyond(x: Any) -> float:
    if x[0] > 2.5:
        time.sleep(30.0)
    return support.bumpy(x)


def test_threads_give_the_same_result() -> None:
    spec = executors.threads(3, timeout=60.0)
    seen: set[int] = set()

    def fun(x: Any) -> float:
        seen.add(threading.get_ident())
        return support.bumpy(x)

    r = nw.minimize(fun, **_GOOD, batch=6, executor=spec)
    assert support.same_result(r, nw.minimize(support.bumpy, **_GOOD, batch=6))
    assert threading.get_ident() not in seen
    assert 1 <= len(seen) <= 3
    assert nw.minimize(fun, **_GOOD, executor=spec).nfev == 24  # it can be used again


def test_limits_of_threads_and_pools() -> None:
    release = threading.Event()

    def fun(x: Any) -> float:
        if x[0] > 3.0:
            release.wait(60.0)
        return support.bumpy(x)

    options = _GOOD | {"budget": 12, "confirm": 0, "batch": 6}
    try:
        r = nw.minimize(fun, **options, executor=executors.threads(3, timeout=1.0))
        assert r.n_failures > 0
        with cf.ThreadPoolExecutor(3) as pool:
            given = executors.pool(pool, timeout=1.0)
            again = nw.minimize(fun, **options, executor=given)
            release.set()
        assert again.n_failures == r.n_failures
    finally:
        release.set()


def test_a_pool_says_how_many_workers_it_has() -> None:
    with cf.ThreadPoolExecutor(3) as pool:
        for workers, expected in ((None, 3), (2, 2), (1, 1)):
            spec = executors.pool(pool, workers=workers)
            with executors.start(sum, (), False, 1, spec, limits=executors.Limits()) as evaluator:
                assert evaluator.workers == expected
        assert pool.submit(abs, -1).result() == 1  # it stays the user's


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: executors.threads(0), "^workers must be a whole number of at least 1, got 0"),
        (lambda: executors.threads(2, timeout=-1.0), "^timeout must be a positive finite number"),
        (lambda: executors.pool("here"), r"^executor must be a concurrent\.futures\.Executor"),
        (lambda: executors.pool(cf.ThreadPoolExecutor(1), timeout=0), "^timeout must be"),
        (lambda: executors.pool(cf.ThreadPoolExecutor(1), workers=0), "^workers must be"),
    ],
)
def test_wrong_options(wrong: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        wrong()


def test_workers_are_set_once() -> None:
    for spec in (executors.processes(2), executors.threads(2)):
        with pytest.raises(ValueError, match=r"^set workers on the executor itself, not also"):
            nw.minimize(support.bumpy, **_GOOD, executor=spec, workers=3)


def draw(x: Any) -> float:
    """The noise of an objective that knows only the global generators."""
    return float(np.random.random() + 10.0 * int(1e6 * random.random()))  # noqa: NPY002


def values(executor: Any, budget: int = 24) -> list[float]:
    found: list[float] = []
    with executors.start(draw, (), False, 1, executor, limits=executors.Limits()) as evaluator:
        evaluator.submit([nw.Trial(i, np.zeros(2), "candidate") for i in range(budget)])
        by_id: dict[int, float] = {}
        while len(by_id) < budget:
            while not evaluator.finished:
                evaluator.receive(block=True)
            outcome = evaluator.finished[0]
            assert outcome.error is None
            by_id[outcome.id] = outcome.value
            evaluator.finished.popleft()
        found = [by_id[i] for i in range(budget)]
    return found


@pytest.mark.parametrize("kind", ["processes", "pool"])
def test_global_generators_differ_between_evaluations(kind: str) -> None:
    """Forked workers would inherit one state and repeat each other's noise."""

    def run() -> list[float]:
        if kind == "processes":
            return values(executors.processes(4))
        with cf.ProcessPoolExecutor(2) as pool:
            return values(pool)

    before = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    first, second = run(), run()
    assert len({*first, *second}) == 48
    assert len({v % 10.0 for v in first}) == 24  # each of the two generators
    assert len({v // 10.0 for v in first}) == 24
    # The user's own generators are left alone.
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # noqa: NPY002


def test_a_seeded_program_repeats_itself() -> None:
    """Whichever worker takes a trial, and however often it is tried."""
    code = (
        "import random, numpy as np, test_executor_options as t; from noisewise import executors;"
        "np.random.seed(3); random.seed(4); print(t.values(executors.processes(3)))"
    )
    here = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    path = os.pathsep.join([*here, os.environ.get("PYTHONPATH", "")])
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert runs[0].startswith("[")


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


class Hidden:
    def __repr__(self) -> str:
        raise RuntimeError("not to be seen")


def raise_mute(x: Any) -> float:
    raise Mute


def return_hidden(x: Any) -> Any:
    return Hidden()


@pytest.mark.parametrize("where", ["here", "workers", "threads", "vectorized"])
def test_an_exception_that_cannot_be_shown(where: str) -> None:
    given: dict[str, Any] = {
        "here": {},
        "workers": {"workers": 2},
        "threads": {"executor": executors.threads(2)},
        "vectorized": {"vectorized": True},
    }[where]
    with pytest.raises(nw.EvaluationError, match="Mute"):
        nw.minimize(raise_mute, **_GOOD, **given)
    r = nw.minimize(raise_mute, **_GOOD, **given, on_error="worst")
    assert r.n_failures == r.nfev > 0
    with pytest.raises(nw.EvaluationError, match="Hidden"):
        nw.minimize(return_hidden, **_GOOD, **given)
