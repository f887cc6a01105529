"""Which point to return, and an honest estimate of its value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._types import FloatArray
from noisewise.core.strategy import State
from noisewise.generation import Recommender


@dataclass(frozen=True)
class Recommendation:
    """A point with an estimate of f there (``fun``) and its standard error (nan if unknown)."""

    x: FloatArray
    fun: float
    fun_se: float


@dataclass(frozen=True)
class Mean(Recommender):
    """The mean of the search distribution: no single lucky draw can carry it away."""

    def point(self, memory: Any, state: State) -> FloatArray:
        return state.mean


def estimate(values: FloatArray) -> tuple[float, float]:
    """Mean and standard error of the successful ``values``; nan where there are too few."""
    good = values[np.isfinite(values)]
    if len(good) == 0:
        return math.nan, math.nan
    se = math.nan if len(good) < 2 else float(good.std(ddof=1)) / math.sqrt(len(good))
    return float(good.mean()), se
