"""Learning-rate adaptation: keep as much of an update as its signal-to-noise ratio deserves
(Nomura, Akimoto and Ono, GECCO 2023 and ACM TELO 2025).

| symbol | meaning | shape |
|---|---|---|
| Delta | movement of the mean or of the covariance in one update | (n,) or as C |
| beta | how fast the averages forget | |
| E, V | moving averages of Delta and of its squared length | as Delta, () |
| snr | estimated |E Delta|^2 / Var Delta | |
| eta | learning rate: the fraction of the update that is kept | (0, 1] |
| alpha | eta is steered so that snr = alpha eta | |
| gamma | speed of eta | |

Movements are measured in units in which their size means something: Delta_m is
Sigma^(-1/2) (m' - m) and Delta_Sigma is Sigma^(-1/2) (Sigma' - Sigma) Sigma^(-1/2) / sqrt(2), with
Sigma = sigma^2 C. The squared length of both together is, to first order, twice the
Kullback-Leibler divergence between the two distributions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.cma.covariance import Covariance
from noisewise.cma.strategy import State, safe_sigma


def mean_movement(covariance: Covariance, before: State, after: State) -> FloatArray:
    """Delta_m."""
    return covariance.whiten(before.covariance, (after.mean - before.mean) / before.sigma)


def shape_movement(covariance: Covariance, before: State, after: State) -> FloatArray:
    """Delta_Sigma."""
    q = (after.sigma / before.sigma) ** 2
    return covariance.movement(before.covariance, after.covariance, q)


@data
@dataclass(slots=True)
class Signal:
    """What is known about one kind of movement."""

    E: FloatArray
    V: float = 0.0
    eta: float = 1.0


@data
@dataclass(slots=True)
class Signals:
    """Of the mean and of the covariance."""

    mean: Signal
    shape: Signal


@dataclass(frozen=True)
class LearningRate:
    """Scales the update of the mean and that of the covariance by a learning rate each."""

    covariance: Covariance
    alpha: float = 1.4
    beta_mean: float = 0.1
    beta_sigma: float = 0.03
    gamma: float = 0.1

    def start(self, n: int) -> Signals:
        """Nothing is known yet in ``n`` dimensions."""
        like_C = np.zeros_like(self.covariance.start(n).C)
        return Signals(Signal(np.zeros(n)), Signal(like_C))

    def adapt(
        self, memory: Signals, before: State, after: State, damping: float = 1.0
    ) -> tuple[Signals, State]:
        """The signals and the distribution after what ``eta`` leaves of the update; changes of
        ``eta`` are divided by ``damping``."""
        cov = self.covariance
        mean = self._track(memory.mean, mean_movement(cov, before, after), self.beta_mean, damping)
        shape = self._track(
            memory.shape, shape_movement(cov, before, after), self.beta_sigma, damping
        )
        q = (after.sigma / before.sigma) ** 2
        covariance, growth = cov.blend(before.covariance, after.covariance, q, shape.eta)
        # Step-size correction: the best step size is inversely proportional to eta.
        sigma = before.sigma * growth * (memory.mean.eta / mean.eta)
        state = State(
            before.mean + mean.eta * (after.mean - before.mean),
            safe_sigma(sigma),
            covariance,
            after.p_sigma,
            after.p_c,
            after.unfilled,
        )
        return Signals(mean, shape), state

    def _track(self, old: Signal, delta: FloatArray, beta: float, damping: float) -> Signal:
        """The signal after one more movement, with the learning rate it suggests."""
        E = old.E + beta * (delta - old.E)
        V = old.V + beta * (float(np.vdot(delta, delta)) - old.V)
        square = float(np.vdot(E, E))
        surplus, spread = square - beta / (2.0 - beta) * V, V - square
        snr = surplus / spread if spread > 0.0 else 0.0
        off = min(max(snr / (self.alpha * old.eta) - 1.0, -1.0), 1.0) / damping
        eta = min(old.eta * math.exp(min(self.gamma * old.eta, beta) * off), 1.0)
        return Signal(E, V, eta)
