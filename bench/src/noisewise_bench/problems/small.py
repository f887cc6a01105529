"""Problems for small budgets: six landscapes under eight kinds of noise, in any dimension.

    symbol      meaning                                                          shape
    z           x - x_opt, turned by a rotation or by signs where the text says  (n, d)
    t           noise-free value above the optimum, median 1 over the box        (n,)
    level       strength of the noise                                            scalar
    N, T        standard normal; Student t3 scaled to variance one               (n,)
    s           0.1 to 1.9, rises through the box along a random direction       (n,)
    L           lognormal factor exp(level N - level^2/2), mean one              (n,)

    law         observed                                  regret
    gaussian    t + level N + f_opt                       t
    t3          t + level T + f_opt                       t
    hetero      t + level s N + f_opt                     t
    lognormal   t L + f_opt                               t        exact at the optimum
    relative    (t + 0.1) L                               t        a positive cost
    winloss     1 (lost) with probability p, else 0       p - p_opt
                p = 1/2 + level (t / (1 + t) - 1/2)
    none        t + f_opt                                 t

The levels of the additive laws are therefore fractions of the function's median over the box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, final, get_args

import numpy as np

from ..problem import FloatArray
from ._truth import LastBatch

Law = Literal["gaussian", "t3", "hetero", "lognormal", "relative", "winloss", "none"]
LAWS: Final = get_args(Law)
BOX: Final = 5.0
#: The optimum lies in [-4, 4]^d, at least this far (root mean square) from the centre.
OPTIMUM_RANGE, OPTIMUM_DISTANCE = 4.0, 1.0
BASE_COST: Final = 0.1
N_MEDIAN: Final = 2048


def _sphere(z: FloatArray) -> FloatArray:
    return np.asarray(np.sum(z * z, axis=1))


def _ellipsoid(z: FloatArray, condition: float = 1e3) -> FloatArray:
    return np.asarray((z * z) @ np.geomspace(1.0, condition, z.shape[1]))


def _rosenbrock(z: FloatArray) -> FloatArray:
    """The curved valley, scaled so that the box spans about [-2.6, 4.6]; minimum at z = 0."""
    u = 0.4 * z + 1.0
    bend, rest = u[:, 1:] - u[:, :-1] ** 2, 1.0 - u[:, :-1]
    return np.asarray(np.sum(100.0 * bend**2 + rest**2, axis=1))


def _rastrigin(z: FloatArray) -> FloatArray:
    """Three minima along every coordinate, period 2.5."""
    return np.asarray(np.sum(z * z + 2.0 * (1.0 - np.cos(2.0 * np.pi / 2.5 * z)), axis=1))


def _ackley(z: FloatArray) -> FloatArray:
    """One funnel under ripples of period 2."""
    radius, ripple = np.sqrt(np.mean(z * z, axis=1)), np.mean(np.cos(np.pi * z), axis=1)
    return np.asarray(20.0 * -np.expm1(-0.2 * radius) + np.e - np.exp(ripple))


def _steps(z: FloatArray) -> FloatArray:
    """Plateaus of width one, tilted by a hundredth so that regret still tells points apart."""
    return _ellipsoid(np.round(z), 10.0) + 0.01 * _sphere(z)


#: name -> (value of z, smallest dimension, how z is turned)
_LANDSCAPES: Final[dict[str, tuple[Callable[[FloatArray], FloatArray], int, str]]] = {
    "sphere": (_sphere, 1, "none"),
    "ellipsoid": (_ellipsoid, 2, "rotation"),
    "rosenbrock": (_rosenbrock, 2, "signs"),
    "rastrigin": (_rastrigin, 1, "none"),
    "ackley": (_ackley, 1, "none"),
    "steps": (_steps, 1, "rotation"),
}
LANDSCAPES: Final = tuple(_LANDSCAPES)


def landscapes_of(dimension: int) -> tuple[str, ...]:
    """Landscapes that exist in a dimension: two of them need at least two parameters."""
    return tuple(name for name, (_, least, _) in _LANDSCAPES.items() if dimension >= least)


@final
class Small:
    """A landscape, instance and dimension under a noise law and level; the regret is exact.

    The box is [-5, 5]^d and the start its centre. The instance draws the optimum, the rotation,
    the optimal value and the direction along which heteroscedastic noise grows.

    >>> problem = Small("ellipsoid", 1, 3, "gaussian", 0.2)
    >>> problem.name, float(problem.regret(problem.xopt[None])[0])
    ('small/ellipsoid/i1/d3/gaussian/0.2', 0.0)
    """

    def __init__(
        self,
        landscape: str,
        instance: int,
        dimension: int,
        law: Law = "gaussian",
        level: float = 0.2,
    ) -> None:
        _check(landscape, instance, dimension, law, level)
        self._arguments = (landscape, instance, dimension, law, float(level))
        self.landscape, self.law, self.level = landscape, law, float(level)
        suffix = "" if law == "none" else f"/{self.level!r}"
        self.name = f"small/{landscape}/i{instance}/d{dimension}/{law}{suffix}"
        value, _, turned = _LANDSCAPES[landscape]
        rng = np.random.default_rng([LANDSCAPES.index(landscape), instance, dimension, 15])
        self.xopt = _optimum(dimension, rng)
        turn = _turn(turned, dimension, rng)
        offset = float(10.0 * rng.standard_normal())  # drawn for every law: same landscape
        self.fopt = 0.0 if law in ("relative", "winloss") else offset
        direction = rng.standard_normal(dimension)
        self._slope = direction / np.linalg.norm(direction) / (0.5 * BOX)
        self.x0: FloatArray = np.zeros(dimension)
        self.bounds: tuple[FloatArray, FloatArray] | None = (
            np.full(dimension, -BOX),
            np.full(dimension, BOX),
        )

        def raw(X: FloatArray) -> FloatArray:
            return value((X - self.xopt) @ turn)

        unit = float(np.median(raw(rng.uniform(-BOX, BOX, (N_MEDIAN, dimension)))))
        self._truth: LastBatch[FloatArray] = LastBatch(lambda X: raw(X) / unit, dimension)

    def __reduce__(self) -> tuple[Any, ...]:
        return Small, self._arguments

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One noisy value per row."""
        t, level = self._truth(X), self.level
        if self.law == "none":
            return t + self.fopt
        if self.law == "winloss":
            return np.asarray(rng.random(len(t)) < self._probability(t), dtype=float)
        if self.law == "t3":
            return np.asarray(t + level / np.sqrt(3.0) * rng.standard_t(3.0, len(t)) + self.fopt)
        draw = rng.standard_normal(len(t))
        if self.law == "gaussian":
            return t + level * draw + self.fopt
        if self.law == "hetero":
            spread = 1.0 + 0.9 * np.tanh(X @ self._slope)
            return np.asarray(t + level * spread * draw + self.fopt)
        cost = t + BASE_COST if self.law == "relative" else t
        return np.asarray(cost * np.exp(level * draw - 0.5 * level**2) + self.fopt)

    def regret(self, X: FloatArray) -> FloatArray:
        """Expected value above the optimum (win/loss: probability of losing above the optimum)."""
        t = self._truth(X)
        if self.law == "winloss":
            return np.asarray(self.level * t / (1.0 + t))
        return np.array(t)

    def _probability(self, t: FloatArray) -> FloatArray:
        return 0.5 + self.level * (t / (1.0 + t) - 0.5)


def _check(landscape: str, instance: int, dimension: int, law: str, level: float) -> None:
    if landscape not in _LANDSCAPES:
        raise ValueError(f"landscape is {landscape!r}, it takes one of {', '.join(LANDSCAPES)}")
    least = _LANDSCAPES[landscape][1]
    if dimension < least:
        raise ValueError(
            f"dimension is {dimension!r}, {landscape} takes an integer of at least {least}"
        )
    if instance < 1:
        raise ValueError(f"instance is {instance!r}, it takes an integer of at least 1")
    if law not in LAWS:
        raise ValueError(f"law is {law!r}, it takes one of {', '.join(LAWS)}")
    most = 1.0 if law == "winloss" else np.inf
    if not (0.0 <= level <= most and np.isfinite(level)):
        limit = "a number from 0 to 1" if law == "winloss" else "a finite number of at least 0"
        raise ValueError(f"level is {level!r}, {law} takes {limit}")


def _optimum(dimension: int, rng: np.random.Generator) -> FloatArray:
    while True:
        x = rng.uniform(-OPTIMUM_RANGE, OPTIMUM_RANGE, dimension)
        if np.sqrt(np.mean(x * x)) >= OPTIMUM_DISTANCE:
            return x


def _turn(kind: str, dimension: int, rng: np.random.Generator) -> FloatArray:
    """An orthogonal matrix: a random rotation (or reflection), random signs, or the identity."""
    if kind == "signs":
        return np.diag(rng.choice([-1.0, 1.0], dimension))
    if kind == "rotation":
        return np.asarray(np.linalg.qr(rng.standard_normal((dimension, dimension)))[0])
    return np.eye(dimension)


#: (law, level) of the public suite; 0.02 and 0.2 are 2 % and 20 % of the median over the box.
NOISES: Final[tuple[tuple[Law, float], ...]] = (
    ("gaussian", 0.02),
    ("gaussian", 0.2),
    ("gaussian", 1.0),
    ("t3", 0.2),
    ("hetero", 0.2),
    ("lognormal", 1.0),
    ("relative", 1.0),
    ("winloss", 0.8),
)


def names(
    dimensions: Iterable[int],
    instances: Iterable[int],
    noises: Iterable[tuple[str, float]] = NOISES,
) -> list[str]:
    """Names of the suite, ordered by dimension, landscape, noise and instance."""
    instances, noises = tuple(instances), tuple(noises)
    return [
        f"small/{landscape}/i{i}/d{d}/{law}/{level!r}"
        for d in dimensions
        for landscape in landscapes_of(d)
        for law, level in noises
        for i in instances
    ]
