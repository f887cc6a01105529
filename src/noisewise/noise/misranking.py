"""How much noise changes the ranks of candidates: between two rankings of all of them, and of
those few that were evaluated again.

| symbol | meaning | range |
|---|---|---|
| r_a, r_b | 0-based ranks of the same k candidates under two draws of the noise | |
| P | sum |r_a - r_b| / k^2, the normalised Spearman footrule (Eq. probe) | [0, 1/2] |
| K | fraction of discordant pairs (Kendall) | [0, 1] |
| M | fraction of candidates whose membership in the better mu differs | [0, 1] |
| r | rank of a candidate by its first value | |
| r2 | rank its second value would have among the other candidates | |
| q | 3 k |r2 - r| / (k^2 - 1) | |

Rankings that have nothing in common give P = 1/3 on average. q is 0 for equal values and k/(k + 1)
on average if ranks are pure noise.
"""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np

from noisewise._types import FloatArray, IntArray
from noisewise.noise.samples import Samples, ranks

NOBODY: IntArray = np.empty(0, dtype=np.intp)


def footrule(r_a: IntArray, r_b: IntArray) -> float:
    """P."""
    return float(np.abs(r_a - r_b).sum()) / len(r_a) ** 2


def kendall(r_a: IntArray, r_b: IntArray) -> float:
    """K."""
    k = len(r_a)
    if k < 2:
        return 0.0
    order = np.sign(r_a[:, None] - r_a) * np.sign(r_b[:, None] - r_b)
    return float((order < 0).sum()) / (k * (k - 1))


def top_mu(r_a: IntArray, r_b: IntArray, mu: int) -> float:
    """M."""
    return float(((r_a < mu) != (r_b < mu)).mean())


def displacement(samples: Samples, common: bool = False) -> tuple[float, int]:
    """P estimated from the candidates that were evaluated again, and how many these are: how far
    each would move, as a fraction of the population, if its second value took the place of its
    first. nan and 0 if no candidate has two values. With ``common``, first values share a seed
    and second values another one: only values of one seed are compared."""
    values, k = samples.values, len(samples.values)
    if values.shape[1] < 2:
        return math.nan, 0
    # Lists: most rounds have few candidates, and fewer that were evaluated again.
    pairs = [(a, b) for a, b in values[:, :2].tolist() if math.isfinite(a + b)]
    n = len(pairs)
    if n == 0 or (common and n == 1):
        return math.nan, 0
    if n == k:
        return footrule(ranks(values[:, 0]), ranks(values[:, 1])), n
    if common:  # few move less far than many: rankings without anything in common give 1/3
        first, second = np.array(pairs).T
        return footrule(ranks(first), ranks(second)) * n * n / (n * n - 1), n
    ordered, moved = np.sort(values[:, 0]).tolist(), 0
    for old, new in pairs:
        # A tie of a candidate with its own old value is no displacement.
        moved += abs(bisect_left(ordered, new) - bisect_left(ordered, old) - (old < new))
    return moved / (n * k), n


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
