"""Policy search as a problem of the bench: minimise minus the return of one episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from noisewise._check import one_of
from noisewise.policy.environment import guess, ranges
from noisewise.policy.look import moved
from noisewise.policy.scaling import Scaling, combined, of_moments
from noisewise_bench.policies.rollouts import Flight, Flyer
from noisewise_bench.problem import FloatArray

#: Where the scale of the observations comes from.
SCALINGS: Final = ("none", "ranges", "guess", "first", "running")
#: Seed of the fresh episodes that measure a policy.
TRUTH_SEED: Final = 20_000_003


@dataclass(frozen=True)
class Setting:
    """How a policy is searched for; the defaults are those of `noisewise.policy.search`.

    scaling
        ``none``; ``ranges``, what the environment declares; ``guess``, the same where it is less
        than one; ``first``, mean and deviation over the first episodes; ``running``, over all
        episodes so far.
    first
        Episodes of random policies before the search, charged.
    best
        Whether the search starts from the best of them, or else from zero.
    episodes
        Episodes per evaluation; the value is their mean.
    common
        ``"all"``: the candidates of a wave meet the same random numbers, ``"pairs"``: the halves.
    hasty
        Whether the worst quarter of a wave is given up early; charged all the same.
    sigma
        Initial step size.
    """

    scaling: str = "first"
    first: int = 10
    best: bool = True
    episodes: int = 1
    common: str = ""
    hasty: bool = False
    sigma: float = 0.5


class PolicyProblem:
    """Parameters of a policy, with a step of one. It remembers what it has seen, so every run has
    its own."""

    truth_is_costly = True

    def __init__(self, flyer: Flyer, setting: Setting | None = None) -> None:
        setting = setting or Setting()
        self._flyer, self._setting = flyer, setting
        inputs = flyer.network.inputs
        kind = one_of("scaling", setting.scaling, SCALINGS)
        self.scaling = Scaling(np.zeros(inputs), np.ones(inputs))
        if kind == "ranges":
            self.scaling = Scaling(*ranges(flyer.space))
        elif kind in ("guess", "first"):
            self.scaling = guess(flyer.space)
        self._seen = np.concatenate([np.zeros(1 + 2 * inputs), np.full(2 * inputs, -np.inf)])
        self.x0: FloatArray = np.zeros(flyer.network.size)
        self.bounds: tuple[FloatArray, FloatArray] | None = None
        self.sigma0 = setting.sigma
        self.steps = 0

    def look(self, rng: np.random.Generator) -> None:
        """Fly the first episodes: random policies, which scale the observations."""
        n = self._setting.first
        if not n:
            return
        X = rng.standard_normal((n, len(self.x0)))
        returns, before = self._fly(X, rng), self.scaling
        if self._setting.scaling in ("first", "running"):
            self.scaling = of_moments(self._seen)
        if self._setting.best:
            x = X[int(np.argmax(returns))]
            self.x0 = moved(self._flyer.network, x, before, self.scaling)

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Minus the mean return of the episodes of each row."""
        returns = np.mean([self._fly(X, rng) for _ in range(self._setting.episodes)], axis=0)
        if self._setting.scaling == "running":
            self.scaling = of_moments(self._seen)
        return np.asarray(-returns)

    def regret(self, X: FloatArray) -> FloatArray:
        """Minus the mean return of each row over 100 fresh episodes."""
        return np.array([-self.returns(x, 100).mean() for x in X])

    def returns(self, x: FloatArray, n: int) -> FloatArray:
        """Returns of ``n`` fresh episodes, the same ones at every call."""
        X = np.repeat(np.asarray(x, dtype=float)[None], n, axis=0)
        flight = Flight(X, self.scaling, np.random.default_rng(TRUTH_SEED))
        self._flyer.fly([flight])
        return flight.returns

    def _fly(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        flight = Flight(X, self.scaling, rng, self._setting.common, self._setting.hasty)
        self._flyer.fly([flight])
        self._seen = combined(np.array([self._seen, flight.seen]))
        self.steps += flight.steps
        return flight.returns
