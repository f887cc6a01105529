"""What the simulated tasks share: a box, a seed that fixes the task, a truth by simulation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, final

import numpy as np

from ...problem import FloatArray

#: Every truth is estimated with these random numbers, the same for every point.
TRUTH_SEED = 20_000_003


class SimulatedTask(ABC):
    """A cost without known optimum, whose expectation is the truth.

    ``regret`` is the mean cost of ``n_truth`` simulations with fixed random numbers: the same
    point gives the same value, and two points are compared under the same conditions. It costs
    ``n_truth`` evaluations per point, hence ``truth_is_costly``.
    """

    truth_is_costly = True
    #: Evaluations that make a sensible run.
    budget: int
    n_truth: ClassVar[int]

    def __init__(self, name: str, x0: FloatArray, low: Any, high: Any, *arguments: Any) -> None:
        self.name = name
        self.x0: FloatArray = np.array(x0, dtype=float)
        self.bounds: tuple[FloatArray, FloatArray] | None = (
            np.broadcast_to(np.asarray(low, dtype=float), self.x0.shape).copy(),
            np.broadcast_to(np.asarray(high, dtype=float), self.x0.shape).copy(),
        )
        self._arguments = arguments

    @final
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments

    @abstractmethod
    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One independent simulation per row."""

    @final
    def regret(self, X: FloatArray) -> FloatArray:
        """Mean cost of each row over ``n_truth`` simulations with fixed random numbers."""
        points, back = np.unique(X, axis=0, return_inverse=True)  # a point is simulated once
        means = [
            self.noisy(np.repeat(x[None], self.n_truth, axis=0), np.random.default_rng(TRUTH_SEED))
            for x in points
        ]
        return np.array([np.mean(costs) for costs in means])[back.ravel()]


def task_rng(seed: int, stream: int) -> np.random.Generator:
    """The generator that fixes the constants of one task instance."""
    if seed < 0:
        raise ValueError(f"seed is {seed!r}, it takes an integer of at least 0")
    return np.random.default_rng([stream, seed])


def tanh_network(X: FloatArray, inputs: int, hidden: int, features: FloatArray) -> FloatArray:
    """Outputs (n, m) at features (n, m, inputs) of the inputs-hidden-1 tanh network in each row.

    A row of X holds hidden weights (hidden x inputs), hidden biases, output weights and bias.
    """
    n = len(X)
    cut = hidden * inputs
    W = X[:, :cut].reshape(n, hidden, inputs)
    inner = np.tanh(features @ W.transpose(0, 2, 1) + X[:, None, cut : cut + hidden])
    outer = X[:, cut + hidden : cut + 2 * hidden]
    return np.asarray((inner @ outer[:, :, None])[:, :, 0] + X[:, -1:])
