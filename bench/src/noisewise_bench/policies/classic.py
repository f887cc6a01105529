"""gymnasium's classic control environments for many episodes at once.

The equations and constants are those of gymnasium (a test compares every step); one call advances
all episodes, which is 20 to 100 times as fast as one environment after the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Final, final

import numpy as np

from noisewise.policy.actions import Actions, Bounded, Numbered
from noisewise_bench.problem import FloatArray

Step = tuple[FloatArray, FloatArray, Any]


def _rows(*columns: FloatArray) -> FloatArray:
    """An array with these columns; faster than numpy's `stack`."""
    out: FloatArray = np.array(columns).T
    return out


class Simulator(ABC):
    """Many episodes side by side; a state is a row."""

    name: ClassVar[str]
    actions: ClassVar[Actions]
    #: Smallest and largest observations as the environment declares them.
    low: ClassVar[tuple[float, ...]]
    high: ClassVar[tuple[float, ...]]
    horizon: ClassVar[int]

    @abstractmethod
    def start(self, n: int, rng: np.random.Generator) -> FloatArray:
        """States (n, s) at the beginning of n episodes."""

    @abstractmethod
    def observe(self, state: FloatArray) -> FloatArray:
        """Observations (n, n_in)."""

    @abstractmethod
    def step(self, state: FloatArray, action: Any) -> Step:
        """The next states, rewards (n,), and which episodes are over (n,). Chance is in the start
        only."""


@final
class CartPole(Simulator):
    """A pole on a cart, pushed left or right; one point per step, at most 500."""

    name = "CartPole-v1"
    actions = Numbered(2)
    high = (4.8, np.inf, 0.41887903, np.inf)
    low = (-4.8, -np.inf, -0.41887903, -np.inf)
    horizon = 500

    def start(self, n: int, rng: np.random.Generator) -> FloatArray:
        return rng.uniform(-0.05, 0.05, (n, 4))

    def observe(self, state: FloatArray) -> FloatArray:
        return state

    def step(self, state: FloatArray, action: Any) -> Step:
        _, v, th, w = state.T
        cosine, sine = np.cos(th), np.sin(th)
        pull = (np.where(action == 1, 10.0, -10.0) + 0.05 * w * w * sine) / 1.1
        w_rate = (9.8 * sine - cosine * pull) / (0.5 * (4.0 / 3.0 - 0.1 * cosine**2 / 1.1))
        v_rate = pull - 0.05 * w_rate * cosine / 1.1
        state = state + 0.02 * np.array([v, v_rate, w, w_rate]).T
        fallen = (np.abs(state[:, 0]) > 2.4) | (np.abs(state[:, 2]) > _CART_POLE_ANGLE)
        return state, np.ones(len(state)), fallen


_CART_POLE_ANGLE: Final = float(np.deg2rad(12.0))


@final
class Acrobot(Simulator):
    """Two links, swung up by a torque between them; -1 per step, at most 500 steps."""

    name = "Acrobot-v1"
    actions = Numbered(3)
    high = (1.0, 1.0, 1.0, 1.0, 4.0 * np.pi, 9.0 * np.pi)
    low = (-1.0, -1.0, -1.0, -1.0, -4.0 * np.pi, -9.0 * np.pi)
    horizon = 500

    def start(self, n: int, rng: np.random.Generator) -> FloatArray:
        return rng.uniform(-0.1, 0.1, (n, 4))

    def observe(self, state: FloatArray) -> FloatArray:
        a, b, u, v = state.T
        return _rows(np.cos(a), np.sin(a), np.cos(b), np.sin(b), u, v)

    def step(self, state: FloatArray, action: Any) -> Step:
        torque, h = np.asarray(action) - 1.0, 0.2
        k1 = _acrobot_rates(state, torque)
        k2 = _acrobot_rates(state + 0.5 * h * k1, torque)
        k3 = _acrobot_rates(state + 0.5 * h * k2, torque)
        k4 = _acrobot_rates(state + h * k3, torque)
        state = state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        state[:, :2] = (state[:, :2] + np.pi) % (2.0 * np.pi) - np.pi
        state[:, 2:] = np.clip(state[:, 2:], *_ACROBOT_SPEEDS)
        up = -np.cos(state[:, 0]) - np.cos(state[:, 1] + state[:, 0]) > 1.0
        return state, np.where(up, 0.0, -1.0), up


_ACROBOT_SPEEDS: Final = np.array([[-4.0, -9.0], [4.0, 9.0]]) * np.pi


def _acrobot_rates(state: FloatArray, torque: FloatArray) -> FloatArray:
    """Time derivative of the states; links of mass, length and inertia 1, g = 9.8."""
    a, b, u, v = state.T
    cosine, sine = np.cos(b), np.sin(b)
    d1 = 3.5 + cosine
    d2 = 1.25 + 0.5 * cosine
    phi2 = 4.9 * np.sin(a + b)
    phi1 = -0.5 * v * v * sine - v * u * sine + 14.7 * np.sin(a) + phi2
    v_rate = (torque + d2 / d1 * phi1 - 0.5 * u * u * sine - phi2) / (1.25 - d2 * d2 / d1)
    return _rows(u, v, -(d2 * v_rate + phi1) / d1, v_rate)


@final
class MountainCar(Simulator):
    """A car too weak for its hill: 100 at the top, minus 0.1 times the squared force per step."""

    name = "MountainCarContinuous-v0"
    actions = Bounded((-1.0,), (1.0,))
    high = (0.6, 0.07)
    low = (-1.2, -0.07)
    horizon = 999

    def start(self, n: int, rng: np.random.Generator) -> FloatArray:
        return _rows(rng.uniform(-0.6, -0.4, n), np.zeros(n))

    def observe(self, state: FloatArray) -> FloatArray:
        return state

    def step(self, state: FloatArray, action: Any) -> Step:
        x, v = state.T
        force = action[:, 0]
        v = np.clip(v + 0.0015 * force - 0.0025 * np.cos(3.0 * x), -0.07, 0.07)
        x = np.clip(x + v, -1.2, 0.6)
        v = np.where((x == -1.2) & (v < 0.0), 0.0, v)
        top = (x >= 0.45) & (v >= 0.0)
        return _rows(x, v), 100.0 * top - 0.1 * force**2, top


@final
class Pendulum(Simulator):
    """A pendulum to be swung up and held; minus a quadratic cost per step, 200 steps."""

    name = "Pendulum-v1"
    actions = Bounded((-2.0,), (2.0,))
    high = (1.0, 1.0, 8.0)
    low = (-1.0, -1.0, -8.0)
    horizon = 200

    def start(self, n: int, rng: np.random.Generator) -> FloatArray:
        return rng.uniform([-np.pi, -1.0], [np.pi, 1.0], (n, 2))

    def observe(self, state: FloatArray) -> FloatArray:
        th, w = state.T
        return _rows(np.cos(th), np.sin(th), w)

    def step(self, state: FloatArray, action: Any) -> Step:
        th, w = state.T
        u = action[:, 0]
        angle = (th + np.pi) % (2.0 * np.pi) - np.pi
        cost = angle**2 + 0.1 * w**2 + 0.001 * u**2
        w = np.clip(w + 0.05 * (15.0 * np.sin(th) + 3.0 * u), -8.0, 8.0)
        return _rows(th + 0.05 * w, w), -cost, np.zeros(len(w), dtype=bool)


SIMULATORS: Final[dict[str, type[Simulator]]] = {
    one.name: one for one in (CartPole, Acrobot, MountainCar, Pendulum)
}
