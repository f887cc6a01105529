"""Objectives whose values mislead: is the answer still right, or said to be doubtful?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

import noisewise as nw
from noisewise_bench.problem import FloatArray

METHODS = ("auto", "cma-es", "sep-cma-es", "watchful")
#: Coordinates and evaluations of the runs.
CELLS = ((2, 60), (3, 120))
#: An exact value may differ from the true one by so many spacings of floating-point numbers.
_SPACINGS = 4.0
#: A value that is too low by more than any noise here, and values of the bowl where it may fail.
_LOW, _NEAR = 10.0, 0.02
_Draw = Callable[[float, np.random.Generator], float]


def _noisy(t: float, rng: np.random.Generator) -> float:
    return t + 0.05 * float(rng.standard_normal())


def _rare(size: float, share: float, of: _Draw) -> _Draw:
    """Of so many values a share is so much too high."""
    return lambda t, rng: of(t, rng) + (size if rng.random() < share else 0.0)


def _chance(t: float) -> float:
    return 0.02 + 0.9 * t / (t + 0.5)


@dataclass(frozen=True)
class Attack:
    """What happens where the bowl has the value t: ``draw`` gives what is measured, ``mean`` what
    an answer should say."""

    draw: _Draw
    mean: Callable[[float], float] = float
    #: Evaluations fail where the bowl has a smaller value.
    fails: float = 0.0


ATTACKS: dict[str, Attack] = {
    "exact, but 1 % are 100 too low": Attack(_rare(-100.0, 0.01, lambda t, _: t)),
    "exact, but 5 % are 1e6 too low": Attack(_rare(-1e6, 0.05, lambda t, _: t)),
    "exact, but 5 % are 1e6 too high": Attack(_rare(1e6, 0.05, lambda t, _: t)),
    "noise of 0.05, 3 % are 1e12 too high": Attack(_rare(1e12, 0.03, _noisy)),
    "noise of 0.05 around 1e12": Attack(lambda t, rng: 1e12 + _noisy(t, rng), lambda t: 1e12 + t),
    "0 or 1": Attack(lambda t, rng: float(rng.random() < _chance(t)), _chance),
    "counts of 20": Attack(
        lambda t, rng: float(rng.binomial(20, _chance(t))), lambda t: 20.0 * _chance(t)
    ),
    "noise of 0.05, fails near the optimum": Attack(_noisy, fails=_NEAR),
    "always fails": Attack(_noisy, fails=math.inf),
}


class _Objective:
    """A bowl with its optimum at a place that depends on the seed."""

    def __init__(self, attack: Attack, dimension: int, seed: int) -> None:
        self.attack, self._rng = attack, np.random.default_rng([seed, 2])
        self.optimum = np.random.default_rng([seed, 1]).uniform(-1.0, 1.0, dimension)
        #: Number and value of the first evaluation of each point, and its successes.
        self._first: dict[bytes, tuple[int, float]] = {}
        self.successes: dict[bytes, int] = {}
        self.evaluations = 0

    def bowl(self, x: FloatArray) -> float:
        return float(np.sum((x - self.optimum) ** 2))

    def true(self, x: FloatArray) -> float:
        return self.attack.mean(self.bowl(x))

    def __call__(self, x: FloatArray) -> float:
        self.evaluations += 1
        point, value = x.tobytes(), self.attack.draw(self.bowl(x), self._rng)
        self._first.setdefault(point, (self.evaluations, value))
        if self.bowl(x) < self.attack.fails:
            raise RuntimeError("no value")
        self.successes[point] = self.successes.get(point, 0) + 1
        return value

    def lucky(self, x: FloatArray, searched: int) -> bool:
        """Whether the search, of so many evaluations, saw this point first by a value that was far
        too low."""
        at, value = self._first.get(x.tobytes(), (searched + 1, 0.0))
        return at <= searched and value < self.true(x) - _LOW


@dataclass(frozen=True)
class Found:
    """What is wrong with the answer of one run."""

    lucky: bool
    falsely_exact: bool
    missed: bool
    #: Success, though no evaluation of the returned point succeeded.
    unmeasured: bool


def run(attack: Attack, method: str, dimension: int, budget: int, seed: int) -> Found:
    """One run with default settings."""
    objective = _Objective(attack, dimension, seed)
    r = nw.minimize(
        objective,
        np.zeros(dimension),
        sigma0=0.5,
        budget=budget,
        method=method,
        rng=seed,
        on_error="worst",
    )
    true, (low, high) = objective.true(r.x), r.interval
    slack = _SPACINGS * float(np.spacing(abs(true)))
    history = r.history["evaluations"]
    return Found(
        objective.lucky(r.x, int(history[-1]) if len(history) else 0),
        r.estimate == "exact" and abs(r.fun - true) > slack,
        not math.isnan(low) and not low - slack <= true <= high + slack,
        r.success and not objective.successes.get(r.x.tobytes()),
    )


def attack(
    name: str, methods: Sequence[str] = METHODS, runs: int = 10, seed: int = 0
) -> tuple[str, list[Found]]:
    """All runs of one attack."""
    cells = product(methods, CELLS, range(seed + 1, seed + runs + 1))
    return name, [run(ATTACKS[name], method, d, budget, s) for method, (d, budget), s in cells]


def table(attacks: Iterable[tuple[str, list[Found]]]) -> Iterator[str]:
    """One row for every attack."""
    yield (
        "| values | runs | luckiest point returned | called exact, and wrong "
        "| interval misses | success without a value |"
    )
    yield "|---|---|---|---|---|---|"
    for name, found in attacks:
        counts = [
            sum(getattr(one, what) for one in found)
            for what in ("lucky", "falsely_exact", "missed", "unmeasured")
        ]
        yield f"| {name} | {len(found)} | {' | '.join(map(str, counts))} |"
