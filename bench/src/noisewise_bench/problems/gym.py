"""Any gymnasium environment as a problem: find the weights of a policy, minimise minus the return.

symbol   meaning                                             shape
o        observation, flattened                              (n_in,)
z        W2 tanh(W1 o + b1) + b2, or W o + b without hidden  (n_out,)
action   argmax z (Discrete), or z squashed into the box     -
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final, final

import numpy as np

from ..problem import FloatArray
from ._optional import optional

N_TRUTH: Final = 64
TRUTH_SEED: Final = 20_000_003
BOX: Final = 2.0


@final
class Gym:
    """Policy search in ``gymnasium.make(env_id)``: linear, or one tanh layer of ``hidden`` units.

    Weights lie in [-2, 2] and start at zero. One evaluation is one episode whose reset seed is
    drawn from the generator; the cost is minus its undiscounted return. The regret is the mean
    cost of 64 episodes with fixed seeds; the best possible return is unknown, so it may be
    negative.
    """

    truth_is_costly = True

    def __init__(self, env_id: str, hidden: int = 0) -> None:
        if hidden < 0:
            raise ValueError(f"hidden is {hidden!r}, it takes an integer of at least 0")
        self.env_id, self.hidden = env_id, hidden
        self.name = f"gym/{env_id}" + (f"/h{hidden}" if hidden else "")
        gymnasium = optional("gymnasium")
        self._env: Any = gymnasium.make(env_id)
        self._range, n_out = _actions(gymnasium, self._env)
        if not isinstance(self._env.observation_space, gymnasium.spaces.Box):
            raise ValueError(f"env_id is {env_id!r}, it takes an environment that observes a Box")
        n_in = int(np.prod(self._env.observation_space.shape))
        sizes = (n_in, hidden, n_out) if hidden else (n_in, n_out)
        self._layers = list(pairwise(sizes))
        d = sum((n + 1) * m for n, m in self._layers)
        self.x0: FloatArray = np.zeros(d)
        self.bounds: tuple[FloatArray, FloatArray] | None = (np.full(d, -BOX), np.full(d, BOX))

    def __reduce__(self) -> tuple[Any, ...]:
        return Gym, (self.env_id, self.hidden)

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Minus the return of one episode per row."""
        seeds = rng.integers(2**31, size=len(X))
        return np.array([self._episode(x, int(s)) for x, s in zip(X, seeds, strict=True)])

    def regret(self, X: FloatArray) -> FloatArray:
        """Minus the mean return of each row over 64 episodes with fixed seeds."""
        seeds = range(TRUTH_SEED, TRUTH_SEED + N_TRUTH)
        return np.array([np.mean([self._episode(x, s) for s in seeds]) for x in X])

    def _episode(self, x: FloatArray, seed: int) -> float:
        weights = self._unpack(x)
        observation, _ = self._env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            action = self._act(weights, np.asarray(observation, dtype=float).ravel())
            observation, reward, terminated, truncated, _ = self._env.step(action)
            total += float(reward)
            over = terminated or truncated
        return -total

    def _unpack(self, x: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        weights, at = [], 0
        for n, m in self._layers:
            weights.append((x[at : at + n * m].reshape(m, n), x[at + n * m : at + (n + 1) * m]))
            at += (n + 1) * m
        return weights

    def _act(self, weights: list[tuple[FloatArray, FloatArray]], z: FloatArray) -> Any:
        for layer, (W, b) in enumerate(weights):
            z = W @ (np.tanh(z) if layer else z) + b
        space = self._env.action_space
        if self._range is None:
            return int(space.start) + int(np.argmax(z))
        low, high = self._range
        squashed = low + (high - low) * (0.5 + 0.5 * np.tanh(z))
        return squashed.reshape(space.shape).astype(space.dtype)


def _actions(gymnasium: Any, env: Any) -> tuple[tuple[FloatArray, FloatArray] | None, int]:
    """Lowest and highest action (None where actions are numbered); number of policy outputs."""
    space = env.action_space
    if isinstance(space, gymnasium.spaces.Discrete):
        return None, int(space.n)
    if isinstance(space, gymnasium.spaces.Box) and space.is_bounded():
        low, high = (np.asarray(b, dtype=float).ravel() for b in (space.low, space.high))
        return (low, high), len(low)
    raise ValueError(
        f"the action space is {space}, a policy can act in a Discrete or bounded Box space"
    )
