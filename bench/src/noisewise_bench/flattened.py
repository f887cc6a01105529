"""Hard ranks with weights as flat as those of expected weights: the control of every comparison.

| symbol | meaning |
|---|---|
| w | weight of each rank, best first; mu_eff = 1 / sum w^2 |
| a | share of w that is the same for every rank |

About observed values with one scale, expected weights never change who is ahead: they flatten the
profile. What they gain over hard ranks with log weights may therefore be had without a model of the
noise and without re-evaluations, by ranks with flatter weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from noisewise.cma.weights import Log, Profile, rank_weights
from noisewise.methods import CMAES, RBPEM
from noisewise.methods.rbpem import RBPEMMemory
from noisewise.plugin import Population, Weights, data
from noisewise_bench import methods
from noisewise_bench.problem import FloatArray, Oracle
from noisewise_bench.task import Task, outcome


@data
@dataclass(frozen=True)
class Flat(Profile):
    """Log weights mixed with equal ones, so that their selection mass is ``mu_eff``.

    >>> Flat(3.0).weights(4).round(3).tolist()
    [0.46, 0.235, 0.153, 0.153]
    """

    mu_eff: float

    def weights(self, n: int, progress: float = 0.0) -> FloatArray:
        """Weights for ``n`` candidates; at most equal, at least logarithmic ones."""
        w = Log().weights(n)
        most, square = 1.0 / n, float(w @ w)
        wanted = min(max(1.0 / self.mu_eff, most), square)
        rest = math.sqrt((wanted - most) / (square - most)) if square > most else 0.0
        return np.asarray((1.0 - rest) * most + rest * w)


@dataclass(frozen=True, kw_only=True)
class ByRank(RBPEM):
    """RB-PEM whose weights are handed out by the observed ranks: as flat, generation by
    generation, and no knowledge of single candidates."""

    name: ClassVar[str] = "by-rank"

    def weigh(
        self, memory: RBPEMMemory, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, RBPEMMemory]:
        weights, memory = super().weigh(memory, population, rng)
        profile = np.sort(weights.covariance)[::-1]
        return Weights(rank_weights(population.samples.median(), profile)), memory


def hard_ranks(oracle: Oracle, budget: int, seed: int, *, mu_eff: float) -> Any:
    """A run of separable CMA-ES with weights of this flatness for the bench."""
    method = CMAES(covariance="diagonal", profile=Flat(mu_eff))
    return methods.search(oracle, budget, seed, method)


def by_rank(oracle: Oracle, budget: int, seed: int) -> Any:
    """A run of `ByRank` for the bench."""
    return methods.search(oracle, budget, seed, ByRank())


def mu_eff(problem: str, method: str, budget: str, seed: int = 1) -> float:
    """Mean mu_eff over the generations of a run of ``method``, on the bench's noise."""
    return float(np.nanmean(outcome(Task(problem, method, budget, seed)).history["mu_eff"]))
