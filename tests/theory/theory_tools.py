"""Noise laws, and expected rank weights by numerical integration instead of sampling.

| symbol | meaning | shape |
|---|---|---|
| f, s | centre and scale of each candidate: y_i = f_i + s_i eps | (k,) |
| w | weight of each rank, best first | (k,) |
| w* | E[w(rank of candidate i)] | (k,) |
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from noisewise._types import FloatArray
from noisewise.measured.pairs import noise_ratio


def bound(gap: float, s_i: float, s_j: float, k: int = 1) -> float:
    """Largest probability that means of ``k`` sub-Gaussian values with standard deviations s_i and
    s_j and true distance ``gap`` have the wrong order (Eq. (14))."""
    return math.exp(-k * gap * gap / (2.0 * (s_i * s_i + s_j * s_j)))


def evaluations_for_pair(target: float, gap: float, s_i: float, s_j: float) -> int:
    """Evaluations of each of two candidates for which `bound` is at most ``target``; they grow
    with the inverse square of the gap (Eq. (15))."""
    noise = s_i * s_i + s_j * s_j
    return max(1, math.ceil(2.0 * noise / (gap * gap) * math.log(1.0 / target)))


def misranked(discordance: float, k: int) -> float:
    """Share of pairs in the wrong order after ``k`` evaluations of each candidate, from the share
    whose order differs between two rankings by single evaluations."""
    return math.atan(math.sqrt(noise_ratio(discordance) / k)) / math.pi


@dataclass(frozen=True)
class Uniform:
    """Uniform on [-a, a]; its density nowhere exceeds 1 / (2a)."""

    a: float = 1.0

    def quantile(self, u: FloatArray) -> FloatArray:
        return self.a * (2.0 * u - 1.0)

    def cdf(self, x: FloatArray) -> FloatArray:
        return np.clip((x / self.a + 1.0) / 2.0, 0.0, 1.0)


@dataclass(frozen=True)
class Normal:
    """Standard normal."""

    def quantile(self, u: FloatArray) -> FloatArray:
        return np.asarray(stats.norm.ppf(u))

    def cdf(self, x: FloatArray) -> FloatArray:
        return np.asarray(stats.norm.cdf(x))


def pem_weights(
    f: FloatArray, s: FloatArray, w: FloatArray, law: Uniform | Normal, n: int = 4000
) -> FloatArray:
    """w*: given its own value, how many others are better is a sum of independent coins."""
    k = len(f)
    u = (np.arange(n) + 0.5) / n
    out = np.empty(k)
    for i in range(k):
        y = f[i] + s[i] * law.quantile(u)
        better = np.zeros((k, n))  # probability of 0, 1, ... better ones, by own quantile
        better[0] = 1.0
        for j in range(k):
            if j != i:
                p = law.cdf((y - f[j]) / s[j])
                shifted = np.vstack((np.zeros((1, n)), better[:-1]))
                better = better * (1.0 - p) + shifted * p
        out[i] = (w @ better).mean()
    return out
