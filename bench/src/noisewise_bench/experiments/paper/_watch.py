"""Diagnostics of RB-PEM as run, from what its own noise model has seen.

The paper names them without formulas; these are the nearest that its text allows:

    drift W1    Wasserstein distance of the older from the newer half of the last residuals
    shape W1    the same of those at small from those at large values
    scale R2    share of the variance of the residuals' size that the fitted scale explains
    centre rel  median of |y1 - y2| / |y1 + y2| of re-evaluated points: how far centres would move
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from noisewise_bench.as_run import CLIP, POOL, RBPEM, DiagonalES, NoiseModel
from noisewise_bench.problem import FloatArray, Oracle
from noisewise_bench.problems import make
from noisewise_bench.record import Recorder
from noisewise_bench.task import method_seed, stream

NAMES = ("drift W1", "shape W1", "scale R2", "centre rel")
#: Fewer residuals say nothing, and so many generations lie between two looks.
LEAST, EVERY = 32, 5


@dataclass
class Watch:
    """Keeps the newest residuals of a run and looks at them now and then."""

    residuals: FloatArray = field(default_factory=lambda: np.empty((0, 4)))  # size, s, z, centre
    moves: list[float] = field(default_factory=list)
    looks: list[tuple[float, ...]] = field(default_factory=list)  # generation, then `NAMES`
    restarts: list[int] = field(default_factory=list)
    generation: int = 0

    def __call__(
        self, es: DiagonalES, noise: NoiseModel, draws: FloatArray, centre: FloatArray
    ) -> None:
        if len(es.legs) > len(self.restarts):
            self.restarts.append(self.generation)
        self.generation += 1
        if len(draws):
            self._keep(noise, draws, centre)
        if self.generation % EVERY == 0 and len(self.residuals) >= LEAST:
            self.looks.append((float(self.generation), *self._look()))

    def _keep(self, noise: NoiseModel, draws: FloatArray, centre: FloatArray) -> None:
        scale = np.repeat(noise.scale(centre), draws.shape[1])
        r = (draws - centre[:, None]).ravel()
        known = scale > 0.0
        z = np.clip(r[known] / scale[known], -CLIP, CLIP)
        where = np.repeat(np.abs(centre), draws.shape[1])[known]
        new = np.column_stack([np.abs(r[known]), scale[known], z, where])
        self.residuals = np.vstack([self.residuals, new])[-POOL:]
        sums = np.maximum(np.abs(draws[:, 0] + draws[:, 1]), 1e-300)
        self.moves += (np.abs(draws[:, 0] - draws[:, 1]) / sums).tolist()

    def _look(self) -> tuple[float, ...]:
        size, scale, z, where = self.residuals.T
        half = len(z) // 2
        order = np.argsort(where, kind="stable")
        spread = float(np.sum((size - size.mean()) ** 2))
        return (
            float(stats.wasserstein_distance(z[:half], z[half:])),
            float(stats.wasserstein_distance(z[order[:half]], z[order[half:]])),
            1.0 - float(np.sum((size - scale) ** 2)) / spread if spread > 0.0 else math.nan,
            float(np.median(self.moves[-POOL:])),
        )


@dataclass(frozen=True)
class Watched:
    """One run of RB-PEM as run: what a campaign's row says of it, and its diagnostics."""

    best_evaluated: float
    generations: int
    restarts: tuple[int, ...]
    looks: FloatArray  # (n, 1 + len(NAMES))


def watched(problem: str) -> Watched:
    """The run that a campaign gives the seed 1 at B = 100d, looked at on the way."""
    found, watch = make(problem), Watch()
    budget, recorder = 100 * len(found.x0), Recorder(found)
    noise = np.random.Generator(np.random.PCG64(stream("noise", problem, 1)))
    oracle = Oracle(found, budget, noise, recorder)
    outcome = RBPEM(watch=watch)(oracle, budget, method_seed(problem, 1))
    record = recorder.finish(outcome.x)
    looks = np.array(watch.looks).reshape(-1, 1 + len(NAMES))
    nit = outcome.nit or 0
    return Watched(record.best_evaluated_regret, nit, tuple(watch.restarts), looks)
