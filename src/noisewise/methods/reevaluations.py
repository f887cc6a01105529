"""What `Watchful` remembers, and its re-evaluations: what they showed, and how many follow.

| symbol | meaning |
|---|---|
| q | mean move of re-evaluated candidates: 0 no noise, 1 ranks are pure noise |
| psi | (q - CALM) / (WILD - CALM), clipped to [0, 1], see `watchful` |
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.cma.evolution import FEW_COMMON, EvolutionMemory
from noisewise.measured.population import Population
from noisewise.measured.samples import Samples, moves, reevaluated
from noisewise.methods.kept import Averages, Best

#: Re-evaluations over which the misranking is averaged.
_RECALL = 10.0
#: Share of a generation that is re-evaluated, without noise and with nothing but noise.
_SHARE = (0.02, 0.03)
#: Evaluations between two re-evaluations while the objective looks deterministic.
_REST = 200
#: Re-evaluations that agree mean that there is no noise if different points would agree as often
#: with at most this chance.
_LUCK = 0.05
#: A re-evaluation is surprising if it moves by more than this (see q) where little noise was
#: expected.
_SURPRISE = 0.4
#: Re-evaluations that follow at once for each surprising one.
_BURST = 3


@data
@dataclass(slots=True, kw_only=True)
class WatchfulMemory(EvolutionMemory):
    """What was measured, where the population stands, and the mean of the late means."""

    smallest: int
    largest: float
    wanted: float  # k before rounding
    first: int  # re-evaluations of the first generation, under noise
    budget: int
    #: The measured points with the smallest values.
    best: Best
    #: Weighted sum and weight of the moves seen.
    moved: float = 0.0
    seen: float = 0.0
    deterministic: bool = True
    #: Chance that as many pairs of different points have equal values as re-evaluations agreed:
    #: wins and losses are equal half of the time.
    luck: float = 1.0
    noise: float = 0.0  # nu
    #: Fractions of re-evaluations saved up; evaluations until the next one.
    credit: float = 0.0
    rest: int = _REST
    peak: int = 0
    #: Sum of late means, weighted by the evaluations behind each.
    late_sum: FloatArray = field(default_factory=lambda: np.empty(0))
    late_weight: float = 0.0
    late_noise: bool = False
    #: Whether ranks lead astray, so that values decide.
    averages: Averages = field(default_factory=Averages)

    @property
    def q(self) -> float:
        return self.moved / self.seen if self.seen else 0.0

    @property
    def plain(self) -> bool:
        """Whether re-evaluations agreed no more often than different points do."""
        return self.luck > _LUCK

    def measure(self, population: Population) -> None:
        """Take note of how far re-evaluated candidates moved."""
        samples = population.samples
        who = reevaluated(samples)
        if len(who) == 0:
            return
        if population.shifted or (samples.values[who, 0] != samples.values[who, 1]).any():
            self.deterministic = False
        if self.deterministic:
            _, counts = np.unique(samples.first, return_counts=True)
            k = len(samples.first)
            self.luck *= float(counts @ (counts - 1) / max(1, k * (k - 1))) ** len(who)
        for move in _moves(population, who).tolist():
            fade = 1.0 if self.seen < _RECALL - 0.5 else 1.0 - 1.0 / _RECALL
            self.moved = fade * self.moved + move
            self.seen = fade * self.seen + 1.0

    def more(self, population: Population) -> int:
        """How many more re-evaluations this generation deserves."""
        who = reevaluated(population.samples)
        if len(who) == 0:
            return 0
        k, values = len(population.X), population.samples.values
        noisy = population.shifted or bool((values[who, 0] != values[who, 1]).any())
        if self.generation == 0:
            return min(self.first, k) - len(who) if noisy and population.wave == 1 else 0
        if self.noise >= 0.5 or not noisy:
            return 0
        surprises = int((_moves(population, who) > _SURPRISE).sum())
        return min(self.reevaluations + _BURST * surprises, k // 2) - len(who)

    def next_reevaluations(self, population: Population, psi: float) -> int:
        """Re-evaluations of the next generation. Under common seeds they are saved up until
        there are enough to be compared with each other."""
        if self.seen == 0.0:  # they failed, or none was affordable: nothing is known yet
            return self.reevaluations
        if self.deterministic and self.plain:
            return 1
        if self.deterministic:
            self.rest -= len(population)
            if self.rest > 0:
                return 0
            self.rest = _REST
            return 1
        self.credit += self.population * (_SHARE[0] + (_SHARE[1] - _SHARE[0]) * psi)
        again = int(self.credit)
        if population.common and again < FEW_COMMON:
            return 0
        self.credit -= again
        return again


def _moves(population: Population, who: IntArray) -> FloatArray:
    """q of the candidates ``who``: among all candidates or, under common seeds, among themselves,
    so that values of one seed are compared."""
    if not population.common:
        return moves(population.samples, who)
    both = Samples(population.samples.values[who, :2])
    return moves(both, np.arange(len(who))) if len(who) > 1 else np.empty(0)
