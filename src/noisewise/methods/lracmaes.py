"""LRA-CMA-ES: learning-rate adaptation (Nomura, Akimoto and Ono, GECCO 2023, ACM TELO 2025).

The mathematics is in `noisewise.cma.learning_rate`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from noisewise._check import fraction, positive_real
from noisewise._data import data
from noisewise.cma.covariance import Full
from noisewise.cma.evolution import CMAOptions, EvolutionMemory, Weights
from noisewise.cma.learning_rate import LearningRate, Signals
from noisewise.cma.strategy import State, Strategy, Update
from noisewise.cma.weights import Log, Profile
from noisewise.measured.population import Population
from noisewise.methods.method import Distribution, Setup


@data
@dataclass(slots=True, kw_only=True)
class LRAMemory(EvolutionMemory):
    """What is known about the movements of mean and covariance, and their learning rates."""

    signals: Signals


@dataclass(frozen=True, kw_only=True)
class LearningRateMethod(CMAOptions):
    """Options of the methods that adapt learning rates.

    alpha
        Signal-to-noise ratio that a learning rate of one stands for; larger: slower.
    beta_mean, beta_sigma
        How fast the estimates for the mean and the covariance forget, in (0, 1].
    gamma
        Speed of the learning rates, in [0, 1]; 0: they stay at one.
    """

    alpha: float = 1.4
    beta_mean: float = 0.1
    beta_sigma: float = 0.03
    gamma: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_real("alpha", self.alpha)
        positive_real("beta_mean", self.beta_mean, most=1.0)
        positive_real("beta_sigma", self.beta_sigma, most=1.0)
        fraction("gamma", self.gamma)

    def strategy(self, memory: EvolutionMemory) -> Strategy:
        strategy = super().strategy(memory)
        if self.covariance == "full":
            # The update is blended with the distribution before it, and decomposed only then.
            strategy = replace(strategy, covariance=Full(laziness=math.inf))
        return strategy

    def learning(self, strategy: Strategy) -> LearningRate:
        """The adaptation of the learning rates."""
        return LearningRate(
            strategy.covariance, self.alpha, self.beta_mean, self.beta_sigma, self.gamma
        )

    def weigh(
        self, memory: Any, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, Any]:
        return self.ranked(population.samples.mean(), population), memory

    @abstractmethod
    def adapt(
        self,
        memory: Any,
        population: Population,
        before: State,
        after: State,
        update: Update,
        rng: np.random.Generator,
    ) -> Any:
        """The memory after what the learning rates leave of the update."""

    def kept(self, memory: Any) -> float:
        return float(memory.signals.mean.eta)


@data
@dataclass(frozen=True, kw_only=True)
class LRACMAES(LearningRateMethod):
    """Keeps as much of every update as its signal-to-noise ratio deserves: the noise averages
    out over generations, at one evaluation per candidate.

    alpha
        Signal-to-noise ratio that a learning rate of one stands for; larger is slower.
    beta_mean, beta_sigma
        How fast the estimates of the ratio forget, for the mean and for the covariance.
    gamma
        Speed of the learning rates; 0 keeps them at one.

    >>> import noisewise as nw
    >>> method = "lra-cma-es"
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=600, method=method, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 0.1)
    (600, True)
    """

    name: ClassVar[str] = "lra-cma-es"

    profile: Profile = field(default_factory=lambda: Log(active=True))

    def start(self, setup: Setup, distribution: Distribution | None = None) -> Any:
        base = self.begin(setup, distribution)
        learning = self.learning(self.strategy(EvolutionMemory(**base)))
        return LRAMemory(**base, signals=learning.start(setup.dimension))

    def adapt(
        self,
        memory: LRAMemory,
        population: Population,
        before: State,
        after: State,
        update: Update,
        rng: np.random.Generator,
    ) -> LRAMemory:
        learning = self.learning(self.strategy(memory))
        signals, state = learning.adapt(memory.signals, before, after)
        return replace(memory, state=state, signals=signals)
