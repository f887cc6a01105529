"""What a kind of problem is made of, and the problem itself.

symbol  meaning                                                             shape
u       a point in the unit cube: the parameters between their bounds       (n, d)
t       expected value, exact                                               (n,)
y       one noisy value                                                     (n,)
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from ...problem import FloatArray

#: Random points, and rounds and points of the search for the smallest expected value.
N_RANDOM, ROUNDS, N_ROUND = 1024, 40, 64
#: Regret below this share of the median over the box counts as none: simulators whose optimum had
#: to be searched are known no better.
LEAST: Final = 1e-5
#: The bounds of every parameter.
LOW, HIGH = -1.0, 3.0


@dataclass(frozen=True)
class Parts:
    """An instance of a family, on the unit cube: expected values and noisy ones."""

    truth: Callable[[FloatArray], FloatArray]
    #: y of u, t and a generator; its expected value is t.
    noise: Callable[[FloatArray, FloatArray, np.random.Generator], FloatArray]
    #: Where t is smallest; None: a search finds it.
    best: FloatArray | None = None


@dataclass(frozen=True)
class Family:
    """A kind of problem: ``build(rng, d)`` makes an instance."""

    build: Callable[[np.random.Generator, int], Parts]
    dimensions: tuple[int, ...]


@final
class Kind:
    """One instance; regret is the expected value above the smallest, divided by the median of that
    over the box, and at least `LEAST`. All parameters have the bounds -1 and 3; the start is the
    middle."""

    def __init__(
        self, name: str, family: Family, instance: int, dimension: int, again: Callable[[], Kind]
    ) -> None:
        self.name = f"kinds/{name}/i{instance}/d{dimension}"
        self._again = again
        rng = np.random.default_rng([zlib.crc32(name.encode()), instance, dimension])
        self._parts = family.build(rng, dimension)
        self.x0: FloatArray = np.full(dimension, 0.5 * (LOW + HIGH))
        self.bounds: tuple[FloatArray, FloatArray] | None = (
            np.full(dimension, LOW),
            np.full(dimension, HIGH),
        )
        self._least, self._unit = _scale(self.name, self._parts, dimension)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._again, ()

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One noisy value per row."""
        u = (X - LOW) / (HIGH - LOW)
        return np.asarray(self._parts.noise(u, self._parts.truth(u), rng), dtype=float)

    def regret(self, X: FloatArray) -> FloatArray:
        """Expected value above the smallest; above 1 in half of the box."""
        t = self._parts.truth((X - LOW) / (HIGH - LOW))
        return np.maximum(LEAST, (t - self._least) / self._unit)


_scales: Final[dict[str, tuple[float, float]]] = {}


def _scale(name: str, parts: Parts, dimension: int) -> tuple[float, float]:
    """Smallest expected value, and how far above it is the median; searched once per process."""
    if name not in _scales:
        rng = np.random.default_rng([zlib.crc32(name.encode()), 1])
        u = rng.random((N_RANDOM, dimension))
        t = parts.truth(u)
        unit = float(np.median(t))
        least = float(np.min(t))
        if parts.best is not None:
            least = min(least, float(parts.truth(parts.best[None])[0]))
        else:
            least = _search(parts.truth, u[np.argsort(t)[:4]], rng)
        _scales[name] = least, max(unit - least, 1e-12)
    return _scales[name]


def _search(
    truth: Callable[[FloatArray], FloatArray], starts: FloatArray, rng: np.random.Generator
) -> float:
    """The smallest value found by sampling around the best points, with two widths at once that
    shrink where nothing better is found."""
    X, t = starts, truth(starts)
    widths = np.full(len(X), 0.3)
    d = X.shape[1]
    for _ in range(ROUNDS):
        for i in range(len(X)):
            wide = widths[i] * np.where(rng.random((N_ROUND, 1)) < 0.5, 1.0, 0.1)
            some = rng.random((N_ROUND, d)) < max(0.3, 1.0 / d)
            near = np.clip(X[i] + wide * some * rng.standard_normal((N_ROUND, d)), 0.0, 1.0)
            values = truth(near)
            k = int(np.argmin(values))
            if values[k] < t[i]:
                X[i], t[i] = near[k], values[k]
            else:
                widths[i] *= 0.6
    return float(t.min())


def anywhere(rng: np.random.Generator, d: int) -> FloatArray:
    """A point of the unit cube; one coordinate in five lies on a face."""
    x = rng.uniform(0.05, 0.95, d)
    return np.where(rng.random(d) < 0.2, np.round(x), x)


def mean_of(draw: Callable[[], FloatArray], n: int) -> FloatArray:
    """The mean of ``n`` draws."""
    return np.asarray(sum(draw() for _ in range(n)) / n)


def law(
    rng: np.random.Generator, spread: float
) -> Callable[[FloatArray, FloatArray, np.random.Generator], FloatArray]:
    """One of six laws of noise for a function whose values have this spread; its strength is
    between 2 and 50 % of that: normal, heavy tails, growing along a direction, growing with the
    value, normal with rare values far above, or with rare ones on both sides."""
    kind = int(rng.integers(6))
    level = spread * float(np.exp(rng.uniform(np.log(0.02), np.log(0.5))))
    along = rng.integers(1 << 30)

    def noisy(u: FloatArray, t: FloatArray, draws: np.random.Generator) -> FloatArray:
        n = len(t)
        e = draws.standard_normal(n)
        if kind == 1:
            e = draws.standard_t(3.0, n) / np.sqrt(3.0)
        if kind == 2:
            slope = np.random.default_rng(along).standard_normal(u.shape[1])
            e = e * (1.0 + 0.8 * np.tanh((u - 0.5) @ slope))
        if kind == 3:
            e = e * (0.1 + np.minimum(10.0, np.abs(t) / spread))
        if kind >= 4:
            strange = draws.random(n) < 0.03
            sign = np.where(draws.random(n) < 0.5, -1.0, 1.0) if kind == 5 else 1.0
            e = np.where(strange, e + sign * 40.0 * spread / level * draws.random(n), e)
            # The rare values must not move the mean.
            e = e - (0.6 * spread / level if kind == 4 else 0.0)
        return np.asarray(t + level * e)

    return noisy


def scenarios(
    values: Callable[[FloatArray], FloatArray],
) -> tuple[
    Callable[[FloatArray], FloatArray],
    Callable[[FloatArray, FloatArray, np.random.Generator], FloatArray],
]:
    """Truth and noise of a simulator with a finite number of scenarios: ``values(u)`` has shape
    (n, scenarios); a noisy value is that of a random one, the truth their mean."""

    def truth(u: FloatArray) -> FloatArray:
        return np.asarray(values(u).mean(axis=1))

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        every = values(u)
        return np.asarray(every[np.arange(len(u)), rng.integers(every.shape[1], size=len(u))])

    return truth, noise
