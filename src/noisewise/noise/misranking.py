"""How much two rankings of the same candidates disagree.

| symbol | meaning | range |
|---|---|---|
| r_a, r_b | 0-based ranks of the same k candidates under two draws of the noise | |
| P | sum |r_a - r_b| / k^2, the normalised Spearman footrule (Eq. probe) | [0, 1/2] |
| q | fraction of discordant pairs (Kendall) | [0, 1] |
| M | fraction of candidates whose membership in the better mu differs | [0, 1] |

Rankings that have nothing in common give P = 1/3 on average.
"""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np

from noisewise._types import IntArray
from noisewise.noise.samples import Samples, ranks


def footrule(r_a: IntArray, r_b: IntArray) -> float:
    """P."""
    return float(np.abs(r_a - r_b).sum()) / len(r_a) ** 2


def kendall(r_a: IntArray, r_b: IntArray) -> float:
    """q."""
    k = len(r_a)
    if k < 2:
        return 0.0
    order = np.sign(r_a[:, None] - r_a) * np.sign(r_b[:, None] - r_b)
    return float((order < 0).sum()) / (k * (k - 1))


def top_mu(r_a: IntArray, r_b: IntArray, mu: int) -> float:
    """M."""
    return float(((r_a < mu) != (r_b < mu)).mean())


def displacement(samples: Samples) -> tuple[float, int]:
    """P estimated from the candidates that were evaluated again, and how many these are: how far
    each would move, as a fraction of the population, if its second value took the place of its
    first. nan and 0 if no candidate has two values."""
    values, k = samples.values, len(samples.values)
    if values.shape[1] < 2:
        return math.nan, 0
    # Lists: most rounds have few candidates, and fewer that were evaluated again.
    pairs = [(a, b) for a, b in values[:, :2].tolist() if math.isfinite(a + b)]
    n = len(pairs)
    if n == 0:
        return math.nan, 0
    if n == k:
        return footrule(ranks(values[:, 0]), ranks(values[:, 1])), n
    ordered, moved = np.sort(values[:, 0]).tolist(), 0
    for old, new in pairs:
        # A tie of a candidate with its own old value is no displacement.
        moved += abs(bisect_left(ordered, new) - bisect_left(ordered, old) - (old < new))
    return moved / (n * k), n
