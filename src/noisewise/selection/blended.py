"""Ranks taken at face value, with weights that use the whole ranking the more it is noise.

| symbol | meaning | shape |
|---|---|---|
| w | profile, positive for the better half | (k,) |
| t | normal scores of the ranks, best positive, summing to zero, positive part to one | (k,) |
| b | 0: the mean moves by w - 1/k; 1: by t | |

When values are mostly noise the worse half says as much about where to go as the better half;
when they are not, what matters is what the best have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri

from noisewise._types import FloatArray
from noisewise.generation import Generation, Selection
from noisewise.noise.displacement import merged_order, moves, reevaluated
from noisewise.selection.hard import rank_weights


@dataclass(frozen=True)
class Blended(Selection):
    """Log weights for the covariance, a blend of log weights and normal scores for the mean."""

    def weigh(self, gen: Generation, memory: Any) -> tuple[FloatArray, Any]:
        samples, k = gen.samples, len(gen.X)
        who = reevaluated(samples)
        if len(who):
            gen.notes["misranking"] = float(moves(samples, who).mean()) / 3.0
        order = merged_order(samples, who)
        if not np.isfinite(samples.values[order[-1], 0]):  # failures are no evidence of noise
            return rank_weights(samples.mean(), gen.profile), memory
        weights = np.empty(k)
        weights[order] = gen.profile
        blend = gen.controls.noise
        if blend > 0.0 and gen.controls.centred:
            gen.mean_weights = np.empty(k)
            centred = gen.profile - 1.0 / k
            gen.mean_weights[order] = (1.0 - blend) * centred + blend * normal_scores(k)
        return weights, memory


@lru_cache(maxsize=512)
def normal_scores(k: int) -> FloatArray:
    """t for ranks 0..k-1. Read-only."""
    t = -ndtri((np.arange(k) + 0.625) / (k + 0.25))
    t -= t.mean()
    t /= t[t > 0.0].sum()
    t.setflags(write=False)
    return np.asarray(t)
