"""Simple objectives with every kind of noise that an estimate has to cope with.

    symbol      meaning                                                          shape
    t           noise-free value above the optimum; its median over the box is 1 (n,)
    N, T, C     standard normal; Student t3 of variance one; Cauchy              (n,)

    gaussian         t + 0.1 N
    weak             t + 0.01 N
    t3               t + 0.1 T
    lognormal        t exp(N - 1/2)                   mean t
    skewed           t + 0.1 (exp(N) - exp(1/2)) / sd
    heteroscedastic  t + (0.02 + 0.3 t) N
    win-loss         1 with probability 0.05 + 0.9 t / (t + 1/2), else 0
    cauchy           t + 0.1 C                        no mean: the median is t
    none             t
    rare low         t, but three values in a hundred are 100 too low
    rare high        t + 0.1 N, but three values in a hundred are 10,000 too high

With rare values the estimate is the one without them, so t is what it has to cover.

Half of the instances have an offset of ten, so that errors are not relative to the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, final

import numpy as np

from noisewise_bench.problem import FloatArray

LANDSCAPES: Final = ("sphere", "ellipsoid", "sum of absolute values", "rosenbrock")
BOX: Final = 5.0
_SKEWED: Final = math.sqrt(math.expm1(1.0) * math.e)
_RARE: Final = 0.03
_Draw = Callable[[FloatArray, np.random.Generator], FloatArray]
#: Noise minus its mean, and its standard deviation, given t.
LAWS: Final[dict[str, tuple[_Draw, Callable[[float], float]]]] = {
    "gaussian": (lambda t, r: 0.1 * r.standard_normal(len(t)), lambda t: 0.1),
    "weak": (lambda t, r: 0.01 * r.standard_normal(len(t)), lambda t: 0.01),
    "t3": (lambda t, r: 0.1 / math.sqrt(3.0) * r.standard_t(3.0, len(t)), lambda t: 0.1),
    "lognormal": (
        lambda t, r: t * np.expm1(r.standard_normal(len(t)) - 0.5),
        lambda t: t * math.sqrt(math.expm1(1.0)),
    ),
    "skewed": (
        lambda t, r: 0.1 / _SKEWED * (np.exp(r.standard_normal(len(t))) - math.exp(0.5)),
        lambda t: 0.1,
    ),
    "heteroscedastic": (
        lambda t, r: (0.02 + 0.3 * t) * r.standard_normal(len(t)),
        lambda t: 0.02 + 0.3 * t,
    ),
    "win-loss": (
        lambda t, r: (r.random(len(t)) < _chance(t)) - _chance(t),
        lambda t: float(np.sqrt(_chance(np.float64(t)) * (1.0 - _chance(np.float64(t))))),
    ),
    "cauchy": (lambda t, r: 0.1 * r.standard_cauchy(len(t)), lambda t: math.nan),
    "none": (lambda t, r: np.zeros(len(t)), lambda t: 0.0),
    "rare low": (lambda t, r: np.where(r.random(len(t)) < _RARE, -100.0, 0.0), lambda t: 0.0),
    "rare high": (
        lambda t, r: 0.1 * r.standard_normal(len(t)) + 1e4 * (r.random(len(t)) < _RARE),
        lambda t: 0.1,
    ),
}


def _chance(t: FloatArray | np.float64) -> FloatArray:
    return np.asarray(0.05 + 0.9 * t / (t + 0.5))


@final
class Objective:
    """A landscape with a noise law in the box [-5, 5]^d."""

    def __init__(self, landscape: str, law: str, dimension: int, instance: int) -> None:
        rng = np.random.default_rng([instance, dimension, LANDSCAPES.index(landscape)])
        self.landscape, self.law, self.dimension = landscape, law, dimension
        self.offset = 10.0 * (instance % 2)
        self.optimum = rng.uniform(-3.0, 3.0, dimension)
        self._turn = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
        self._unit = 1.0
        self._unit = float(np.median(self.regret(rng.uniform(-BOX, BOX, (400, dimension)))))

    def regret(self, X: FloatArray) -> FloatArray:
        """t at each row."""
        Z, d = X - self.optimum, self.dimension
        if self.landscape == "sphere":
            t = (Z * Z).sum(axis=1)
        elif self.landscape == "ellipsoid":
            t = (Z @ self._turn) ** 2 @ 10.0 ** np.linspace(0.0, 3.0, d)
        elif self.landscape == "rosenbrock" and d > 1:
            W = 0.5 * Z + 1.0
            t = (100.0 * (W[:, 1:] - W[:, :-1] ** 2) ** 2 + (1.0 - W[:, :-1]) ** 2).sum(axis=1)
        else:
            t = np.abs(Z).sum(axis=1)
        return np.asarray(t / self._unit)

    @property
    def least(self) -> float:
        """The smallest expected value."""
        return float(self._expected(np.zeros(1))[0])

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One noisy value per row."""
        t = self.regret(X)
        return self._expected(t) + LAWS[self.law][0](t, rng)

    def expected(self, x: FloatArray) -> float:
        """Expected value at a point; the median under Cauchy's law."""
        return float(self._expected(self.regret(x[None]))[0])

    def deviation(self, x: FloatArray) -> float:
        """Standard deviation of the noise at a point; nan where there is none."""
        return LAWS[self.law][1](float(self.regret(x[None])[0]))

    def _expected(self, t: FloatArray) -> FloatArray:
        return _chance(t) if self.law == "win-loss" else t + self.offset
