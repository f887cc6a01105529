"""How far a candidate moves in the ranking when it is evaluated again.

| symbol | meaning |
|---|---|
| k | candidates |
| r | 0-based rank of a candidate by its first value |
| r2 | rank its second value would have among the other candidates |
| q | 3 k |r2 - r| / (k^2 - 1): 0 for equal values, k/(k + 1) on average if ranks are pure noise |
"""

from __future__ import annotations

import math

import numpy as np

from noisewise._types import FloatArray, IntArray
from noisewise.noise.samples import Samples, ranks

NOBODY: IntArray = np.empty(0, dtype=np.intp)


def reevaluated(samples: Samples) -> IntArray:
    """Candidates whose first and second value are both there and did not fail."""
    values = samples.values
    if values.shape[1] < 2:
        return NOBODY
    return np.flatnonzero(np.isfinite(values[:, 0]) & np.isfinite(values[:, 1]))


def second_ranks(samples: Samples, who: IntArray) -> IntArray:
    """r2 of the candidates ``who``; ties by index, as for first values."""
    first = samples.first
    second = samples.values[who, 1, None]
    tied = (first == second) & (np.arange(len(first)) < who[:, None])
    below = ((first < second) | tied).sum(axis=1)
    return np.asarray(below - (first[who] < second[:, 0]), dtype=np.intp)


def moves(samples: Samples, who: IntArray) -> FloatArray:
    """q of the candidates ``who``."""
    k = len(samples.values)
    away = np.abs(second_ranks(samples, who) - ranks(samples.first)[who])
    return np.asarray(3.0 * k * away / (k * k - 1.0))


def reliability(q: float) -> float:
    """Correlation of the two values of a candidate, from the mean q: that of the Gaussian copula
    with this Spearman footrule, 2 cos(pi q / 3) - 1, not below zero.

    >>> [round(reliability(q), 2) for q in (0.0, 0.5, 1.0)]
    [1.0, 0.73, 0.0]
    """
    return max(0.0, 2.0 * math.cos(math.pi * min(max(q, 0.0), 1.0) / 3.0) - 1.0)


def merged_order(samples: Samples, who: IntArray) -> IntArray:
    """Candidates from best to worst, those evaluated again by the mean of their two ranks:
    unlike a mean of values it is not carried away by a single extreme one."""
    if len(who) == 0:
        return samples.first.argsort(kind="stable")
    place = ranks(samples.first).astype(float)
    second = second_ranks(samples, who)
    # Between two places, the side of the first value decides.
    nudge = 0.25 * np.sign(place[who] - second)
    place[who] = 0.5 * (place[who] + second) + nudge
    return place.argsort(kind="stable")
