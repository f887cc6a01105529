"""LRA-CMA-ES: learning-rate adaptation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

from noisewise._check import fraction, positive_real
from noisewise._data import data
from noisewise.adaptation.lra import LearningRate
from noisewise.core.covariance import Full
from noisewise.core.profiles import Log, Profile
from noisewise.core.strategy import Strategy
from noisewise.evaluation.plans import Repeat
from noisewise.generation import Parts, Setup
from noisewise.methods.base import Method
from noisewise.recommend import Mean
from noisewise.selection.hard import HardRank


@dataclass(frozen=True, kw_only=True)
class LearningRateMethod(Method):
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

    def strategy(self, setup: Setup) -> Strategy:
        strategy = super().strategy(setup)
        if self.covariance == "full":
            # The update is blended with the distribution before it, and decomposed only then.
            strategy = replace(strategy, covariance=Full(laziness=math.inf))
        return strategy

    def learning(self, setup: Setup) -> LearningRate:
        """The adaptation of the learning rates."""
        covariance = self.strategy(setup).covariance
        return LearningRate(covariance, self.alpha, self.beta_mean, self.beta_sigma, self.gamma)


@data
@dataclass(frozen=True, kw_only=True)
class LRACMAES(LearningRateMethod):
    """Keeps as much of every update as its signal-to-noise ratio deserves: the noise averages
    out over generations, at one evaluation per candidate.

    >>> import noisewise as nw
    >>> method = "lra-cma-es"
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=600, method=method, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 0.1)
    (600, True)
    """

    name: ClassVar[str] = "lra-cma-es"

    profile: Profile = field(default_factory=lambda: Log(active=True))

    def parts(self, setup: Setup) -> Parts:
        return Parts(self.profile, Repeat(), HardRank(), self.learning(setup), Mean())
