"""From values and rankings to one weight per candidate.

| symbol | meaning | shape |
|---|---|---|
| profile | weight of each rank, best first | (k,) |
| order | candidates from best to worst, one row per ranking | (b, k) |
| w | weight of each candidate | (k,) |
| s | normal scores of the ranks, best positive | (k,) |
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from noisewise._types import FloatArray, IntArray
from noisewise.noise.samples import Samples

AGGREGATES = ("mean", "median", "trimmed")


def aggregate(samples: Samples, how: str) -> FloatArray:
    """One value per candidate; +inf where every evaluation failed."""
    if how == "mean":
        return samples.mean()
    return samples.median() if how == "median" else samples.trimmed_mean()


def rank_weights(values: FloatArray, profile: FloatArray) -> FloatArray:
    """``profile`` handed out by rank. Candidates without a value (+inf) rank last and never
    pull the mean: their positive weight goes to the others."""
    order = values.argsort(kind="stable")
    weights = np.empty(len(values))
    weights[order] = profile
    if values[order[-1]] == np.inf:
        weights[(values == np.inf) & (weights > 0.0)] = 0.0
        return normalised(weights)
    return weights


def normalised(weights: FloatArray) -> FloatArray:
    """``weights`` with a positive part that sums to one; equal weights if there is none."""
    total = float(np.maximum(weights, 0.0).sum())
    if total == 0.0:
        return np.full(len(weights), 1.0 / len(weights))
    return np.where(weights > 0.0, weights / total, weights)


def expected_weights(order: IntArray, profile: FloatArray) -> FloatArray:
    """Mean weight of each candidate over rankings; ``order`` (b, k) lists, per ranking, the
    candidates from best to worst."""
    return _averaged(order, _handed_out(order, profile))


def weight_variance(order: IntArray, profile: FloatArray) -> FloatArray:
    """U, the variance of each candidate's weight over rankings (Eq. weight_instability)."""
    handed_out = _handed_out(order, profile)
    mean = _averaged(order, handed_out)
    out: FloatArray = _averaged(order, handed_out * handed_out) - mean * mean
    return out


def _handed_out(order: IntArray, profile: FloatArray) -> FloatArray:
    """The weight of each entry of ``order``, flat."""
    return profile.reshape(1, -1).repeat(len(order), axis=0).ravel()


def _averaged(order: IntArray, handed_out: FloatArray) -> FloatArray:
    """Mean over rankings of what each candidate was handed out."""
    b, k = order.shape
    return np.asarray(np.bincount(order.ravel(), handed_out, k) / b, dtype=float)


@lru_cache(maxsize=512)
def normal_scores(k: int) -> FloatArray:
    """s for ranks 0..k-1, summing to zero. Read-only."""
    from scipy.special import ndtri  # takes long to import

    s = -ndtri((np.arange(k) + 0.625) / (k + 0.25))
    s -= s.mean()
    s.setflags(write=False)
    return np.asarray(s)
