"""Hyperparameters of a short, noisy training run of logistic regression.

coordinate   meaning                            box           start
0            log10 learning rate                [-4, -0.5]    -2
1            log10 weight decay                 [-6, -2]      -4
2            momentum = 0.99 sigmoid(.)         [-3, 3]        0
3            log2 batch size, rounded           [2, 8]         5
4            log10 scale of the first weights   [-3, 0]       -1

symbol       meaning                                    shape
w, v         weights and momentum of every run          (n, p+1)
z            log of the gradient's random factor + 1/2  (n,)
"""

from __future__ import annotations

from typing import Final, final

import numpy as np

from ...problem import FloatArray
from ._data import N_ROWS, DataName, log_loss, sample_rows
from ._task import SimulatedTask

START: Final = (-2.0, -4.0, 0.0, 5.0, -1.0)
LOW: Final = (-4.0, -6.0, -3.0, 2.0, -3.0)
HIGH: Final = (-0.5, -2.0, 3.0, 8.0, 0.0)
N_TRAIN: Final = 3 * N_ROWS // 4
N_STEPS: Final = 50


@final
class HPO(SimulatedTask):
    """Validation log-loss plus penalty after 50 steps; the seed draws the rows and the split."""

    budget = 200
    n_truth = 128

    def __init__(self, seed: int = 1, data: DataName = "digits") -> None:
        super().__init__(f"task/hpo-{data}/s{seed}", np.array(START), LOW, HIGH, seed, data)
        features, labels = sample_rows(data, seed)
        features = np.hstack([features, np.ones((N_ROWS, 1))])
        self._train, self._valid = features[:N_TRAIN], features[N_TRAIN:]
        self._train_labels, self._valid_labels = labels[:N_TRAIN], labels[N_TRAIN:]

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Value of one training run per row, in nats; points outside the box are clipped to it."""
        n, X = len(X), np.clip(X, LOW, HIGH)
        rate, decay = 10.0 ** X[:, :1], 10.0 ** X[:, 1:2]
        momentum = 0.99 * _sigmoid(X[:, 2:3])
        batch = np.rint(2.0 ** X[:, 3]).astype(int)
        w = 10.0 ** X[:, 4:] * rng.standard_normal((n, self._train.shape[1]))
        v = np.zeros_like(w)
        for _ in range(N_STEPS):
            error = _sigmoid(w @ self._train.T) - self._train_labels
            share = _minibatches(batch, rng) / batch[:, None]
            factor = np.exp(rng.standard_normal((n, 1)) - 0.5)
            v = momentum * v - rate * (factor * ((share * error) @ self._train) + decay * w)
            w = w + v
        loss = log_loss(w @ self._valid.T, self._valid_labels).mean(axis=1)
        return np.asarray(loss + 0.5 * decay[:, 0] * np.sum(w * w, axis=1))


def _sigmoid(x: FloatArray) -> FloatArray:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def _minibatches(
    batch: np.ndarray[tuple[int, ...], np.dtype[np.int64]], rng: np.random.Generator
) -> FloatArray:
    """How often each training row is in the batch of each run, drawn with replacement."""
    n = len(batch)
    drawn = rng.integers(N_TRAIN, size=int(batch.sum())) + np.repeat(np.arange(n) * N_TRAIN, batch)
    return np.bincount(drawn, minlength=n * N_TRAIN).reshape(n, N_TRAIN).astype(float)
