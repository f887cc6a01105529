"""Small problems and methods for the bench's own tests, importable by worker processes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise_bench.problem import Oracle

FloatArray = npt.NDArray[np.float64]


class Sphere:
    """Sum of squares around 1 with additive Gaussian noise, in a box of +-5."""

    def __init__(self, dimension: int = 3, noise: float = 0.1) -> None:
        self.x0 = np.zeros(dimension)
        self.bounds = (np.full(dimension, -5.0), np.full(dimension, 5.0))
        self.noise = noise

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        return self.regret(X) + self.noise * rng.standard_normal(len(X))

    def regret(self, X: FloatArray) -> FloatArray:
        return np.asarray(np.sum((X - 1.0) ** 2, axis=1))


class Costly(Sphere):
    """A sphere whose truth is counted: how many rows were asked for."""

    truth_is_costly = True

    def __init__(self) -> None:
        super().__init__()
        self.truths = 0

    def regret(self, X: FloatArray) -> FloatArray:
        self.truths += len(X)
        return super().regret(X)

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        return super().regret(X) + self.noise * rng.standard_normal(len(X))


class Outcome:
    """A result with the optional counts."""

    def __init__(self, x: FloatArray, nit: int) -> None:
        self.x, self.nit, self.n_reevaluations = x, nit, 2


def random_search(oracle: Oracle, budget: int, seed: int, spread: float = 1.0) -> Outcome:
    """Batches of five around the best so far."""
    rng = np.random.default_rng(seed)
    best, x, nit = np.inf, oracle.x0, 0
    while oracle.remaining >= 5:
        X = np.clip(x + spread * rng.standard_normal((5, oracle.dimension)), *oracle.bounds)
        values = oracle(X)
        if values.min() < best:
            best, x = values.min(), X[values.argmin()]
        nit += 1
        oracle.report(x)
    return Outcome(x, nit)


def stay(oracle: Oracle, budget: int, seed: int) -> FloatArray:
    """Spends the budget at the start point and returns it."""
    oracle(np.tile(oracle.x0, (budget, 1)))
    return oracle.x0


def careless(oracle: Oracle, budget: int, seed: int) -> FloatArray:
    """Uses the global generator and asks for more than the budget, point by point."""
    while True:
        oracle(oracle.x0 + np.random.standard_normal(oracle.dimension))  # noqa: NPY002


def slow(oracle: Oracle, budget: int, seed: int) -> Any:
    """Random search that takes its time."""
    time.sleep(0.25)
    return random_search(oracle, budget, seed)


def broken(oracle: Oracle, budget: int, seed: int) -> FloatArray:
    """Fails while the file named by BENCH_TOYS_BROKEN exists."""
    if Path(os.environ["BENCH_TOYS_BROKEN"]).exists():
        raise RuntimeError("the pump is dry")
    return stay(oracle, budget, seed)


def deadly(oracle: Oracle, budget: int, seed: int) -> FloatArray:
    """Takes its process down with it, as running out of memory does."""
    os.kill(os.getpid(), signal.SIGKILL)
    return oracle.x0


def deadly_once(oracle: Oracle, budget: int, seed: int) -> FloatArray:
    """Kills its process the first time it is run."""
    try:
        Path(os.environ["BENCH_TOYS_MARK"]).touch(exist_ok=False)
    except FileExistsError:
        return stay(oracle, budget, seed)
    return deadly(oracle, budget, seed)


def outside(oracle: Oracle, budget: int, seed: int) -> FloatArray:
    """Recommends a point that nobody may use."""
    return oracle.x0 + 100.0


def nowhere(oracle: Oracle, budget: int, seed: int) -> FloatArray:
    """Recommends a point that is not a number."""
    return oracle.x0 * np.nan


not_callable = 3
