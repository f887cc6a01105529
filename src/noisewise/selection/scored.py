"""Weights from mean scores, which remember how far scores of one candidate scatter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.generation import Generation, Selection, Setup
from noisewise.noise.misranking import displacement
from noisewise.noise.scores import scores, within
from noisewise.selection.hard import rank_weights

#: What a generation's contribution loses in the next one.
_FORGET = 0.1


@data
@dataclass(slots=True)
class Scatter:
    """Fading sum of squares of the scores within candidates, and its degrees of freedom. It
    starts as if noise were all there is, seen once."""

    squares: float = 1.0
    freedom: float = 1.0

    def variance(self, squares: float = 0.0, freedom: int = 0) -> float:
        """Noise variance of a score, with the values of the generation under way; not zero."""
        return max((self.squares + squares) / (self.freedom + freedom), 1e-12)


@dataclass(frozen=True)
class MeanScore(Selection):
    """Rank candidates by the mean normal score of their values: no single value counts for
    more than its order."""

    def start(self, setup: Setup) -> Scatter:
        return Scatter()

    def weigh(self, gen: Generation, memory: Scatter) -> tuple[FloatArray, Any]:
        v = scores(gen.samples)
        squares, freedom = within(v)
        keep = 1.0 - _FORGET
        after = Scatter(keep * memory.squares + squares, keep * memory.freedom + freedom)
        gen.notes["misranking"] = displacement(gen.samples)
        means = np.nansum(v, axis=1) / (~np.isnan(v)).sum(axis=1)
        means[gen.samples.counts == 0] = np.inf
        return rank_weights(means, gen.profile), after
