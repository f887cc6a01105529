"""Episodes of policies: many at once where a simulator can, else one after the other.

| symbol | meaning | shape |
|---|---|---|
| X | parameters, one policy per row | (n, d) |
| R | returns | (n,) |
| S | what is kept of observations, as `noisewise.policy.scaling` has it | (1 + 4 n_in,) |
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from noisewise._types import IntArray
from noisewise.policy.actions import of_space
from noisewise.policy.network import Network
from noisewise.policy.scaling import Scaling, combined, moments
from noisewise_bench.policies.classic import SIMULATORS, Simulator
from noisewise_bench.problem import FloatArray
from noisewise_bench.problems._optional import optional

#: Environments that gymnasium steps one at a time, and the steps after which an episode is cut.
HORIZONS: Final = {
    "LunarLander-v3": 1000,
    "InvertedPendulum-v5": 200,
    "Swimmer-v5": 200,
    "Hopper-v5": 200,
}

#: Episodes that are over fly on, unheeded, until no more than this part of all is left.
_CROWDED: Final = 0.8

#: Weights (n, n_out, n_in) and biases (n, n_out) of every layer, one policy per row.
Layers = list[tuple[FloatArray, FloatArray]]


def unpacked(network: Network, X: FloatArray) -> Layers:
    """The layers of many policies."""
    found, at = [], 0
    for n, m in network.layers:
        part = X[:, at : at + (n + 1) * m] / math.sqrt(n + 1)
        found.append((part[:, : n * m].reshape(-1, m, n), part[:, n * m :]))
        at += (n + 1) * m
    return found


def acts(network: Network, layers: Layers, observations: FloatArray) -> Any:
    """Actions of many policies at once, for observations (n, n_in)."""
    z = observations
    for layer, (W, b) in enumerate(layers):
        z = np.tanh(z) if layer else z
        z = (W @ z[:, :, None])[:, :, 0] + b
    return network.actions.actions(z)


@dataclass
class Flight:
    """Episodes to fly, one per row of ``X``, and what came of them."""

    X: FloatArray
    scaling: Scaling
    rng: np.random.Generator
    #: ``"all"``: all rows meet the same random numbers; ``"pairs"``: row i and row i + n/2 do.
    common: str = ""
    #: Whether the worst quarter is given up at a quarter of the horizon, by what they have.
    hasty: bool = False
    returns: FloatArray = field(default_factory=lambda: np.empty(0))
    seen: FloatArray = field(default_factory=lambda: np.empty(0))
    #: Seeds of the episodes, as ``env.reset`` takes them; None: ``rng`` draws their starts.
    seeds: Sequence[int] | None = None
    #: S of each episode, in rows.
    each: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    steps: int = 0
    #: An exception in the thread that flew for all.
    error: BaseException | None = None


class Flyer(ABC):
    """Anything that flies episodes in one environment."""

    network: Network
    #: The observations as the environment declares them: has ``low`` and ``high``.
    space: Any

    @abstractmethod
    def fly(self, flights: Sequence[Flight]) -> None:
        """Fly all episodes of all flights and fill in what came of them."""


@final
class Batched(Flyer):
    """Episodes of a `Simulator`, all at once."""

    def __init__(self, simulator: Simulator, hidden: tuple[int, ...]) -> None:
        self.simulator = simulator
        self.space = simulator
        self.network = Network(len(simulator.low), simulator.actions, hidden)

    def fly(self, flights: Sequence[Flight]) -> None:
        sim = self.simulator
        X = np.concatenate([one.X for one in flights])
        state = np.concatenate([_starts(sim, one) for one in flights])
        counts = [len(one.X) for one in flights]
        shift, scale = (
            np.repeat([getattr(one.scaling, part) for one in flights], counts, axis=0)
            for part in ("shift", "scale")
        )
        n, alive, live = len(X), np.arange(len(X)), np.ones(len(X), dtype=bool)
        total, sums = np.zeros(n), np.zeros((n, 1 + 2 * self.network.inputs))
        ends = np.full((n, 2 * self.network.inputs), -np.inf)
        weights = unpacked(self.network, X)
        for step in range(sim.horizon):
            o = sim.observe(state)
            seen, rows = o[live], alive[live]
            sums[rows] += np.concatenate([np.ones((len(seen), 1)), seen, seen * seen], axis=1)
            ends[rows] = np.maximum(ends[rows], np.concatenate([-seen, seen], axis=1))
            state, reward, over = sim.step(state, acts(self.network, weights, (o - shift) / scale))
            total[rows] += reward[live]
            live = live & ~over
            if step + 1 == sim.horizon // 4:
                given_up = _hopeless(flights, total, alive[live])
                total[given_up] *= 4.0  # as it would go on
                live = live & ~np.isin(alive, given_up)
            if live.sum() <= _CROWDED * len(live):  # copying large networks takes long
                state, alive, shift, scale = state[live], alive[live], shift[live], scale[live]
                weights = [(W[live], b[live]) for W, b in weights]
                live = live[live]
                if not len(alive):
                    break
        seen, last = np.concatenate([sums, ends], axis=1), np.cumsum(counts)[:-1]
        for one, r, each in zip(flights, np.split(total, last), np.split(seen, last), strict=True):
            one.returns, one.each, one.seen = r, each, combined(each)
            one.steps = int(one.seen[0])


def _starts(sim: Simulator, flight: Flight) -> FloatArray:
    n = len(flight.X)
    if flight.seeds is not None:
        starts = [sim.start(1, np.random.default_rng(seed)) for seed in flight.seeds]
        return np.concatenate(starts)
    if flight.common:
        some = sim.start(_different(flight), flight.rng)
        return np.tile(some, (-(-n // len(some)), 1))[:n]
    return sim.start(n, flight.rng)


def _different(flight: Flight) -> int:
    """How many rows meet random numbers of their own."""
    return 1 if flight.common == "all" else (len(flight.X) + 1) // 2


def _hopeless(flights: Sequence[Flight], total: FloatArray, alive: IntArray) -> IntArray:
    """Rows that are still flying in the worst quarter of a hasty flight."""
    found, first = [], 0
    for one in flights:
        rows = np.arange(first, first + len(one.X))
        first += len(one.X)
        if one.hasty:
            worst = rows[total[rows] < np.quantile(total[rows], 0.25)]
            found.append(np.intersect1d(worst, alive))
    return np.concatenate(found) if found else np.empty(0, dtype=np.intp)


@final
class OneByOne(Flyer):
    """Episodes of a gymnasium environment, cut after ``horizon`` steps."""

    def __init__(self, name: str, hidden: tuple[int, ...], horizon: int) -> None:
        make = optional("gymnasium").make
        self._env: Any = make(name, disable_env_checker=True, max_episode_steps=horizon)
        self.space = self._env.observation_space
        inputs = int(np.prod(self.space.shape))
        self.network = Network(inputs, of_space(self._env.action_space), hidden)

    def fly(self, flights: Sequence[Flight]) -> None:
        for one in flights:
            n = len(one.X)
            if (seeds := one.seeds) is None:
                drawn = one.rng.integers(2**31, size=_different(one) if one.common else n)
                seeds = drawn.tolist()
            found = [self._episode(one, i, int(seeds[i % len(seeds)])) for i in range(n)]
            one.returns = np.array([r for r, _ in found])
            one.each = np.array([s for _, s in found])
            one.seen = combined(one.each)
            one.steps = int(one.seen[0])

    def _episode(self, flight: Flight, i: int, seed: int) -> tuple[float, FloatArray]:
        act = self.network.bind(flight.X[i], flight.scaling)
        observation, _ = self._env.reset(seed=seed)
        total, over, rows = 0.0, False, []
        while not over:
            rows.append(observation)
            observation, reward, ended, cut, _ = self._env.step(act(observation))
            total += float(reward)
            over = ended or cut
        return total, moments(rows)


def make(name: str, hidden: tuple[int, ...] = ()) -> Flyer:
    """Episodes in the environment of that name, with policies of these hidden layers."""
    if name in SIMULATORS:
        return Batched(SIMULATORS[name](), hidden)
    return OneByOne(name, hidden, HORIZONS[name])


@final
class Lockstep(Flyer):
    """Flies the episodes of several threads together: it waits until each of them has asked.

    A run's episodes depend on its own generator only, so a run gives the same alone and in company.
    """

    def __init__(self, flyer: Flyer, parties: int) -> None:
        self.network, self.space = flyer.network, flyer.space
        self._flyer, self._parties = flyer, parties
        self._waiting: list[Flight] = []
        self._asked = 0
        self._round = 0
        self._turn = threading.Condition()

    def fly(self, flights: Sequence[Flight]) -> None:
        with self._turn:
            self._waiting += flights
            self._asked += 1
            mine = self._round
            self._go_if_complete()
            while self._round == mine:
                self._turn.wait()
        for one in flights:
            if one.error is not None:
                raise RuntimeError("flying episodes failed") from one.error

    def leave(self) -> None:
        """One thread less to wait for."""
        with self._turn:
            self._parties -= 1
            self._go_if_complete()

    def _go_if_complete(self) -> None:
        if not self._asked or self._asked < self._parties:
            return
        flights, self._waiting, self._asked = self._waiting, [], 0
        try:
            self._flyer.fly(flights)
        except Exception as error:
            for one in flights:
                one.error = error
        self._round += 1
        self._turn.notify_all()
