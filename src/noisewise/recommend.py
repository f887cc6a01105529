"""Which point to return, and an honest estimate of its value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.core.strategy import State
from noisewise.generation import Generation, Recommender, Setup


@dataclass(frozen=True)
class Recommendation:
    """A point with an estimate of f there (``fun``) and its standard error (nan if unknown).

    >>> import noisewise as nw
    >>> opt = nw.Optimizer([1.0, 2.0], sigma0=0.5, budget=100)
    >>> best = opt.recommend()  # before anything was told: where the search starts
    >>> best.x.tolist(), best.fun
    ([1.0, 2.0], nan)
    """

    x: FloatArray
    fun: float
    fun_se: float


@dataclass(frozen=True)
class Mean(Recommender):
    """The mean of the search distribution: no single lucky draw can carry it away."""

    def point(self, memory: Any, state: State) -> FloatArray:
        return state.mean


@data
@dataclass(slots=True)
class LateMemory:
    """Sum of late means, weighted by the evaluations behind each."""

    total: FloatArray
    weight: float = 0.0
    noisy: bool = False


@dataclass(frozen=True)
class LateMean(Recommender):
    """The mean, averaged over the generations of the last part of the budget if there is noise:
    what noise did to each of them cancels out in part."""

    part: float = 0.05

    def start(self, setup: Setup) -> LateMemory:
        return LateMemory(np.zeros(setup.dimension))

    def step(self, memory: LateMemory, gen: Generation, after: State) -> LateMemory:
        if gen.progress < 1.0 - self.part:
            # Until then the newest mean is all there is; noise is whatever was seen last.
            return LateMemory(after.mean.copy(), 1.0, gen.controls.noise > 0.0)
        first = memory.weight <= 1.0
        k = float(len(gen.X))
        total = after.mean * k if first else memory.total + after.mean * k
        return LateMemory(total, k if first else memory.weight + k, gen.controls.noise > 0.0)

    def point(self, memory: LateMemory, state: State) -> FloatArray:
        if not memory.noisy or memory.weight == 0.0:
            return state.mean
        return np.asarray(memory.total / memory.weight)


def estimate(values: FloatArray) -> tuple[float, float]:
    """Mean and standard error of the successful ``values``; nan where there are too few."""
    good = values[np.isfinite(values)]
    if len(good) == 0:
        return math.nan, math.nan
    se = math.nan if len(good) < 2 else float(good.std(ddof=1)) / math.sqrt(len(good))
    return float(good.mean()), se
