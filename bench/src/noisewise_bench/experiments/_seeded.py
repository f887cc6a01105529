"""Simulated tasks with a seed per evaluation, and a drone in gusty wind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from noisewise_bench.problem import FloatArray
from noisewise_bench.problems.registry import make
from noisewise_bench.problems.tasks._task import SimulatedTask

STEP, SECONDS = 0.05, 6.0


class Drone(SimulatedTask):
    """Six gains of a controller that keeps a drone in place; the flight of ``examples``.

    The cost of a flight is the mean squared distance plus effort. Start, gusts and errors of the
    sensors are random. The seed only tells repetitions apart.
    """

    budget = 600
    n_truth = 1000

    def __init__(self, seed: int = 1) -> None:
        high = np.array([20.0, 5.0, 10.0, 20.0, 5.0, 10.0])
        start = np.array([4.0, 0.5, 2.0, 4.0, 0.5, 2.0])
        super().__init__(f"drone/s{seed}", start, np.zeros(6), high, seed)

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Cost of one flight per row."""
        n, steps = len(X), int(SECONDS / STEP)
        kp, ki, kd = X.reshape(n, 2, 3).transpose(2, 1, 0)
        position = rng.normal(0.0, 1.0, (2, n))
        chance = rng.random((steps, 2, n))
        force, seeing, feeling = (rng.standard_normal((steps, 2, n)) for _ in range(3))
        speed, summed, wind = np.zeros((2, n)), np.zeros((2, n)), np.zeros((2, n))
        cost = np.zeros(n)
        for t in range(steps):
            wind += (chance[t] < 0.03) * 5.0 * force[t] - STEP * wind
            seen, felt = position + 0.15 * seeing[t], speed + 0.4 * feeling[t]
            summed = np.clip(summed + STEP * seen, -3.0, 3.0)
            thrust = np.clip(-(kp * seen + ki * summed + kd * felt), -15.0, 15.0)
            speed += STEP * (thrust + wind - 0.3 * speed)
            position = np.clip(position + STEP * speed, -20.0, 20.0)
            cost += STEP * (position**2 + 0.002 * thrust**2).sum(axis=0)
        return cost / SECONDS


class Rows:
    """Draws for ``n`` rows as each row's own generator would make them, were it alone."""

    def __init__(self, seeds: Any) -> None:
        self._each = [np.random.default_rng(int(seed)) for seed in seeds]

    def __getattr__(self, name: str) -> Callable[..., FloatArray]:
        def draw(*given: Any) -> FloatArray:
            *parameters, size = given
            shape = size if isinstance(size, tuple) else (size,)
            (axis,) = (i for i, length in enumerate(shape) if length == len(self._each))
            one = (*shape[:axis], 1, *shape[axis + 1 :])
            parts = [getattr(rng, name)(*parameters, one) for rng in self._each]
            return np.concatenate(parts, axis=axis)

        return draw


def costs(task: Any, X: FloatArray, seed: Any) -> FloatArray:
    """Cost of every row under its seed."""
    try:
        return np.asarray(task.noisy(X, Rows(seed)))
    except ValueError:  # as many rows as something else has entries
        pairs = zip(X, seed, strict=True)
        return np.array([task.noisy(x[None], np.random.default_rng(int(s)))[0] for x, s in pairs])


#: Name -> (how a task is made from a seed, evaluations).
TASKS: Final[dict[str, tuple[Callable[[int], Any], int]]] = {
    "drone": (Drone, 300),
    "drone-long": (Drone, 900),
    "inventory-4": (lambda s: make(f"small-task/inventory-4/s{s}"), 600),
    "drone-short": (Drone, 150),
    "queue-short": (lambda s: make(f"small-task/queue/s{s}"), 100),
    "inventory-4-short": (lambda s: make(f"small-task/inventory-4/s{s}"), 160),
    "queue": (lambda s: make(f"small-task/queue/s{s}"), 400),
    "lqr": (lambda s: make(f"task/lqr/s{s}"), 800),
    "cartpole-ht": (lambda s: make(f"task/cartpole-ht/s{s}"), 800),
    "pendulum": (lambda s: make(f"task/pendulum/s{s}"), 800),
}
