"""The base of every evolution strategy: sample, weigh, update, adapt.

An `EvolutionStrategy` owns a search distribution N(m, sigma^2 C), samples candidates from it and
updates it from one weight per candidate. It leaves two questions open:

- `weigh`: which weight does each candidate earn?
- `adapt`: what else changes before the next generation?
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from noisewise._check import integer_or_none, one_of, positive_real
from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.cma.covariance import MODELS
from noisewise.cma.strategy import RECOMBINATIONS, State, Strategy, Update
from noisewise.cma.warm import Warm, follow, prepare
from noisewise.cma.weights import Log, Profile, by_name, rank_weights
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
from noisewise.problem.earlier import Earlier

#: Candidates that must be evaluated again under a common seed to say something: a single one has
#: nothing to be compared with.
FEW_COMMON = 3


@data
@dataclass(slots=True, kw_only=True)
class EvolutionMemory:
    """What every evolution strategy remembers; methods add their own fields."""

    state: State
    #: Candidates of the next generation, and how often each is evaluated at first.
    population: int
    repeats: int = 1
    #: Further evaluations of chosen candidates, per generation.
    reevaluations: int = 0
    generation: int = 0
    #: Fixed variance-effective selection mass; None: that of the weights of each update.
    mu_eff: float | None = None
    #: First values of the newest generation: not selected, so an honest estimate around the mean.
    around: FloatArray = field(default_factory=lambda: np.empty(0))
    #: Where earlier data say that the search should begin.
    warm: Warm | None = None


class Weights(NamedTuple):
    """What candidates earn, in ask order.

    covariance
        Weights of the update; the positive part sums to one.
    mean
        Weights that move the mean where they differ; they sum to zero.
    centred
        Reliability of the ranks, 0 to 1, for an update that is measured against the population's
        own average, see `Strategy.update`; None: an ordinary update.
    shape
        Weights that change the covariance of a centred update where they differ; they sum to at
        most one.
    still
        Whether the covariance stays as it is; ``mean`` then changes the step size, too.
    """

    covariance: FloatArray
    mean: FloatArray | None = None
    centred: float | None = None
    shape: FloatArray | None = None
    still: bool = False


class EvolutionStrategy(Method):
    """A method that searches with N(m, sigma^2 C)."""

    columns: ClassVar[tuple[str, ...]] = ("sigma", "mu_eff", "c_mean")
    sampled: ClassVar[bool] = True
    #: Whether `weigh` looks at known standard errors itself; else it gets discounted values.
    weighs_errors: ClassVar[bool] = False

    @abstractmethod
    def strategy(self, memory: Any) -> Strategy:
        """Sampling and update."""

    @abstractmethod
    def profile_weights(self, population: Population) -> FloatArray:
        """Weight of each rank, best first."""

    @abstractmethod
    def weigh(
        self, memory: Any, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, Any]:
        """The weight of each candidate, and the memory. At least one evaluation succeeded."""

    def adapt(
        self,
        memory: Any,
        population: Population,
        before: State,
        after: State,
        update: Update,
        rng: np.random.Generator,
    ) -> Any:
        """The memory with which the next generation starts."""
        memory.state = after
        return memory

    def mean_rate(self) -> float:
        """Learning rate of the mean."""
        return 1.0

    def kept(self, memory: Any) -> float:
        """Part of the newest step of the mean that `adapt` kept."""
        return 1.0

    def ranked(self, values: FloatArray, population: Population) -> Weights:
        """The profile handed out by the rank of one value per candidate (+inf: failed)."""
        return Weights(rank_weights(values, self.profile_weights(population)))

    def size(self, memory: Any, now: Now) -> Size:
        k = memory.population
        return Size(k, memory.repeats + memory.reevaluations / k)

    def propose(
        self, memory: Any, n: int, pending: FloatArray, now: Now, rng: np.random.Generator
    ) -> FloatArray:
        return self.strategy(memory).sample(memory.state, n, rng)

    def request(self, memory: Any, population: Population, rng: np.random.Generator) -> IntArray:
        if population.wave > 0:
            return NOTHING
        once, repeats = everyone(len(population)), memory.repeats
        # Whole rounds, so that a budget that ends in the middle still covers everyone.
        return once if repeats == 1 else np.tile(once, repeats)

    def learn(
        self, memory: Any, population: Population, now: Now, rng: np.random.Generator
    ) -> tuple[Any, Info]:
        before, c_mean = memory.state, self.mean_rate()
        if population.failed:  # nothing to learn from
            memory.generation += 1
            return memory, Info((before.sigma, math.nan, c_mean * self.kept(memory)))
        around = (population.told or population.samples).values[:, 0]
        population = population.comparable(discount=not self.weighs_errors)
        weights, memory = self.weigh(memory, population, rng)
        X = population.X if population.near is None else population.near
        sampled = population.sampled if population.steps is None else population.steps
        w, strategy = weights, self.strategy(memory)
        if w.still and w.mean is not None:
            mu_eff = 1.0 / float(w.covariance.dot(w.covariance))
            after, update = strategy.move(before, X, w.mean, mu_eff)
        elif w.centred is None:
            after, update = strategy.update(before, X, w.covariance, c_mean)
        else:
            after, update = strategy.update(
                before, X, w.covariance, c_mean, w.mean, sampled, w.centred, w.shape
            )
        memory = self.adapt(memory, population, before, after, update, rng)
        memory.generation += 1
        memory.around = around
        if memory.warm is not None and memory.warm.undecided:
            memory.state = follow(memory.warm, self.strategy(memory), memory.state, population)
        return memory, Info((memory.state.sigma, update.mu_eff, c_mean * self.kept(memory)))

    def absorb(self, memory: Any, data: Earlier) -> Any | None:
        """Data can move the start of the search; once it has learnt, they come too late."""
        if memory.generation > 0:
            return None
        warm = prepare(data, memory.state, memory.warm)
        if warm is None:
            return None
        memory.warm = warm
        return memory

    def explain(self, memory: Any) -> Explanation:
        return Explanation(earlier="" if memory.warm is None else memory.warm.said())

    def recommend(self, memory: Any) -> Recommended:
        """The mean of the search distribution: no single lucky draw can carry it away."""
        return Recommended(memory.state.mean, *mean_and_error(memory.around))

    def distribution(self, memory: Any) -> Distribution:
        state = memory.state
        return Distribution(state.mean, state.sigma, state.covariance.C)


@dataclass(frozen=True, kw_only=True)
class CMAOptions(EvolutionStrategy):
    """Options that the variants of CMA-ES share.

    covariance
        ``"full"``, ``"diagonal"``, or ``"slow-diagonal"``, a diagonal that learns no faster than
        a full matrix, which noise disturbs less.
    population
        Candidates per generation; None: 4 + floor(3 ln d).
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
        integer_or_none("population", self.population, least=2)
        object.__setattr__(self, "profile", by_name(self.profile))

    def strategy(self, memory: EvolutionMemory) -> Strategy:
        n, model = len(memory.state.mean), MODELS[self.covariance]
        return Strategy(n, model, memory.mu_eff, self.recombination)

    def profile_weights(self, population: Population) -> FloatArray:
        return self.profile.weights(len(population.X), population.began)

    def mean_rate(self) -> float:
        return self.c_mean

    def start(self, setup: Setup, distribution: Distribution | None = None) -> Any:
        return EvolutionMemory(**self.begin(setup, distribution))

    def begin(self, setup: Setup, distribution: Distribution | None) -> dict[str, Any]:
        """The fields of `EvolutionMemory` before the first evaluation."""
        k = self.population or default_population(setup.dimension)
        mu_eff = None
        if self.rates == "fixed":
            w = self.profile.weights(k)
            mu_eff = 1.0 / float(w[w > 0.0] @ w[w > 0.0])
        state = first_state(Strategy(setup.dimension, MODELS[self.covariance]), setup, distribution)
        return {"state": state, "population": k, "mu_eff": mu_eff}


def first_state(strategy: Strategy, setup: Setup, distribution: Distribution | None) -> State:
    """The distribution handed over, or that of the setup."""
    if distribution is None:
        return strategy.start(setup.mean, setup.sigma)
    return strategy.start(distribution.mean, distribution.sigma, distribution.C)


def mean_and_error(values: FloatArray) -> tuple[float, float]:
    """Mean of the successful ``values`` and its standard error, nan for fewer than two."""
    good = values[np.isfinite(values)]
    few = len(good) < 2
    return mean_of(good), math.nan if few else float(good.std(ddof=1)) / math.sqrt(len(good))


def mean_of(values: FloatArray) -> float:
    """Mean of the successful ``values``; nan if there are none."""
    good = values[np.isfinite(values)]
    return float(good.mean()) if len(good) else math.nan
