"""Sequential halving inside a generation: a published rule of selection with a fixed budget.

Everyone is evaluated once, the better half once more, the better quarter a third time, and so on
(Karnin, Koren and Somekh 2013, with one evaluation each per round). Who is dropped ranks behind
those who stay; ranks within a round are those of the means. A generation costs about two
evaluations per candidate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from noisewise._types import IntArray
from noisewise.plugin import (
    NOTHING,
    CMAOptions,
    EvolutionMemory,
    Now,
    Population,
    Size,
    Weights,
    everyone,
)
from noisewise_bench import methods
from noisewise_bench.problem import FloatArray, Oracle


@dataclass(frozen=True, kw_only=True)
class Halving(CMAOptions):
    """Separable CMA-ES whose candidates are ranked by sequential halving."""

    name: ClassVar[str] = "halving"

    covariance: str = "diagonal"

    def size(self, memory: EvolutionMemory, now: Now) -> Size:
        k = memory.population
        return Size(k, sum(rounds(k)) / k)

    def request(
        self, memory: EvolutionMemory, population: Population, rng: np.random.Generator
    ) -> IntArray:
        sizes = rounds(len(population))
        if population.wave == 0:
            return everyone(len(population))
        if population.wave >= len(sizes):
            return NOTHING
        return np.asarray(standing(population)[: sizes[population.wave]])

    def weigh(
        self, memory: EvolutionMemory, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, EvolutionMemory]:
        weights: FloatArray = np.empty(len(population))
        weights[standing(population)] = self.profile_weights(population)
        return Weights(weights), memory


def rounds(k: int) -> list[int]:
    """Candidates that are evaluated in each round.

    >>> rounds(15)
    [15, 7, 3]
    """
    sizes = [k]
    while sizes[-1] >= 4:
        sizes.append(sizes[-1] // 2)
    return sizes


def standing(population: Population) -> IntArray:
    """Candidates from best to worst: by the rounds they survived, then by mean."""
    samples = population.samples
    return np.lexsort((samples.mean(), -samples.counts))


def halving(oracle: Oracle, budget: int, seed: int) -> Any:
    """A run of `Halving` for the bench."""
    return methods.search(oracle, budget, seed, Halving())
