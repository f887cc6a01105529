"""A method without a search distribution that learns: random search that re-evaluates the best.

It shows how little a method needs, and holds the loop to its contract with every method: nothing
outside the methods may take for granted that candidates come from an evolution strategy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from noisewise._check import integer
from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.measured.population import Population
from noisewise.methods.method import (
    NOTHING,
    Distribution,
    Explanation,
    Info,
    Method,
    Now,
    Recommended,
    Setup,
    Size,
    default_population,
    everyone,
)


@data
@dataclass(frozen=True, kw_only=True)
class ToyMemory:
    """Where candidates are sampled, and the best candidate of all with its values."""

    centre: FloatArray
    #: Half the width of the box around the centre, by coordinate.
    reach: FloatArray
    population: int
    best: FloatArray
    values: FloatArray


@data
@dataclass(frozen=True, kw_only=True)
class Toy(Method):
    """Uniform candidates in a box around the start; the ``again`` best of every batch are
    evaluated twice more, and the one with the smallest mean of all is recommended."""

    name: ClassVar[str] = "toy"
    rank_based: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = ("incumbent",)

    population: int | None = None
    again: int = 2

    def __post_init__(self) -> None:
        if self.population is not None:
            integer("population", self.population, least=2)
        integer("again", self.again, least=0)

    def start(self, setup: Setup, distribution: Distribution | None = None) -> ToyMemory:
        d = setup.dimension
        centre, sd = setup.mean, np.full(d, setup.sigma)
        if distribution is not None:
            C = distribution.C
            centre = distribution.mean
            sd = distribution.sigma * np.sqrt(C if C.ndim == 1 else np.diagonal(C))
        k = self.population or default_population(d)
        return ToyMemory(
            centre=centre, reach=3.0 * sd, population=k, best=centre, values=np.empty(0)
        )

    def size(self, memory: ToyMemory, now: Now) -> Size:
        k = memory.population
        return Size(k, 1.0 + 2.0 * min(self.again, k) / k)

    def propose(
        self, memory: ToyMemory, n: int, pending: FloatArray, now: Now, rng: np.random.Generator
    ) -> FloatArray:
        assert pending.size == 0 or pending.shape[1] == len(memory.centre)
        steps = rng.uniform(-1.0, 1.0, size=(n, len(memory.centre)))
        return np.asarray(memory.centre + memory.reach * steps)

    def request(
        self, memory: ToyMemory, population: Population, rng: np.random.Generator
    ) -> IntArray:
        if population.wave == 0:
            return everyone(len(population))
        if population.wave > 1:
            return NOTHING
        order = population.samples.first.argsort(kind="stable")
        return np.tile(order[: self.again], 2)

    def learn(
        self, memory: ToyMemory, population: Population, now: Now, rng: np.random.Generator
    ) -> tuple[ToyMemory, Info]:
        counts, means = population.samples.counts, population.samples.mean()
        if counts.max() > 0:
            # A mean of few values may be a lucky one.
            i = int(np.where(counts == counts.max(), means, np.inf).argmin())
            values = population.samples.values[i]
            if len(memory.values) == 0 or means[i] < memory.values.mean():
                good = values[np.isfinite(values)]
                memory = replace(memory, best=population.X[i].copy(), values=good)
        return memory, Info((self.recommend(memory).fun,))

    def recommend(self, memory: ToyMemory) -> Recommended:
        n = len(memory.values)
        fun = float(memory.values.mean()) if n else math.nan
        return Recommended(memory.best, fun)

    def explain(self, memory: ToyMemory) -> Explanation:
        return Explanation(f"the best candidate was evaluated {len(memory.values)} times")

    def distribution(self, memory: ToyMemory) -> Distribution:
        """As wide as what is sampled, around the best candidate."""
        variance: Any = memory.reach**2 / 3.0
        return Distribution(memory.best, 1.0, variance)
