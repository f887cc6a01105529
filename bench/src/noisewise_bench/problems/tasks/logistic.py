"""Training logistic regression without gradients, from minibatch losses; the optimum is known.

symbol   meaning                                                 shape
F, y     features with a constant column, labels                 (256, 31), (256,)
w        weights                                                 (31,)
f        mean log-loss over all rows + PENALTY |w|^2 / 2         scalar
"""

from __future__ import annotations

from typing import Any, Final, final

import numpy as np

from ...problem import FloatArray
from .._truth import LastBatch
from ._data import N_ROWS, log_loss, sample_rows

BATCH: Final = 16  # rows per evaluation, with replacement
PENALTY: Final = 0.01  # makes f strictly convex, and its minimum lie well inside the box
BOX: Final = 5.0


@final
class LogisticRegression:
    """Weights of a breast-cancer classifier (d=31, box [-5, 5]), 16 rows per evaluation.

    The regret is f(w) - min f, with f over all 256 rows the seed drew: exact, because f is
    strictly convex. Noise comes from the choice of rows, so it fades for rows that fit well and
    dominates once f is close to its minimum.
    """

    budget = 3_100

    def __init__(self, seed: int = 1) -> None:
        self._seed = seed
        self.name = f"task/logistic/s{seed}"
        features, self._labels = sample_rows("breast-cancer", seed)
        self._features = np.hstack([features, np.ones((N_ROWS, 1))])
        d = self._features.shape[1]
        self.x0: FloatArray = np.zeros(d)
        self.bounds: tuple[FloatArray, FloatArray] | None = (np.full(d, -BOX), np.full(d, BOX))
        self._truth: LastBatch[FloatArray] = LastBatch(self._full_loss, d)
        self.xopt = self._newton()
        self.fopt = float(self._full_loss(self.xopt[None])[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return LogisticRegression, (self._seed,)

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Penalised loss of one minibatch per row, in nats."""
        rows = rng.integers(N_ROWS, size=(len(X), BATCH))
        logit = (self._features[rows] @ X[:, :, None])[:, :, 0]
        return np.asarray(log_loss(logit, self._labels[rows]).mean(axis=1) + _penalty(X))

    def regret(self, X: FloatArray) -> FloatArray:
        """Penalised loss over all rows above its minimum, in nats."""
        return np.maximum(self._truth(X) - self.fopt, 0.0)

    def _full_loss(self, X: FloatArray) -> FloatArray:
        return np.asarray(log_loss(X @ self._features.T, self._labels).mean(axis=1) + _penalty(X))

    def _newton(self) -> FloatArray:
        F, w = self._features, np.zeros_like(self.x0)
        for _ in range(50):
            p = 1.0 / (1.0 + np.exp(-F @ w))
            gradient = F.T @ (p - self._labels) / N_ROWS + PENALTY * w
            hessian = (F.T * (p * (1.0 - p))) @ F / N_ROWS + PENALTY * np.eye(len(w))
            w = w - np.linalg.solve(hessian, gradient)
        return w


def _penalty(X: FloatArray) -> FloatArray:
    return np.asarray(0.5 * PENALTY * np.sum(X * X, axis=1))
