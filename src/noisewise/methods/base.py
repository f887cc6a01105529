"""What every method has: engine options, and the parts it is made of."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from noisewise._check import integer, one_of, positive_real
from noisewise.core.covariance import MODELS
from noisewise.core.profiles import Log, Profile, by_name
from noisewise.core.strategy import RECOMBINATIONS, Strategy
from noisewise.generation import Controls, Parts, Setup

#: Generations that a budget must pay for before the workers may widen them.
_ENOUGH = 20


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """Options of the engine that every method shares.

    covariance
        ``"full"``, ``"diagonal"``, or ``"slow-diagonal"``, a diagonal that learns no faster than
        a full matrix, which noise disturbs less.
    population
        Candidates per generation; None: 4 + floor(3 ln d), rounded up to fill the workers;
        see `default_population`.
    c_mean
        Learning rate of the mean, in (0, 1].
    profile
        Rank -> weight map: `Log`, `Uniform` or `PowerLift`, or a name: ``"log"``, ``"active"``
        (log weights with a negative half), ``"uniform"``, ``"power-lift"``.
    rates
        ``"per-generation"``: mu_eff and the learning rates follow from the weights of each
        update; ``"fixed"``: from the profile at the initial population, once.
    recombination
        ``"arithmetic"``: the mean moves to the weighted mean of the candidates;
        ``"weiszfeld"``: one step towards their weighted geometric median, that is, weights
        divided by the distance from the mean.
    """

    name: ClassVar[str]
    #: Whether only the order of the values counts, not the values themselves.
    rank_based: ClassVar[bool] = True

    covariance: str = "full"
    population: int | None = None
    c_mean: float = 1.0
    profile: Profile = field(default_factory=Log)
    rates: str = "per-generation"
    recombination: str = "arithmetic"

    def __post_init__(self) -> None:
        one_of("covariance", self.covariance, tuple(MODELS))
        one_of("rates", self.rates, ("per-generation", "fixed"))
        one_of("recombination", self.recombination, RECOMBINATIONS)
        positive_real("c_mean", self.c_mean, most=1.0)
        if self.population is not None:
            integer("population", self.population, least=2)
        object.__setattr__(self, "profile", by_name(self.profile))

    @abstractmethod
    def parts(self, setup: Setup) -> Parts:
        """The parts that run a generation."""

    def strategy(self, setup: Setup) -> Strategy:
        """The engine."""
        mu_eff = None
        if self.rates == "fixed":
            w = self.profile.weights(self.controls(setup).population)
            mu_eff = 1.0 / float(w[w > 0.0] @ w[w > 0.0])
        return Strategy(setup.dimension, MODELS[self.covariance], mu_eff, self.recombination)

    def controls(self, setup: Setup) -> Controls:
        """What the first generation starts with."""
        return Controls(self.population or default_population(setup), self.c_mean)


def default_population(setup: Setup) -> int:
    """4 + floor(3 ln d), rounded up to a multiple of the workers; at least twice their number if
    the budget pays for enough such generations, so that few of them wait for the last value."""
    n, workers = 4 + math.floor(3.0 * math.log(setup.dimension)), setup.workers
    if workers > 1 and setup.budget >= _ENOUGH * 2 * workers:
        n = max(n, 2 * workers)
    return workers * math.ceil(n / workers)
