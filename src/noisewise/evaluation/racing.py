"""Racing: second looks at the candidates whose place among the better ones is least certain.

| symbol | meaning | shape |
|---|---|---|
| v_i, n_i | mean score of candidate i, and of how many values | (k,) |
| b | elite boundary: midway between the mean scores of ranks mu and mu + 1 | |
| s2 | noise variance of one score, from this and earlier generations | |
| z_i | |v_i - b| / sqrt(s2 / n_i): how certain i's side of the boundary is | (k,) |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._types import FloatArray, IntArray
from noisewise.evaluation.plans import NOTHING
from noisewise.generation import Generation, Plan
from noisewise.noise.scores import scores, within

#: Waves in which the re-evaluations of a generation are spent.
_WAVES = 3


@dataclass(frozen=True)
class Race(Plan):
    """Everyone once; then, in a few waves, the candidates with z below ``confidence``, least
    certain first, until ``controls.reevaluations`` are spent. One candidate is always
    re-evaluated, so that noise which sets in late is noticed."""

    confidence: float

    def request(self, gen: Generation, memory: Any) -> IntArray:
        k, cap = len(gen.X), gen.controls.reevaluations
        if gen.wave == 0:
            return np.arange(k)
        values = gen.samples.values
        there = ~np.isnan(values)
        left = cap - (int(there.sum()) - k)
        if left <= 0:
            return NOTHING
        z = self._certainty(gen, memory)
        order = z.argsort(kind="stable")
        doubtful = int((z < self.confidence).sum())
        if gen.wave == 1:
            doubtful = max(doubtful, 1)
        return order[: min(doubtful, left, -(-cap // _WAVES))]

    def _certainty(self, gen: Generation, memory: Any) -> FloatArray:
        v = scores(gen.samples)
        counts = (~np.isnan(v)).sum(axis=1)
        means = np.nansum(v, axis=1) / counts
        mu = int((gen.profile > 0.0).sum())
        ordered = np.sort(means)
        boundary = 0.5 * (ordered[mu - 1] + ordered[min(mu, len(ordered) - 1)])
        s2 = memory.variance(*within(v))
        z: FloatArray = np.abs(means - boundary) / np.sqrt(s2 / counts)
        return z
