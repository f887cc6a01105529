"""Lists of options with a hidden truth: what one evaluation of an option brings, for many runs at
the same time.

The j-th value of an option is the same for every rule that is compared on a list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._types import FloatArray, IntArray

Draw = Callable[[np.random.Generator, FloatArray, FloatArray], FloatArray]
#: Bytes of the values that are drawn beforehand; later ones differ from rule to rule.
_BYTES = 2e8
#: Evaluations of all runs of a cell times their options, about, and the runs of a cell.
_WORK, _FEWEST, _MOST = 2e7, 400, 6000


def _normal(rng: np.random.Generator, mean: FloatArray, sd: FloatArray) -> FloatArray:
    return np.asarray(mean + sd * rng.normal(size=np.shape(mean)))


def _lognormal(rng: np.random.Generator, mean: FloatArray, sd: FloatArray) -> FloatArray:
    z = np.exp(rng.normal(size=np.shape(mean)))
    return np.asarray(mean + sd * (z - np.exp(0.5)) / np.sqrt(np.e * (np.e - 1.0)))


def _student(rng: np.random.Generator, mean: FloatArray, sd: FloatArray) -> FloatArray:
    return np.asarray(mean + sd * rng.standard_t(3.0, np.shape(mean)) / np.sqrt(3.0))


def _lost(rng: np.random.Generator, mean: FloatArray, sd: FloatArray) -> FloatArray:
    return -np.asarray(rng.random(np.shape(mean)) < -mean, dtype=float)


@dataclass(frozen=True)
class Family:
    """How the means of the options (rows: runs) and the standard deviations of their values are
    drawn, and what values are then."""

    said: str
    lists: Callable[[np.random.Generator, int, int], tuple[FloatArray, Any]]
    values: Draw = _normal


def _exponential(rng: np.random.Generator, mean: FloatArray, sd: FloatArray) -> FloatArray:
    return np.asarray(mean + sd * (rng.exponential(size=np.shape(mean)) - 1.0))


def _gaps(
    rng: np.random.Generator, runs: int, k: int, gap: float = 1.0, spread: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """One option is better than all others, which are alike but for this ``spread``."""
    means = spread * rng.normal(size=(runs, k)) if spread else np.zeros((runs, k))
    means[np.arange(runs), rng.integers(k, size=runs)] = -gap
    return means, np.ones((runs, k))


def _narrow_gaps(rng: np.random.Generator, runs: int, k: int) -> tuple[FloatArray, FloatArray]:
    return _gaps(rng, runs, k, 0.8)


def _near_gaps(rng: np.random.Generator, runs: int, k: int) -> tuple[FloatArray, FloatArray]:
    return _gaps(rng, runs, k, 1.0, 0.3)


def _unequal_gaps(rng: np.random.Generator, runs: int, k: int) -> tuple[FloatArray, FloatArray]:
    means, _ = _gaps(rng, runs, k, 1.5)
    return means, 1.5 * np.exp(0.6 * rng.normal(size=(runs, k)))


def _uniform(rng: np.random.Generator, runs: int, k: int) -> tuple[FloatArray, FloatArray]:
    return rng.random((runs, k)), np.full((runs, k), 0.7)


def _crowds(rng: np.random.Generator, runs: int, k: int) -> tuple[FloatArray, FloatArray]:
    good = np.arange(k) < (k + 1) // 2
    return 0.1 * rng.normal(size=(runs, k)) - good, np.full((runs, k), 1.0)


def _rates(middle: float, sd: float) -> Callable[..., tuple[FloatArray, FloatArray]]:
    def lists(rng: np.random.Generator, runs: int, k: int) -> tuple[FloatArray, FloatArray]:
        p = np.clip(middle + sd * rng.normal(size=(runs, k)), 0.02, 0.98)
        return -p, np.ones((runs, k))

    return lists


def _spread(sd: float) -> Callable[..., tuple[FloatArray, FloatArray]]:
    def lists(rng: np.random.Generator, runs: int, k: int) -> tuple[FloatArray, FloatArray]:
        return rng.normal(size=(runs, k)), np.full((runs, k), sd)

    return lists


def _unequal(rng: np.random.Generator, runs: int, k: int) -> tuple[FloatArray, FloatArray]:
    return rng.normal(size=(runs, k)), 2.0 * np.exp(0.8 * rng.normal(size=(runs, k)) - 0.32)


def _growing(rng: np.random.Generator, runs: int, k: int) -> tuple[FloatArray, FloatArray]:
    means = rng.normal(size=(runs, k))
    return means, np.exp(0.7 * means + 0.5)


def _high_rates(rng: np.random.Generator, runs: int, k: int) -> tuple[FloatArray, FloatArray]:
    p = np.clip(1.0 - 0.05 * rng.gamma(2.0, 0.5, size=(runs, k)), 0.02, 1.0)
    return -p, np.ones((runs, k))


#: Those on which constants were chosen.
TUNED = {
    "normal": Family("noise as large as the spread of the means", _spread(1.0)),
    "loud": Family("noise three times as large as the spread", _spread(3.0)),
    "unequal": Family("standard deviations from 0.4 to 5 times the spread", _unequal),
    "wins": Family("win or loss, rates 50 % +- 12 %", _rates(0.5, 0.12), _lost),
    "high wins": Family("win or loss, rates about 95 %", _high_rates, _lost),
    "lognormal": Family("log-normal noise, three times the spread", _spread(3.0), _lognormal),
    "narrow": Family("one option is better by 0.8 times the noise", _narrow_gaps),
    "near": Family("the same by the noise, the others differ by a third of that", _near_gaps),
    "narrow lognormal": Family("as narrow, log-normal noise", _narrow_gaps, _lognormal),
}
#: Those that were held out at first. How they came out led to a longer first look.
LOOKED_AT = {
    "one better": Family("one option is better by the size of the noise", _gaps),
    "student": Family("Student's t (3 degrees), twice the spread", _spread(2.0), _student),
    "growing": Family("noise that grows with the value, 0.4 to 7 times the spread", _growing),
    "rare wins": Family("win or loss, rates 15 % +- 6 %", _rates(0.15, 0.06), _lost),
    "low lognormal": Family("log-normal noise as large as the spread", _spread(1.0), _lognormal),
}
#: Those that were looked at once, with the constants as they are.
HELD_OUT = {
    "uniform": Family("means spread evenly, noise 0.7 times the range", _uniform),
    "exponential": Family("exponential noise, 1.5 times the spread", _spread(1.5), _exponential),
    "one better, unequal": Family(
        "one option is better by 1.5, standard deviations 0.4 to 5", _unequal_gaps
    ),
    "crowds": Family("half of the options are better by 1, and differ by 0.1", _crowds),
}
FAMILIES = TUNED | LOOKED_AT | HELD_OUT
#: Numbers of options and evaluations of each.
SIZES = ((2, 2), (2, 10), (2, 50), (5, 5), (5, 20), (20, 2), (20, 10), (60, 5), (200, 5))
LOOKED_AT_SIZES = ((2, 5), (3, 10), (3, 50), (8, 25), (20, 50), (40, 3), (100, 10), (200, 2))
HELD_OUT_SIZES = ((2, 20), (4, 15), (12, 12), (10, 50), (25, 30), (80, 6))


@dataclass(frozen=True)
class Cell:
    """A family, a number of options and evaluations of each."""

    family: str
    options: int
    each: int

    @property
    def budget(self) -> int:
        return self.options * self.each

    @property
    def runs(self) -> int:
        work = _WORK / (self.options * self.budget)
        return int(np.clip(work, _FEWEST, _MOST))


def cells() -> list[list[Cell]]:
    """Those on which constants were chosen, those that were looked at, and those held out."""
    groups = (TUNED, SIZES), (LOOKED_AT, LOOKED_AT_SIZES), (HELD_OUT, HELD_OUT_SIZES)
    return [[Cell(family, k, n) for family in some for k, n in sizes] for some, sizes in groups]


class Lists:
    """Many lists of a cell, and what a rule has measured of them."""

    def __init__(self, cell: Cell, runs: int) -> None:
        self.family = FAMILIES[cell.family]
        key = [sum(cell.family.encode()), cell.options, cell.each]
        rng = np.random.default_rng(key)
        self.runs, self.options, self.budget = runs, cell.options, cell.budget
        self.means, self.sds = self.family.lists(rng, runs, cell.options)
        most = max(40, 4 * cell.each), int(_BYTES / (4 * runs * cell.options))
        shape = (max(1, min(cell.budget, *most)), runs, cell.options)
        means, sds = (np.broadcast_to(one, shape) for one in (self.means, self.sds))
        self.tape = np.asarray(self.family.values(rng, means, sds), dtype=np.float32)
        self.key = [*key, 1]
        self.begin()

    def begin(self) -> None:
        """Forget what was measured."""
        shape = self.means.shape
        self.n, self.m, self.squares = np.zeros(shape, dtype=int), np.zeros(shape), np.zeros(shape)
        self.row, self.spent = np.arange(self.runs), 0
        self.rng = np.random.default_rng(self.key)

    def measure(self, option: IntArray) -> FloatArray:
        """One more value of an option in each run."""
        at = self.row, option
        j = self.n[at]
        y = np.asarray(self.tape[np.minimum(j, len(self.tape) - 1), self.row, option], dtype=float)
        if (late := j >= len(self.tape)).any():
            where = self.row[late], option[late]
            y[late] = self.family.values(self.rng, self.means[where], self.sds[where])
        self.n[at] += 1
        d = y - self.m[at]
        self.m[at] += d / self.n[at]
        self.squares[at] += d * (y - self.m[at])
        self.spent += 1
        return y

    def best_mean(self) -> IntArray:
        """The option with the smallest mean; of equal ones that with the most values."""
        m = np.where(self.n > 0, self.m, np.inf)
        low = m.min(axis=1, keepdims=True)
        return np.asarray(np.where(m <= low, self.n, -1).argmax(axis=1))

    def regret(self, option: IntArray) -> FloatArray:
        """By how much the mean of the chosen option is worse than the best."""
        return np.asarray(self.means[self.row, option] - self.means.min(axis=1))
