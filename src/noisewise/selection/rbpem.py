"""RB-PEM: expected rank weights from a residual bootstrap."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from noisewise._types import FloatArray
from noisewise.generation import Generation, Selection, Setup
from noisewise.noise.diagnostics import CHECKS, near_ties
from noisewise.noise.misranking import displacement, expected_weights
from noisewise.noise.model import NoiseMemory, NoiseModel
from noisewise.selection.hard import normalised, rank_weights

NO_POOL = (
    "no residual was ever observed (no candidate was evaluated twice), so nothing was "
    "bootstrapped: the weights were those of hard ranks"
)


@dataclass(frozen=True)
class ResidualBootstrap(Selection):
    """Average the profile over bootstrap rankings (Eq. weight_estimator).

    ``fallback`` names checks of `noisewise.noise.diagnostics`: while one of them fires, ranks
    are taken at face value.
    """

    model: NoiseModel = field(default_factory=NoiseModel)
    n_bootstrap: int = 32
    diagnostics_every: int = 10
    fallback: tuple[str, ...] = ()
    #: False: rank by the means, the control that has the same extra samples.
    expected: bool = True

    def start(self, setup: Setup) -> NoiseMemory:
        return self.model.start()

    def weigh(self, gen: Generation, memory: NoiseMemory) -> tuple[FloatArray, NoiseMemory]:
        self.model.learn(gen, memory)
        if gen.samples.values.shape[1] > 1:
            gen.notes["misranking"] = displacement(gen.samples)
        if gen.index % self.diagnostics_every == 0:
            self._diagnose(gen, memory)
        if not self.expected:
            return rank_weights(gen.samples.mean(), gen.profile), memory
        alarmed = set(self.fallback) & set(memory.diagnostics.firing())
        if memory.pool.size == 0 or alarmed:
            memory.unpooled += memory.pool.size == 0
            return rank_weights(gen.samples.median(), gen.profile), memory
        memory.bootstrapped += 1
        order = self.model.rankings(gen, memory, self.n_bootstrap)
        weights = expected_weights(order, gen.profile)
        if gen.samples.first.max() == np.inf:
            failed = np.fmin.reduce(gen.samples.values, axis=1) == np.inf
            weights[failed & (weights > 0.0)] = 0.0
        elif gen.profile[-1] >= 0.0:
            return weights, memory
        return normalised(weights), memory  # negative weights cancel positive ones in the average

    def _diagnose(self, gen: Generation, memory: NoiseMemory) -> None:
        y = np.sort(gen.samples.median())
        y = y[np.isfinite(y)]
        noise = self.model.typical_residual(gen, memory, y)
        ties = near_ties(y, noise) if noise > 0.0 else math.nan
        memory.diagnostics.compute(gen.index, memory.pool, self.model.clip, ties)

    def report(self, memory: NoiseMemory) -> tuple[dict[str, FloatArray], list[str]]:
        said = [CHECKS[name][2] for name in memory.diagnostics.firing() if memory.pool.size]
        if memory.bootstrapped == 0 and memory.unpooled > 0:
            said.insert(0, NO_POOL)
        return memory.diagnostics.table.as_dict(), said
