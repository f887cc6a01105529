"""Linear policies for two gymnasium environments, as costs above zero."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, final

import numpy as np

from ...problem import FloatArray
from ..gym import Gym
from ._task import TRUTH_SEED, task_rng

N_TRUTH: Final = 32
#: environment -> (evaluations, cost of a return of zero)
ENVIRONMENTS: Final = {
    "cartpole": ("CartPole-v1", 100, 501.0),
    "pendulum": ("Pendulum-v1", 60, 0.0),
}


@lru_cache(maxsize=2)
def _gym(env_id: str) -> Gym:
    return Gym(env_id)


@final
class GymPolicy:
    """Weights of a linear policy in [-2, 2]: d = 10 for ``cartpole``, d = 4 for ``pendulum``.

    The cost of an episode is 501 minus the steps survived (cart pole, at least 1), or minus the
    return (pendulum). The truth is the mean of 32 episodes with fixed seeds. The seed tells
    repetitions apart; the tasks have no constants to draw.
    """

    truth_is_costly = True

    def __init__(self, seed: int = 1, kind: str = "cartpole") -> None:
        task_rng(seed, stream=51)
        self._arguments = (seed, kind)
        env_id, self.budget, self._zero = ENVIRONMENTS[kind]
        self._env = _gym(env_id)
        self.name = f"small-task/{kind}/s{seed}"
        self.x0: FloatArray = self._env.x0.copy()
        self.bounds = self._env.bounds

    def __reduce__(self) -> tuple[Any, ...]:
        return GymPolicy, self._arguments

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Cost of one episode per row."""
        return self._zero + self._env.noisy(X, rng)

    def regret(self, X: FloatArray) -> FloatArray:
        """Mean cost of each row over 32 episodes with fixed seeds."""
        points, back = np.unique(X, axis=0, return_inverse=True)
        rows = np.repeat(points, N_TRUTH, axis=0)
        # the same episodes for every point
        costs = [
            self.noisy(rows[i : i + N_TRUTH], np.random.default_rng(TRUTH_SEED)).mean()
            for i in range(0, len(rows), N_TRUTH)
        ]
        return np.array(costs)[back.ravel()]
