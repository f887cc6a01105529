"""Population size from the misranking measured while running.

| symbol | meaning |
|---|---|
| q | mean move of candidates evaluated again: 0 no noise, 1 ranks are pure noise |
| psi | (q - CALM) / (WILD - CALM), clipped to [0, 1] |
| k0, k1 | population without noise, and with nothing but noise |
| k | k0 (k1 / k0)^psi, growing by at most GROW and shrinking by at most SHRINK a generation |

k1 = min(3 (d + 5) (B / 200 d)^(1/4), B / 12), see `noisewise.methods.Auto`. On a sphere with strong
noise the best population over the mean learning rate grows like d, whatever the budget; longer
runs can afford a little more, short ones still need a dozen generations. (A smaller mean learning
rate does the same as a larger population, but fills fewer workers.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from noisewise._data import data
from noisewise.core.strategy import Info, State
from noisewise.generation import Adaptation, Controls, Generation, Setup
from noisewise.noise.displacement import moves, reevaluated

CALM, WILD = 0.4, 0.8
GROW, SHRINK = 1.3, 1.1
#: Second looks over which the misranking is averaged.
_RECALL = 10.0
#: Share of a generation that gets a second look, without noise and with nothing but noise.
_SHARE = (0.02, 0.03)
#: Evaluations between two second looks while the objective looks deterministic.
_REST = 200


@data
@dataclass(slots=True)
class WatchfulMemory:
    """What was measured, and where the population stands."""

    population: float
    smallest: int
    largest: float
    #: Weighted sum and weight of the moves seen.
    moved: float = 0.0
    seen: float = 0.0
    deterministic: bool = True
    #: Fractions of second looks saved up; evaluations until the next one.
    credit: float = 0.0
    rest: int = _REST
    #: For the explanation: largest population and noise met.
    peak: int = 0
    peak_noise: float = 0.0

    @property
    def q(self) -> float:
        return self.moved / self.seen if self.seen else 0.0


@dataclass(frozen=True)
class Watchful(Adaptation):
    """Adapts the population between a calm and a wild extreme."""

    smallest: int
    largest: float
    workers: int = 1
    centred: bool = True

    def start(self, setup: Setup) -> WatchfulMemory:
        return WatchfulMemory(float(self.smallest), self.smallest, self.largest, peak=self.smallest)

    def step(
        self, memory: WatchfulMemory, gen: Generation, before: State, after: State, info: Info
    ) -> tuple[WatchfulMemory, Controls, State]:
        new = replace(memory)
        self._measure(new, gen)
        psi = min(1.0, max(0.0, (new.q - CALM) / (WILD - CALM)))
        target = self.smallest * (self.largest / self.smallest) ** psi
        if gen.index > 0:
            target = min(max(target, new.population / SHRINK), new.population * GROW)
        new.population = target
        way = math.log(target / self.smallest) / math.log(self.largest / self.smallest)
        way = min(1.0, max(0.0, way))
        k = self.workers * math.ceil(round(target) / self.workers)
        new.peak, new.peak_noise = max(new.peak, k), max(new.peak_noise, new.q)
        looks = self._looks(new, k, psi, gen)
        controls = Controls(
            population=k,
            reevaluations=looks,
            noise=way,
            centred=self.centred and not new.deterministic,
        )
        return new, controls, after

    def _measure(self, memory: WatchfulMemory, gen: Generation) -> None:
        who = reevaluated(gen.samples)
        if len(who) == 0:
            return
        values = gen.samples.values
        if (values[who, 0] != values[who, 1]).any():
            memory.deterministic = False
        for move in moves(gen.samples, who).tolist():
            fade = 1.0 if memory.seen < _RECALL - 0.5 else 1.0 - 1.0 / _RECALL
            memory.moved = fade * memory.moved + move
            memory.seen = fade * memory.seen + 1.0

    def _looks(self, memory: WatchfulMemory, k: int, psi: float, gen: Generation) -> int:
        """Second looks of the next generation."""
        if memory.seen == 0.0:  # they failed, or none was affordable: nothing is known yet
            return gen.controls.reevaluations
        if memory.deterministic:
            memory.rest -= len(gen.X)
            if memory.rest > 0:
                return 0
            memory.rest = _REST
            return 1
        memory.credit += k * (_SHARE[0] + (_SHARE[1] - _SHARE[0]) * psi)
        looks = int(memory.credit)
        memory.credit -= looks
        return looks

    def explain(self, memory: WatchfulMemory) -> str:
        if memory.seen == 0.0:
            return "no candidate could be evaluated twice: plain CMA-ES"
        if memory.deterministic:
            return "repeated evaluations agreed exactly: plain CMA-ES"
        now = round(memory.population)
        said = f"ranks of repeated evaluations disagree by {memory.q / 3.0:.0%} (pure noise: 33%)"
        if memory.peak <= memory.smallest:
            return f"{said}: population {memory.smallest} was enough"
        return f"{said}: population {memory.smallest} -> {now}, at most {memory.peak}"
