"""Noise laws of our own choice on the noiseless bbob functions, and pycma's noisy ellipsoids.

    symbol      meaning                                                          shape
    t           noise-free value above the optimum                               (n,)
    s           noise unit: t at the start, or 1 when the level is absolute      scalar
    level       strength of the noise                                            scalar
    N, T        standard normal; Student t3 scaled to variance one               (n,)
    r           root mean square distance of a point to the start                (n,)

    gaussian    t + level s N
    t3          t + level s T
    radial      t + level s r N            no noise at the start, more away from it
    lognormal   t exp(level N - level^2/2) mean one
    none        t

With additive noise and a small level the ranking of a population is right at first and wrong
once the values fall below ``level s``: noise that dominates only late.
"""

from __future__ import annotations

from typing import Any, Final, Literal, final, get_args

import numpy as np

from ..problem import FloatArray
from ._truth import LastBatch
from .landscapes import BOX, NOISELESS, Landscape, check_bbob

Law = Literal["gaussian", "t3", "radial", "lognormal", "none"]
LAWS: Final = get_args(Law)


@final
class AdditiveNoise:
    """bbob function 1 to 24 with a noise law and level; the regret is exact.

    ``level`` is the standard deviation of the noise as a fraction of the regret at the start
    (gaussian, t3), the same per unit of distance from the start (radial), or the standard
    deviation of the logarithm (lognormal). With ``absolute`` the unit is one, not the regret at
    the start.
    """

    def __init__(
        self,
        function: int,
        instance: int,
        dimension: int,
        law: Law = "gaussian",
        level: float = 1e-3,
        absolute: bool = False,
    ) -> None:
        check_bbob(function, instance, dimension, NOISELESS)
        if law not in LAWS:
            raise ValueError(f"law is {law!r}, it takes one of {', '.join(LAWS)}")
        if not 0.0 <= level < np.inf:
            raise ValueError(f"level is {level!r}, it takes a finite number of at least 0")
        self._arguments = (function, instance, dimension, law, float(level), absolute)
        landscape = Landscape(function, instance, dimension)
        self.law, self.level = law, float(level)
        suffix = "" if law == "none" else f"/{self.level!r}{'abs' if absolute else ''}"
        self.name = f"additive/f{function}/i{instance}/d{dimension}/{law}{suffix}"
        self.fopt, self.xopt = landscape.fopt, landscape.xopt
        self.x0: FloatArray = np.zeros(dimension)
        self.bounds: tuple[FloatArray, FloatArray] | None = (
            np.full(dimension, -BOX),
            np.full(dimension, BOX),
        )
        self._truth: LastBatch[FloatArray] = LastBatch(lambda X: np.add(*landscape(X)), dimension)
        self.unit = 1.0 if absolute else float(self._truth(self.x0[None])[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return AdditiveNoise, self._arguments

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One noisy value per row, optimal value included."""
        t = self._truth(X)
        if self.law == "none":
            return t + self.fopt
        if self.law == "lognormal":
            z = rng.standard_normal(len(t))
            return np.asarray(t * np.exp(self.level * z - 0.5 * self.level**2) + self.fopt)
        if self.law == "t3":
            draw: FloatArray = rng.standard_t(3.0, len(t)) / np.sqrt(3.0)
        else:
            draw = rng.standard_normal(len(t))
        if self.law == "radial":
            draw = draw * np.sqrt(np.mean((X - self.x0) ** 2, axis=1))
        return t + self.level * self.unit * draw + self.fopt

    def regret(self, X: FloatArray) -> FloatArray:
        """Noise-free value above the optimum, with the function's own box penalty."""
        return np.array(self._truth(X))


@final
class NoisySphere:
    """The ellipsoid that pycma calls ``noisysphere``: factor exp(noise N / d), no bounds.

    pycma's public scenarios are (33, 1.0), which starts from all ones, and (14, 8.1), which
    starts from all -0.1; both have condition number 1e4, initial step size 1 and no offset.
    """

    CONDITION: Final = 1e4
    sigma0 = 1.0
    bounds: tuple[FloatArray, FloatArray] | None = None

    def __init__(self, dimension: int, noise: float) -> None:
        if dimension < 2:
            raise ValueError(f"dimension is {dimension!r}, it takes an integer of at least 2")
        if not 0.0 <= noise < np.inf:
            raise ValueError(f"noise is {noise!r}, it takes a finite number of at least 0")
        self.noise = float(noise)
        self.name = f"noisysphere/d{dimension}/n{self.noise:g}"
        self.x0: FloatArray = np.full(dimension, -0.1 if dimension == 14 else 1.0)
        scales = self.CONDITION ** np.linspace(0.0, 1.0, dimension)
        self._truth: LastBatch[FloatArray] = LastBatch(lambda X: (X * X) @ scales, dimension)

    def __reduce__(self) -> tuple[Any, ...]:
        return NoisySphere, (len(self.x0), self.noise)

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One noisy value per row."""
        t = self._truth(X)
        return np.asarray(t * np.exp(self.noise / len(self.x0) * rng.standard_normal(len(t))))

    def regret(self, X: FloatArray) -> FloatArray:
        """Noise-free value; the optimum is zero at the origin."""
        return np.array(self._truth(X))
