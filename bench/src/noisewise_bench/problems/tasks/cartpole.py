"""Balancing a pole on a cart with a small network; plain, or pushed by heavy-tailed forces.

symbol   meaning                                   unit
x, v     position and velocity of the cart         m, m/s
th, w    angle and angular velocity of the pole    rad, rad/s
"""

from __future__ import annotations

from typing import Final, final

import numpy as np

from ...problem import FloatArray
from ._task import SimulatedTask, tanh_network, task_rng

GRAVITY: Final = 9.8
CART_MASS: Final = 1.0
POLE_MASS: Final = 0.1
TOTAL_MASS: Final = CART_MASS + POLE_MASS
HALF_LENGTH: Final = 0.5
FORCE: Final = 10.0
STEP: Final = 0.02  # s, explicit Euler
POSITION_LIMIT: Final = 2.4
ANGLE_LIMIT: Final = np.deg2rad(12.0)
START: Final = 0.05  # half width of the uniform start, every state
HORIZON: Final = 200
HIDDEN: Final = 7
DIMENSION: Final = 4 * HIDDEN + HIDDEN + HIDDEN + 1
SHOCK: Final = 3.0  # times Student t3, added to the force (heavy tails only)
MISSING_STEP_COST: Final = 5.0


@final
class CartPole(SimulatedTask):
    """Weights of a 4-7-1 tanh policy (d=43, box [-2, 2]); push right where its output is > 0.

    Plain: the cost is the number of steps missing to 200. With ``heavy_tail`` every step costs
    x^2 + 0.1 v^2 + 10 th^2 + 0.1 w^2 + 0.001 (at the state it leads to), every missing one 5.
    The seed only tells repetitions apart: the task itself has no random constants.
    """

    n_truth = 128

    def __init__(self, seed: int = 1, heavy_tail: bool = False) -> None:
        task_rng(seed, stream=2)
        kind = "cartpole-ht" if heavy_tail else "cartpole"
        super().__init__(f"task/{kind}/s{seed}", np.zeros(DIMENSION), -2.0, 2.0, seed, heavy_tail)
        self._heavy_tail = heavy_tail
        self.budget = 258 if heavy_tail else 129

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Cost of one episode per row."""
        n = len(X)
        state = rng.uniform(-START, START, (n, 4))
        shocks = SHOCK * rng.standard_t(3.0, (HORIZON, n)) if self._heavy_tail else None
        cost, steps, alive = np.zeros(n), np.zeros(n), np.arange(n)
        for k in range(HORIZON):
            logit = tanh_network(X[alive], 4, HIDDEN, state[:, None, :])[:, 0]
            force = np.where(logit > 0.0, FORCE, -FORCE)
            if shocks is not None:
                force = force + shocks[k, alive]
            state = _euler(state, force)
            x, v, th, w = state.T
            steps[alive] += 1.0
            cost[alive] += x * x + 0.1 * v * v + 10.0 * th * th + 0.1 * w * w + 0.001
            up = (np.abs(x) <= POSITION_LIMIT) & (np.abs(th) <= ANGLE_LIMIT)
            state, alive = state[up], alive[up]
            if not len(alive):
                break
        missing = HORIZON - steps
        return cost + MISSING_STEP_COST * missing if self._heavy_tail else missing


def _euler(state: FloatArray, force: FloatArray) -> FloatArray:
    """The states (n, 4) one step later under the forces (n,), in newton."""
    _, v, th, w = state.T
    cosine, sine = np.cos(th), np.sin(th)
    pull = (force + POLE_MASS * HALF_LENGTH * w * w * sine) / TOTAL_MASS
    inertia = HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * cosine * cosine / TOTAL_MASS)
    w_rate = (GRAVITY * sine - cosine * pull) / inertia
    v_rate = pull - POLE_MASS * HALF_LENGTH * w_rate * cosine / TOTAL_MASS
    return state + STEP * np.stack([v, v_rate, w, w_rate], axis=1)
