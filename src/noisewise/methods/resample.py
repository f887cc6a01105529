"""Resampling: every candidate k times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from noisewise._check import integer, one_of
from noisewise._data import data
from noisewise.cma.evolution import CMAOptions, EvolutionMemory, Weights
from noisewise.cma.weights import AGGREGATES, aggregate
from noisewise.measured.population import Population
from noisewise.methods.method import Distribution, Setup


@data
@dataclass(frozen=True, kw_only=True)
class Resample(CMAOptions):
    """CMA-ES on an aggregate of ``k`` evaluations of every candidate.

    k
        Evaluations of each candidate.
    aggregate
        ``"mean"``, ``"median"`` or ``"trimmed"`` (the mean without the lowest and the highest
        fifth).

    >>> import noisewise as nw
    >>> method = nw.methods.Resample(k=2, aggregate="median")
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=600, method=method, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 0.1)
    (600, True)
    """

    name: ClassVar[str] = "resample"
    rank_based: ClassVar[bool] = False

    k: int = 5
    aggregate: str = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        integer("k", self.k, least=1)
        one_of("aggregate", self.aggregate, AGGREGATES)

    def start(self, setup: Setup, distribution: Distribution | None = None) -> Any:
        return EvolutionMemory(**self.begin(setup, distribution), repeats=self.k)

    def weigh(
        self, memory: EvolutionMemory, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, EvolutionMemory]:
        return self.ranked(aggregate(population.samples, self.aggregate), population), memory
