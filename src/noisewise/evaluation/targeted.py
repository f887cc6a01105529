"""Targeted re-evaluation: a capped number of second looks where they matter most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._check import one_of
from noisewise._types import IntArray
from noisewise.evaluation.plans import NOTHING, everyone
from noisewise.generation import Controls, Generation, Plan
from noisewise.noise.misranking import weight_variance
from noisewise.noise.model import NoiseModel
from noisewise.noise.samples import ranks

TARGETS = ("boundary", "instability")


@dataclass(frozen=True)
class Targeted(Plan):
    """Everyone once, then ``controls.reevaluations`` candidates once more.

    ``boundary``: those with ranks nearest to mu (right for uniform weights);
    ``instability``: those whose weight varies most over bootstrap rankings (Eq.
    weight_instability), and the boundary while there is no pool yet.
    """

    model: NoiseModel
    target: str = "instability"
    n_bootstrap: int = 32

    def __post_init__(self) -> None:
        one_of("target", self.target, TARGETS)

    def request(self, gen: Generation, memory: Any) -> IntArray:
        if gen.wave == 0:
            return everyone(len(gen.X))
        again = min(gen.controls.reevaluations, len(gen.X))
        if gen.wave > 1 or again == 0:
            return NOTHING
        return self._choose(gen, memory, again)

    def _choose(self, gen: Generation, memory: Any, again: int) -> IntArray:
        if self.target == "boundary" or memory.pool.size == 0:
            mu = int((gen.profile > 0.0).sum())
            # Ranks mu - 1 and mu (0-based) lie on either side of the boundary.
            distance = np.abs(ranks(gen.samples.first) - (mu - 0.5))
            return np.asarray(distance.argsort(kind="stable")[:again])
        order = self.model.rankings(gen, memory, self.n_bootstrap)
        return (-weight_variance(order, gen.profile)).argsort(kind="stable")[:again]

    def cost(self, controls: Controls) -> float:
        return 1.0 + min(controls.reevaluations, controls.population) / controls.population
