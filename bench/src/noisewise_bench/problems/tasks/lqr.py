"""Linear control of an unstable system under heavy-tailed, state-dependent disturbances.

symbol   meaning                                                            shape
x, u     state and control                                                  (8,), (5,)
K        the gain to be found, u = 2 tanh(-K x / 2)                         (5, 8)
A, B     x' = A x + B u + disturbance; fixed by the seed                    (8, 8), (8, 5)
Q, R     stage cost x'Qx + u'Ru, final cost 5 x'Qx                          I, 0.05 I
"""

from __future__ import annotations

from typing import Final, final

import numpy as np

from ...problem import FloatArray
from ._task import SimulatedTask, task_rng

N_STATES: Final = 8
N_CONTROLS: Final = 5
HORIZON: Final = 30
SPECTRAL_RADIUS: Final = 1.20  # of A0 after scaling; A = 0.9 A0 + 0.1 I
INPUT_GAIN: Final = 0.6  # root mean square entry of B
CONTROL_COST: Final = 0.05
FINAL_COST: Final = 5.0
START_SD: Final = 0.5
CONTROL_LIMIT: Final = 2.0
DISTURBANCE: Final = 0.25  # times min(5, 1 + 2 rms(x)) times Student t3, per coordinate
DIVERGED: Final = 1e6  # |x| beyond this ...
DIVERGED_COST: Final = 1e30  # ... costs this


@final
class LQR(SimulatedTask):
    """Gain of a saturated linear controller, d=40, in [-2.5, 2.5]; the seed draws the system."""

    budget = 800
    n_truth = 256

    def __init__(self, seed: int = 1) -> None:
        d = N_STATES * N_CONTROLS
        super().__init__(f"task/lqr/s{seed}", np.zeros(d), -2.5, 2.5, seed)
        rng = task_rng(seed, stream=1)
        A0 = rng.standard_normal((N_STATES, N_STATES))
        B0 = rng.standard_normal((N_STATES, N_CONTROLS))
        A0 *= SPECTRAL_RADIUS / np.max(np.abs(np.linalg.eigvals(A0)))
        self._A = 0.9 * A0 + 0.1 * np.eye(N_STATES)
        self._B = INPUT_GAIN * B0 / (np.linalg.norm(B0) / np.sqrt(B0.size))

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Cost of one episode per row, summed over 30 steps."""
        n = len(X)
        K = X.reshape(n, N_CONTROLS, N_STATES)
        x = START_SD * rng.standard_normal((n, N_STATES))
        shocks = rng.standard_t(3.0, (HORIZON, n, N_STATES))
        cost, diverged = np.zeros(n), np.zeros(n, dtype=bool)
        for shock in shocks:
            u = -CONTROL_LIMIT * np.tanh((K @ x[:, :, None])[:, :, 0] / CONTROL_LIMIT)
            square = np.sum(x * x, axis=1)
            cost += square + CONTROL_COST * np.sum(u * u, axis=1)
            scale = DISTURBANCE * np.minimum(5.0, 1.0 + 2.0 * np.sqrt(square / N_STATES))
            x = x @ self._A.T + u @ self._B.T + scale[:, None] * shock
            diverged |= np.sum(x * x, axis=1) > DIVERGED**2
            x[diverged] = 0.0
        return np.where(diverged, DIVERGED_COST, cost + FINAL_COST * np.sum(x * x, axis=1))
