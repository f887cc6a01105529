"""RA-CMA-ES: re-evaluation adaptation, as many evaluations per candidate as it takes for two
independent halves of them to suggest the same update (Uchida, Nishihara and Shirakawa, GECCO 2024).

| symbol | meaning |
|---|---|
| K | evaluations per candidate, before randomised rounding; at least K_min |
| Delta_1, Delta_2 | movements of the mean (or covariance) that either half alone leads to |
| E_1, E_2, V_1, V_2, V_12 | moving averages of both, their squared lengths, their product |
| rho | correlation of Delta_1 and Delta_2 |
| rho* | the correlation wanted at K, base^(min(K - 1, 1) (1 + ln(K / K_min))) |
| gamma | speed of K |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from noisewise._check import positive_real
from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.cma.evolution import EvolutionMemory
from noisewise.cma.learning_rate import Signals, mean_movement, shape_movement
from noisewise.cma.strategy import State, Update
from noisewise.cma.weights import rank_weights
from noisewise.measured.population import Population
from noisewise.measured.samples import Samples
from noisewise.methods.lracmaes import LearningRateMethod
from noisewise.methods.method import Distribution, Setup

#: K_min: evaluations per candidate are never fewer than this, on average.
_FEWEST = 1.2


@data
@dataclass(slots=True)
class Agreement:
    """How the movements of the two halves go together."""

    E_1: FloatArray
    E_2: FloatArray
    V_1: float = 0.0
    V_2: float = 0.0
    V_12: float = 0.0

    def after(self, one: FloatArray, two: FloatArray, beta: float) -> Agreement:
        """With one more pair of movements."""
        return Agreement(
            self.E_1 + beta * (one - self.E_1),
            self.E_2 + beta * (two - self.E_2),
            self.V_1 + beta * (float(np.vdot(one, one)) - self.V_1),
            self.V_2 + beta * (float(np.vdot(two, two)) - self.V_2),
            self.V_12 + beta * (float(np.vdot(one, two)) - self.V_12),
        )

    @property
    def correlation(self) -> float:
        """rho; one where nothing has varied yet."""
        spread_1 = self.V_1 - float(np.vdot(self.E_1, self.E_1))
        spread_2 = self.V_2 - float(np.vdot(self.E_2, self.E_2))
        if not (spread_1 > 0.0 and spread_2 > 0.0):
            return 1.0
        shared = self.V_12 - float(np.vdot(self.E_1, self.E_2))
        # Apart: the product of two small spreads is zero, though that of their roots is not.
        return min(max(shared / math.sqrt(spread_1) / math.sqrt(spread_2), -1.0), 1.0)


@data
@dataclass(slots=True, kw_only=True)
class RAMemory(EvolutionMemory):
    """K, how far the two halves agree, and the learning rates."""

    evaluations: float
    mean: Agreement
    shape: Agreement
    signals: Signals


@data
@dataclass(frozen=True, kw_only=True)
class RACMAES(LearningRateMethod):
    """Splits the evaluations of every candidate into two halves, and evaluates so often that
    the updates of either half alone agree; adapts the learning rates on top of that, the more
    carefully the more evaluations there are.

    correlation
        Of the updates of the two halves: what to reach with two evaluations, in (0, 1]; less is
        asked for the more evaluations it takes.

    >>> import noisewise as nw
    >>> method = nw.methods.RACMAES(correlation=0.5)
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=600, method=method, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 0.1)
    (600, True)
    """

    name: ClassVar[str] = "ra-cma-es"
    rank_based: ClassVar[bool] = False

    correlation: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_real("correlation", self.correlation, most=1.0)

    def start(self, setup: Setup, distribution: Distribution | None = None) -> Any:
        base = self.begin(setup, distribution)
        learning = self.learning(self.strategy(EvolutionMemory(**base)))
        signals = learning.start(setup.dimension)
        m, s = signals.mean.E, signals.shape.E
        return RAMemory(
            **base,
            evaluations=_FEWEST,
            mean=Agreement(m, m),
            shape=Agreement(s, s),
            signals=signals,
        )

    def adapt(
        self,
        memory: RAMemory,
        population: Population,
        before: State,
        after: State,
        update: Update,
        rng: np.random.Generator,
    ) -> RAMemory:
        """K grows by about gamma per generation at most, so no generation takes much more than
        that part of the budget."""
        mean, shape = self._compare(memory, population, before, after)
        K = self.wanted(memory.evaluations, min(mean.correlation, shape.correlation))
        damping = 1.0 + math.log(K / _FEWEST)
        learning = self.learning(self.strategy(memory))
        signals, state = learning.adapt(memory.signals, before, after, damping)
        return replace(
            memory,
            state=state,
            repeats=math.floor(K + rng.random()),
            evaluations=K,
            mean=mean,
            shape=shape,
            signals=signals,
        )

    def _compare(
        self, memory: RAMemory, population: Population, before: State, after: State
    ) -> tuple[Agreement, Agreement]:
        """How far the updates of the two halves agree, this generation included."""
        strategy, pair = self.strategy(memory), [after, after]
        if population.samples.values.shape[1] > 1:
            profile = self.profile_weights(population)
            pair = [
                strategy.update(before, population.X, rank_weights(v, profile), self.c_mean)[0]
                for v in halves(population.samples)
            ]
        cov = strategy.covariance
        means = [mean_movement(cov, before, state) for state in pair]
        shapes = [shape_movement(cov, before, state) for state in pair]
        return (
            memory.mean.after(means[0], means[1], self.beta_mean),
            memory.shape.after(shapes[0], shapes[1], self.beta_sigma),
        )

    def wanted(self, K: float, rho: float) -> float:
        """K after the correlation ``rho`` was seen."""
        exponent = min(K - 1.0, 1.0) * (1.0 + math.log(K / _FEWEST))
        off = min(max(rho / self.correlation**exponent - 1.0, -1.0), 1.0)
        return max(K * math.exp(-self.gamma * off), _FEWEST)


def halves(samples: Samples) -> tuple[FloatArray, FloatArray]:
    """Mean of every other value of each candidate, and mean of the values in between; the last
    of an odd number is left out. A candidate with one value has it in both."""
    slots = samples.values.shape[1]
    if slots == 1:
        return samples.first, samples.first
    even = samples.values[:, : 2 * (slots // 2)]
    a, b = Samples(even[:, ::2]).mean(), Samples(even[:, 1::2]).mean()
    return np.where(np.isfinite(a), a, b), np.where(np.isfinite(b), b, a)
