"""The 30 functions of the bbob-noisy suite, with noise drawn from the generator it is given.

symbol          meaning                                              shape
t               noise-free value above the optimum                   (n,)
alpha, beta, p  strength of the noise (moderate f101-f106, severe)   scalars
U, U', C        uniform, uniform and standard Cauchy draws           (n,)

Gaussian        t exp(beta N)
uniform         t U^beta max(1, (1e9 / t)^(alpha U'))
Cauchy          t + max(0, alpha (1000 + [U < p] C))
observed        the above + 1.01e-8 + f_opt + penalty
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol, final

import numpy as np

from ..problem import FloatArray
from ._truth import LastBatch
from .landscapes import BOX, NOISY, Landscape, check_bbob

#: Functions on which the noise reorders an initial population most; the rest are COMPLEMENT.
HIGH: Final = (108, 110, 111, 113, 114, 116, 117, 119, 120, 122, 123, 125, 126, 128, 129)
COMPLEMENT: Final = tuple(f for f in NOISY if f not in HIGH)
OFFSET: Final = 1.01e-8


class Noise(Protocol):
    """Turns noise-free values above the optimum into one noisy draw of each."""

    def __call__(self, t: FloatArray, rng: np.random.Generator) -> FloatArray: ...


# Every law draws one row of numbers per value: values then do not depend on how rows are batched.
@dataclass(frozen=True)
@final
class GaussianNoise:
    """Log-normal factor with median one."""

    beta: float

    def __call__(self, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        return t * np.exp(self.beta * rng.standard_normal(len(t)))


@dataclass(frozen=True)
@final
class UniformNoise:
    """A factor below one times a factor above one that grows towards the optimum."""

    alpha: float
    beta: float

    def __call__(self, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        U = rng.random((len(t), 2))
        lift = (1e9 / (t + 1e-99)) ** (self.alpha * U[:, 1])
        return np.asarray(t * U[:, 0] ** self.beta * np.maximum(1.0, lift))


@dataclass(frozen=True)
@final
class CauchyNoise:
    """A constant, and seldom a Cauchy outlier on top."""

    alpha: float
    p: float

    def __call__(self, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        U = rng.random((len(t), 2))
        outlier = np.where(U[:, 0] < self.p, np.tan(np.pi * (U[:, 1] - 0.5)), 0.0)
        return np.asarray(t + self.alpha * np.maximum(0.0, 1000.0 + outlier))


def noise_of(function: int, dimension: int) -> Noise:
    """The noise law of f101 to f130."""
    severe = function > 106
    kind = (function - 101) % 3
    if kind == 0:
        return GaussianNoise(beta=1.0 if severe else 0.01)
    if kind == 1:
        strength = 1.0 if severe else 0.01
        return UniformNoise(alpha=strength * (0.49 + 1.0 / dimension), beta=strength)
    return CauchyNoise(alpha=1.0, p=0.2) if severe else CauchyNoise(alpha=0.01, p=0.05)


@final
class BBOBNoisy:
    """bbob-noisy function 101 to 130 in any dimension, with seeded noise and known truth.

    The regret includes the box penalty (zero inside [-5, 5]), so that a point outside the box
    is not scored better than the method could ever have observed it.
    """

    def __init__(self, function: int, instance: int, dimension: int) -> None:
        check_bbob(function, instance, dimension, NOISY)
        landscape = Landscape(function, instance, dimension)
        self.function, self.instance, self.dimension = function, instance, dimension
        self.name = f"bbob-noisy/f{function}/i{instance}/d{dimension}"
        self.fopt, self.xopt = landscape.fopt, landscape.xopt
        self.x0: FloatArray = np.zeros(dimension)
        self.bounds: tuple[FloatArray, FloatArray] | None = (
            np.full(dimension, -BOX),
            np.full(dimension, BOX),
        )
        self._noise = noise_of(function, dimension)
        self._truth = LastBatch(landscape, dimension)

    def __reduce__(self) -> tuple[Any, ...]:
        return BBOBNoisy, (self.function, self.instance, self.dimension)

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One noisy value per row, in the units of the suite (optimal value included)."""
        t, penalty = self._truth(X)
        return self._noise(t, rng) + (penalty + (OFFSET + self.fopt))

    def regret(self, X: FloatArray) -> FloatArray:
        """Noise-free value above the optimum, penalty included."""
        t, penalty = self._truth(X)
        return t + penalty
