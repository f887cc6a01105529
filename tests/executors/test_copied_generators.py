"""Generators outside of the objective, which worker processes would copy, are named."""

from __future__ import annotations

import functools
import random
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.executors._copied import generators

RNG = np.random.default_rng(0)
OLD = np.random.RandomState(0)
UNUSED = np.random.default_rng(1)


class Simulator:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.parts = {"weather": random.Random(0)}

    def cost(self, x: Any) -> float:
        return self._noise() + float(x @ x)

    def _noise(self) -> float:
        return float(self.rng.normal())

    def __call__(self, x: Any) -> float:
        return self.cost(x)


def helper() -> float:
    return float(RNG.normal())


def closure() -> Callable[..., Any]:
    mine = random.Random(3)
    return lambda x: float(x @ x) + mine.random()


def bound() -> Callable[..., Any]:
    draw = np.random.default_rng(0).normal
    return lambda x: float(x @ x) + draw()


def defaults(x: Any, rng: Any = RNG, *, other: Any = OLD) -> float:
    return float(rng.normal() + other.normal())


class Unused:  # an attribute of this name is not the global
    UNUSED = 1.0


def attribute(x: Any) -> float:
    return Unused.UNUSED


def local(x: Any, seed: int = 0) -> float:
    return float(np.random.default_rng(seed).normal() + random.Random(seed).random())


def seeded_by_workers(x: Any) -> float:
    return float(np.random.normal() + random.gauss(0.0, 1.0))  # noqa: NPY002


@pytest.mark.parametrize(
    ("fun", "names"),
    [
        (closure(), ["mine"]),
        (bound(), ["draw"]),
        (lambda x: RNG.normal(), ["RNG"]),
        (lambda x: [RNG.normal() for _ in x], ["RNG"]),
        (lambda x: helper(), ["RNG"]),
        (defaults, ["rng", "other"]),
        (functools.partial(lambda a, x: 0.0, RNG), ["argument 0 of partial"]),
        (functools.partial(lambda x, chance: 0.0, chance=[RNG]), ["chance[0]"]),
        (Simulator(), ["self.rng", "self.parts['weather']"]),
        (Simulator().cost, ["self.rng", "self.parts['weather']"]),
        (nw.Space({"a": "0..1"}).objective(closure()), ["mine"]),
        (attribute, []),
        (local, []),
        (seeded_by_workers, []),
        (lambda x: random.SystemRandom().random(), []),
        (len, []),
    ],
)
def test_which_are_found(fun: Any, names: list[str]) -> None:
    assert generators(fun) == names


def test_arguments() -> None:
    assert generators(local, (1.0, [RNG])) == ["args[1][0]"]


def test_torch_generators_are_told_by_their_name() -> None:
    kind = type("Generator", (), {"__module__": "torch._C"})
    held = kind()
    assert generators(lambda x: held) == ["held"]


def test_nothing_is_called_and_circles_end() -> None:
    class Trap:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    trap: list[Any] = [Trap()]
    trap.append(trap)
    assert generators(lambda x: trap) == []


def minimized(**more: Any) -> list[str]:
    fun = closure()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nw.minimize(fun, [1.0, 1.0], sigma0=1.0, budget=12, rng=0, **more)
    assert all(w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


def test_minimize_warns_once_with_the_remedy_where_workers_copy_it() -> None:
    (said,) = minimized(workers=2)
    assert "(mine)" in said
    assert 'seeds="independent"' in said


def test_no_warning_where_there_is_one_copy() -> None:
    assert minimized() == []
    assert minimized(executor=nw.executors.processes(1)) == []
    assert minimized(executor=nw.executors.threads(2)) == []
    with ThreadPoolExecutor(2) as pool:
        assert minimized(executor=pool) == []


def test_the_users_generators_are_left_alone() -> None:
    before = np.random.get_state(legacy=False), random.getstate(), RNG.bit_generator.state  # noqa: NPY002
    with pytest.warns(UserWarning, match="RNG"):
        nw.minimize(lambda x: helper(), [1.0], sigma0=1.0, budget=12, rng=0, workers=2)
    after = np.random.get_state(legacy=False), random.getstate(), RNG.bit_generator.state  # noqa: NPY002
    assert repr(before) == repr(after)
