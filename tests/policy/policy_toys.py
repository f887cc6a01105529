"""Small environments and policies of a user's own, without gymnasium."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np


class Point:
    """A point on a line, to be steered to zero; observes where it is and a useless constant."""

    observation_space = SimpleNamespace(low=np.full(2, -np.inf), high=np.full(2, np.inf))
    action_space = SimpleNamespace(low=np.full(1, -2.0), high=np.full(1, 2.0), dtype=float)
    episodes = 0

    def __init__(self, unit: float = 1.0, steps: int = 5) -> None:
        self.unit, self.steps = unit, steps

    def reset(self, *, seed=None):
        Point.episodes += 1
        self.rng = np.random.default_rng(seed)
        self.at, self.left = self.rng.normal(), self.steps
        return self._seen(), {}

    def _seen(self):
        return np.array([self.unit * self.at, 7.0])

    def step(self, action):
        self.at += float(np.ravel(action)[0]) + 0.05 * self.rng.normal()
        self.left -= 1
        return self._seen(), -abs(self.at), False, self.left == 0, {}


class Coin:
    """Says up or down; one action is right. An unending episode unless it is cut."""

    observation_space = SimpleNamespace(low=-np.ones(1), high=np.ones(1))
    action_space = SimpleNamespace(n=np.int64(2), start=np.int64(3))

    def reset(self, *, seed=None):
        self.rng = np.random.default_rng(seed)
        self.side = self.rng.choice([-1.0, 1.0])
        return np.array([self.side]), {}

    def step(self, action):
        assert action in (3, 4)
        reward = float((action == 4) == (self.side > 0.0))
        self.side = self.rng.choice([-1.0, 1.0])
        return np.array([self.side]), reward, False, False, {}


class Gain:
    """A policy of one's own: one number."""

    size = 1

    def act(self, x, observation):
        return x[:1] * observation[0]
