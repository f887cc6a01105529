"""Training a small network without gradients: is this digit a zero?

symbol   meaning                                               shape
F, y     features and labels of all rows                       (256, 64), (256,)
b        rows in a minibatch, with replacement; all if b=256   scalar
z        log of an example's random weight, plus 1/2 (b<256)   (n, b)
"""

from __future__ import annotations

from typing import Any, Final, final

import numpy as np

from ...problem import FloatArray
from .._truth import LastBatch
from ._data import N_ROWS, log_loss, sample_rows
from ._task import tanh_network

INPUTS: Final = 64
HIDDEN: Final = 4
DIMENSION: Final = INPUTS * HIDDEN + HIDDEN + HIDDEN + 1
BOX: Final = 5.0


@final
class MLPDigits:
    """Weights of a 64-4-1 tanh network (d=265): logistic loss of a minibatch, in nats.

    The regret is the loss over all 256 rows, which is exactly what a minibatch estimates; its
    minimum is unknown and at least zero. The seed draws the rows.
    """

    budget = 10_600

    def __init__(self, seed: int = 1, batch: int = 16) -> None:
        if not 1 <= batch <= N_ROWS:
            raise ValueError(f"batch is {batch!r}, it takes an integer 1 to {N_ROWS}")
        self._arguments = (seed, batch)
        self.name = f"task/mlp-digits-b{batch}/s{seed}"
        self.x0: FloatArray = np.zeros(DIMENSION)
        self.bounds: tuple[FloatArray, FloatArray] | None = (
            np.full(DIMENSION, -BOX),
            np.full(DIMENSION, BOX),
        )
        self._features, self._labels = sample_rows("digits", seed)
        self._batch = batch
        self._truth: LastBatch[FloatArray] = LastBatch(self._full_loss, DIMENSION)

    def __reduce__(self) -> tuple[Any, ...]:
        return MLPDigits, self._arguments

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Loss of one minibatch per row; a batch of all rows is all rows, without noise."""
        if self._batch == N_ROWS:
            return np.array(self._truth(X))
        rows = rng.integers(N_ROWS, size=(len(X), self._batch))
        logit = tanh_network(X, INPUTS, HIDDEN, self._features[rows])
        losses = log_loss(logit, self._labels[rows])
        losses = losses * np.exp(rng.standard_normal(losses.shape) - 0.5)
        return np.asarray(losses.mean(axis=1))

    def regret(self, X: FloatArray) -> FloatArray:
        """Loss over all rows of the data."""
        return np.array(self._truth(X))

    def _full_loss(self, X: FloatArray) -> FloatArray:
        logit = tanh_network(X, INPUTS, HIDDEN, self._features[None])
        return np.asarray(log_loss(logit, self._labels).mean(axis=1))
