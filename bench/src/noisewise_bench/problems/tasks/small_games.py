"""Games against a fixed opponent: 1 is a lost game, 0 a won one, and the truth a probability."""

from __future__ import annotations

from typing import Final, final

import numpy as np

from ...problem import FloatArray
from ._task import SimulatedTask, task_rng

GOAL: Final = 100
MAX_TURNS: Final = 400


@final
class Pig(SimulatedTask):
    """The dice game Pig to 100 points: when to stop rolling.

    A turn adds up rolls until the player holds; a one ends it with nothing. The policy holds at
    x0 + x1 (own score) / 100 + x2 (opponent's score) / 100 points, x in [0, 40] x [-20, 20]^2.
    The opponent holds at a number that the seed draws, and begins.
    """

    budget = 100
    n_truth = 4000

    def __init__(self, seed: int = 1) -> None:
        low, high = [0.0, -20.0, -20.0], [40.0, 20.0, 20.0]
        super().__init__(f"small-task/pig/s{seed}", np.array([10.0, 0.0, 0.0]), low, high, seed)
        self._opponent = float(task_rng(seed, stream=41).integers(12, 26))

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One game per row."""
        n = len(X)
        mine, theirs, lost = np.zeros(n), np.zeros(n), np.ones(n)
        alive = np.arange(n)
        for _ in range(MAX_TURNS):
            theirs[alive] += _turn(np.full(len(alive), self._opponent), GOAL - theirs[alive], rng)
            alive = alive[theirs[alive] < GOAL]
            x = X[alive]
            hold = x[:, 0] + (x[:, 1] * mine[alive] + x[:, 2] * theirs[alive]) / GOAL
            mine[alive] += _turn(hold, GOAL - mine[alive], rng)
            won = mine[alive] >= GOAL
            lost[alive[won]] = 0.0
            alive = alive[~won]
            if not len(alive):
                break
        return lost


def _turn(hold: FloatArray, missing: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Points (n,) of one turn each: at least one roll, until ``hold`` or ``missing`` is reached."""
    total, stop = np.zeros(len(hold)), np.minimum(hold, missing)
    rolling = np.arange(len(hold))
    while len(rolling):
        roll = rng.integers(1, 7, len(rolling))
        total[rolling] = np.where(roll == 1, 0.0, total[rolling] + roll)
        rolling = rolling[(roll > 1) & (total[rolling] < stop[rolling])]
    return total


@final
class Blotto(SimulatedTask):
    """Colonel Blotto on six fields: shares of an army against a random one.

    Coordinates in [0, 1] are shares after division by their sum. The opponent's shares are
    Dirichlet with parameters that the seed draws, as it does the values of the fields. Most
    value wins.
    """

    budget = 120
    n_truth = 4000

    def __init__(self, seed: int = 1) -> None:
        super().__init__(f"small-task/blotto/s{seed}", np.full(6, 0.5), 0.0, 1.0, seed)
        rng = task_rng(seed, stream=42)
        self._shape = rng.uniform(1.0, 6.0, 6)
        self._values = rng.uniform(1.0, 3.0, 6)

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One battle per row."""
        opponent = rng.dirichlet(self._shape, len(X))
        shares = X / np.maximum(X.sum(axis=1, keepdims=True), 1e-12)
        won = (shares > opponent) @ self._values
        return np.asarray(won < 0.5 * self._values.sum(), dtype=float)
