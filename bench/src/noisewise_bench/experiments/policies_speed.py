"""Steps per second of environments: one at a time, gymnasium's vectors, simulators."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from noisewise_bench.policies.classic import SIMULATORS
from noisewise_bench.policies.rollouts import Batched, acts, unpacked
from noisewise_bench.problems._optional import optional
from noisewise_bench.tables import Column, Table

#: Environments side by side, and seconds per measurement.
_MANY: Final = 8
_SECONDS: Final = 0.5


def speed_table(quick: bool) -> Table:
    """Steps per second, the action of a linear policy included."""
    gymnasium = optional("gymnasium")
    body = []
    for name in SIMULATORS:
        env = gymnasium.make(name, disable_env_checker=True)
        flyer = Batched(SIMULATORS[name](), ())
        act = flyer.network.bind(np.ones(flyer.network.size))
        makers: dict[str, Callable[[], Any]] = {
            "sync": lambda name=name: gymnasium.make_vec(name, _MANY, "sync"),  # type: ignore[misc]
            "its own": lambda name=name: gymnasium.make_vec(name, _MANY, "vector_entry_point"),  # type: ignore[misc]
        }
        seconds = 0.02 if quick else _SECONDS
        body.append(
            (
                name,
                _rate(_single(env, act), 1, seconds),
                *(_vector(make, flyer, seconds) for make in makers.values()),
                *(_rate(_simulated(flyer, n), n, seconds) for n in (_MANY, 100)),
            )
        )
    columns = (
        Column("environment"),
        Column("one"),
        Column(f"gymnasium, {_MANY} in a loop"),
        Column(f"gymnasium, {_MANY} as a vector"),
        Column(f"simulator of the bench, {_MANY}"),
        Column("simulator of the bench, 100"),
    )
    notes = ("A dash: gymnasium has no such version. Times depend on the machine and its load.",)
    return Table("Steps per second", columns, tuple(body), notes)


def _rate(step: Callable[[], None], each: int, seconds: float) -> float:
    began, steps = time.process_time(), 0
    while (spent := time.process_time() - began) < seconds:
        for _ in range(20):
            step()
        steps += 20 * each
    return float(f"{steps / spent:.2g}")


def _single(env: Any, act: Callable[[Any], Any]) -> Callable[[], None]:
    seen, _ = env.reset(seed=1)

    def step() -> None:
        nonlocal seen
        seen, _, ended, cut, _ = env.step(act(seen))
        if ended or cut:
            seen, _ = env.reset()

    return step


def _vector(make: Callable[[], Any], flyer: Batched, seconds: float) -> float:
    try:
        envs = make()
    except Exception:  # gymnasium's errors differ between its versions
        return float("nan")
    seen, _ = envs.reset(seed=1)
    weights = unpacked(flyer.network, np.ones((_MANY, flyer.network.size)))

    def step() -> None:
        nonlocal seen
        seen, *_ = envs.step(acts(flyer.network, weights, np.asarray(seen, dtype=float)))

    try:
        return _rate(step, _MANY, seconds)
    finally:
        envs.close()


def _simulated(flyer: Batched, n: int) -> Callable[[], None]:
    simulator = flyer.simulator
    state = simulator.start(n, np.random.default_rng(1))
    weights = unpacked(flyer.network, np.ones((n, flyer.network.size)))

    def step() -> None:
        seen = simulator.observe(state)
        simulator.step(state, acts(flyer.network, weights, seen))

    return step
