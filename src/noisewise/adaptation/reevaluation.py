"""Re-evaluation adaptation: as many evaluations per candidate as it takes for two independent
halves of them to suggest the same update (Uchida, Nishihara and Shirakawa, GECCO 2024).

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

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.adaptation.lra import LearningRate, Signals
from noisewise.adaptation.movement import mean_movement, shape_movement
from noisewise.core.strategy import Info, State, Strategy
from noisewise.generation import Adaptation, Controls, Generation, Setup
from noisewise.noise.halves import halves
from noisewise.selection.hard import rank_weights


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
        return shared / math.sqrt(spread_1 * spread_2)


@data
@dataclass(slots=True)
class Repeats:
    """What is remembered between generations."""

    evaluations: float  # K
    mean: Agreement
    shape: Agreement
    signals: Signals


@dataclass(frozen=True)
class Reevaluation(Adaptation):
    """Adapts the evaluations per candidate, at least ``fewest``, and the learning rates on top
    of that, the more carefully the more evaluations there are. K grows by about gamma per
    generation at most, so no generation takes much more than that part of the budget."""

    strategy: Strategy
    learning: LearningRate
    correlation: float
    fewest: float

    def start(self, setup: Setup) -> Repeats:
        signals = self.learning.start(setup)
        m, s = signals.mean.E, signals.shape.E
        return Repeats(self.fewest, Agreement(m, m), Agreement(s, s), signals)

    def step(
        self, memory: Repeats, gen: Generation, before: State, after: State, info: Info
    ) -> tuple[Repeats, Controls, State]:
        mean, shape = self._compare(memory, gen, before, after)
        K = self._evaluations(memory.evaluations, min(mean.correlation, shape.correlation))
        damping = 1.0 + math.log(K / self.fewest)
        signals, state = self.learning.adapt(memory.signals, before, after, damping)
        repeats = math.floor(K + gen.rng.random())
        return Repeats(K, mean, shape, signals), replace(gen.controls, repeats=repeats), state

    def _compare(
        self, memory: Repeats, gen: Generation, before: State, after: State
    ) -> tuple[Agreement, Agreement]:
        cov, learning = self.learning.covariance, self.learning
        pair = [after, after]
        if gen.samples.values.shape[1] > 1:
            pair = [
                self.strategy.update(
                    before, gen.X, rank_weights(values, gen.profile), gen.controls.c_mean
                )[0]
                for values in halves(gen.samples)
            ]
        means = [mean_movement(cov, before, state) for state in pair]
        shapes = [shape_movement(cov, before, state) for state in pair]
        return (
            memory.mean.after(means[0], means[1], learning.beta_mean),
            memory.shape.after(shapes[0], shapes[1], learning.beta_sigma),
        )

    def _evaluations(self, K: float, rho: float) -> float:
        """K after the correlation ``rho`` was seen."""
        exponent = min(K - 1.0, 1.0) * (1.0 + math.log(K / self.fewest))
        off = min(max(rho / self.correlation**exponent - 1.0, -1.0), 1.0)
        return max(K * math.exp(-self.learning.gamma * off), self.fewest)
