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
    values = samples.values
    if values.shape[1] < 2:
        return float("nan"), 0
    again = np.flatnonzero(np.isfinite(values[:, 0]) & np.isfinite(values[:, 1]))
    n = len(again)
    if n == 0:
        return float("nan"), 0
    first, k = values[:, 0], len(values)
    if n == k:
        return footrule(ranks(first), ranks(values[:, 1])), n
    old, new, ordered = first[again], values[again, 1], np.sort(first)
    # A tie of a candidate with its own old value is no displacement.
    moved = ordered.searchsorted(new) - ordered.searchsorted(old) - (old < new)
    return float(np.abs(moved).sum()) / (n * k), n
