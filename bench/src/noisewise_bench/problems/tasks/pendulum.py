"""Swinging up a pendulum with a small network whose torque is disturbed.

symbol   meaning                                             unit
th, w    angle from upright and angular velocity             rad, rad/s
a, u     torque wanted by the policy and torque applied      N m
"""

from __future__ import annotations

from typing import Final, final

import numpy as np

from ...problem import FloatArray
from ._task import SimulatedTask, tanh_network, task_rng

GRAVITY_RATE: Final = 15.0  # w' = 15 sin th + 3 u
TORQUE_RATE: Final = 3.0
WANTED_LIMIT: Final = 2.0
APPLIED_LIMIT: Final = 4.0
SPEED_LIMIT: Final = 8.0
STEP: Final = 0.05  # s, semi-implicit Euler
HORIZON: Final = 200
HIDDEN: Final = 8
DIMENSION: Final = 3 * HIDDEN + HIDDEN + HIDDEN + 1
MILD: Final = (0.3, 100.0)  # scale and degrees of freedom of the Student t disturbance
HEAVY_TAIL: Final = (1.0, 3.0)


@final
class Pendulum(SimulatedTask):
    """Weights of a 3-8-1 tanh policy on (cos th, sin th, w), d=41, box [-2, 2].

    The cost sums th^2 + 0.1 w^2 + 0.001 a^2 over 200 steps from a random start. The seed only
    tells repetitions apart: the task itself has no random constants.
    """

    n_truth = 128

    def __init__(self, seed: int = 1, heavy_tail: bool = False) -> None:
        task_rng(seed, stream=3)
        kind = "pendulum-ht" if heavy_tail else "pendulum"
        super().__init__(f"task/{kind}/s{seed}", np.zeros(DIMENSION), -2.0, 2.0, seed, heavy_tail)
        self._scale, self._freedom = HEAVY_TAIL if heavy_tail else MILD
        self.budget = 246 if heavy_tail else 328

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Cost of one episode per row."""
        n = len(X)
        th, w = rng.uniform(-np.pi, np.pi, n), rng.uniform(-1.0, 1.0, n)
        shocks = self._scale * rng.standard_t(self._freedom, (HORIZON, n))
        cost = np.zeros(n)
        for shock in shocks:
            sine = np.sin(th)
            seen = np.stack([np.cos(th), sine, w], axis=1)[:, None, :]
            a = WANTED_LIMIT * np.tanh(tanh_network(X, 3, HIDDEN, seen)[:, 0])
            angle = (th + np.pi) % (2.0 * np.pi) - np.pi
            cost += angle * angle + 0.1 * w * w + 0.001 * a * a
            u = np.clip(a + shock, -APPLIED_LIMIT, APPLIED_LIMIT)
            w = w + STEP * (GRAVITY_RATE * sine + TORQUE_RATE * u)
            w = np.clip(w, -SPEED_LIMIT, SPEED_LIMIT)
            th = th + STEP * w
        return cost
