"""Ranks taken at face value, with weights that use the whole ranking the more it is noise.

| symbol | meaning | shape |
|---|---|---|
| w | profile, positive for the better half | (k,) |
| s | normal scores of the ranks, best positive | (k,) |
| t | s sum(w s) / sum(s^2): as steep as w is | (k,) |
| b | share of t in the weights of the mean, at most `share` | |

When values are mostly noise the worse half says as much about where to go as the better half;
when they are not, what matters is what the best have in common. So the mean moves by
(1 - b)(w - 1/k) + b t.
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
    """The profile for the covariance, a blend of the profile and normal scores for the mean;
    ``share`` is that of the scores where ranks are nothing but noise."""

    share: float = 0.5

    def weigh(self, gen: Generation, memory: Any) -> tuple[FloatArray, Any]:
        samples, k = gen.samples, len(gen.X)
        who = reevaluated(samples)
        if len(who):
            # Who ties with others would seem to move even where the value is the same again.
            changed = samples.values[who, 0] != samples.values[who, 1]
            gen.notes["misranking"] = float((changed * moves(samples, who)).mean()) / 3.0
        order = merged_order(samples, who)
        if not np.isfinite(samples.values[order[-1], 0]):  # failures are no evidence of noise
            return rank_weights(samples.mean(), gen.profile), memory
        weights = np.empty(k)
        weights[order] = gen.profile
        blend = self.share * gen.controls.noise
        if blend > 0.0 and gen.controls.centred:
            s = normal_scores(k)
            t = s * (float(gen.profile.dot(s)) / float(s.dot(s)))
            gen.mean_weights = np.empty(k)
            gen.mean_weights[order] = (1.0 - blend) * (gen.profile - 1.0 / k) + blend * t
        return weights, memory


@lru_cache(maxsize=512)
def normal_scores(k: int) -> FloatArray:
    """s for ranks 0..k-1, summing to zero. Read-only."""
    s = -ndtri((np.arange(k) + 0.625) / (k + 0.25))
    s -= s.mean()
    s.setflags(write=False)
    return np.asarray(s)
