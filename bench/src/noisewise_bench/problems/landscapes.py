"""Noise-free bbob functions, vectorised over rows: value above the optimum and box penalty.

Instances (shifts, rotations, peaks, optimal values) are those of `cma.bbobbenchmarks`. The eight
functions under the noisy suite are evaluated here, because the originals spend most of their
time in overhead and rebuild their peaks whenever the number of rows changes; the others are
called as they are.

    symbol      meaning                                                shape
    X           points, one per row                                    (n, d)
    Z           points in the function's own coordinates               (n, d)
    t           noise-free value above the optimum, penalty apart      (n,)
    f_opt       optimal value                                          scalar
    pen         factor * sum of squared violations of [-5, 5]          (n,)
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, final

import numpy as np

from ..problem import FloatArray
from ._optional import optional

Value = Callable[[FloatArray], FloatArray]

NOISELESS: Final = tuple(range(1, 25))
NOISY: Final = tuple(range(101, 131))
BOX: Final = 5.0


def check_bbob(function: int, instance: int, dimension: int, functions: tuple[int, ...]) -> None:
    """Raise if there is no such function, instance or dimension."""
    if function not in functions:
        raise ValueError(
            f"function is {function!r}, it takes an integer {functions[0]} to {functions[-1]}"
        )
    if instance < 1:
        raise ValueError(f"instance is {instance!r}, it takes an integer of at least 1")
    if dimension < 2:
        raise ValueError(f"dimension is {dimension!r}, it takes an integer of at least 2")


@lru_cache(maxsize=256)
def _parameters(function: int, instance: int, dimension: int) -> Any:
    """The initialised pycma object; built slowly (rotations), so kept."""
    made = optional("cma.bbobbenchmarks").dictbbob[function](instance)
    made.initwithsize((1, dimension), dimension)
    return made


@final
class Landscape:
    """One noise-free bbob function. Calling it gives ``(t, pen)``; ``pen`` is 0.0 in the box."""

    def __init__(self, function: int, instance: int, dimension: int) -> None:
        check_bbob(function, instance, dimension, NOISELESS + NOISY)
        # A copy, because the originals note the shape of the rows they saw last.
        made = copy.copy(_parameters(function, instance, dimension))
        self.fopt = float(made.fopt)
        self.xopt: FloatArray = np.array(made.xopt, dtype=float)
        family = type(made).__mro__[1].__name__
        self._value: Value = _VALUES.get(family, _as_is)(made)
        # The originals called as they are add their own penalty.
        self._factor = 0.0
        if family in _VALUES:
            corner = np.full((1, dimension), BOX + 1.0)
            self._factor = float(np.max(made.boundaryhandling(corner))) / dimension

    def __call__(self, X: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        # Rounding may put the value at the optimum below zero.
        t = np.maximum(self._value(X), 0.0)
        outside = np.abs(X)
        if not self._factor or outside.max(initial=0.0) <= BOX:
            return t, 0.0
        outside -= BOX
        np.maximum(outside, 0.0, out=outside)
        return t, self._factor * _squares(outside)


def oscillate(x: FloatArray) -> FloatArray:
    """T_osz: a smooth, irregular, strictly increasing distortion with T_osz(0) = 0."""
    up = x > 0
    h = np.log(np.maximum(np.abs(x), 1e-300))
    waves = np.sin(np.where(up, 10.0, 5.5) * h) + np.sin(np.where(up, 7.9, 3.1) * h)
    return np.asarray(np.copysign(np.exp(h + 0.049 * waves), x))


def _squares(Z: FloatArray) -> FloatArray:
    """Sum of squares of every row."""
    return np.asarray(np.einsum("ij,ij->i", Z, Z))


def _as_is(p: Any) -> Value:
    return lambda X: np.asarray(p._evalfull(X)[1] - p.fopt, dtype=float)


def _sphere(p: Any) -> Value:
    shift: FloatArray = p.xopt

    def value(X: FloatArray) -> FloatArray:
        return _squares(X - shift)

    return value


def _rosenbrock(p: Any) -> Value:
    scale, shift = p.scales, 1.0 - p.scales * p.xopt

    def value(X: FloatArray) -> FloatArray:
        Z = scale * X + shift
        first = Z[:, :-1]
        bend, slope = first * first - Z[:, 1:], first - 1.0
        return 100.0 * _squares(bend) + _squares(slope)

    return value


def _step_ellipsoid(p: Any) -> Value:
    def value(X: FloatArray) -> FloatArray:
        Z = (X - p.xopt) @ p.linearTF
        # The plateaus tilt along the first coordinate before rounding, as in COCO; pycma rounds
        # it first, which makes the middle plateau flat.
        tilt = 1e-4 * np.abs(Z[:, 0])
        Z = np.where(np.abs(Z) > 0.5, np.rint(Z), np.rint(10.0 * Z) / 10.0) @ p.rotation
        return np.asarray(0.1 * np.maximum(tilt, (Z * Z) @ p.scales))

    return value


def _ellipsoid(p: Any) -> Value:
    def value(X: FloatArray) -> FloatArray:
        Z = oscillate((X - p.xopt) @ p.rotation)
        return np.asarray((Z * Z) @ p.scales)

    return value


def _different_powers(p: Any) -> Value:
    powers = 2.0 + 4.0 * np.linspace(0.0, 1.0, p.dim)

    def value(X: FloatArray) -> FloatArray:
        Z = np.abs((X - p.xopt) @ p.rotation)
        return np.asarray(np.sqrt((Z**powers).sum(axis=1)))

    return value


def _schaffers(p: Any) -> Value:
    beta = p.beta * np.linspace(0.0, 1.0, p.dim)

    def value(X: FloatArray) -> FloatArray:
        Z = (X - p.xopt) @ p.rotation
        up = np.maximum(Z, 0.0)
        Z = np.where(Z > 0.0, up ** (1.0 + beta * np.sqrt(up)), Z) @ p.linearTF
        Z *= Z
        s = Z[:, :-1] + Z[:, 1:]
        waves = np.sin(50.0 * s**0.1)
        return np.asarray((np.sqrt(np.sqrt(s)) * (waves * waves + 1.0)).mean(axis=1) ** 2)

    return value


def _griewank_rosenbrock(p: Any) -> Value:
    def value(X: FloatArray) -> FloatArray:
        Z = X @ p.linearTF + 0.5
        first = Z[:, :-1]
        r = 100.0 * (first * first - Z[:, 1:]) ** 2 + (1.0 - first) ** 2
        return np.asarray(p.facftrue * (1.0 + (r / 4000.0 - np.cos(r)).mean(axis=1)))

    return value


def _gallagher(p: Any) -> Value:
    scales, peaks = p.arrscales.T, p.xlocal.T
    linear, constant = -2.0 * scales * peaks, np.sum(scales * peaks * peaks, axis=0)
    half = -0.5 / p.dim

    def value(X: FloatArray) -> FloatArray:
        Z = X @ p.rotation
        q = (Z * Z) @ scales + Z @ linear + constant
        # Near the global peak the expanded square would lose the digits that matter.
        near = Z - p.xlocal[0]
        q[:, 0] = (near * near) @ p.arrscales[0]
        heights = p.peakvalues * np.exp(half * q)
        return oscillate(10.0 - heights.max(axis=1)) ** 2

    return value


#: pycma's name of the family -> our evaluation of it
_VALUES: Final[dict[str, Callable[[Any], Value]]] = {
    "_FSphere": _sphere,
    "_FRosenbrock": _rosenbrock,
    "_FStepEllipsoid": _step_ellipsoid,
    "_FEllipsoid": _ellipsoid,
    "_FDiffPow": _different_powers,
    "_FSchaffersF7": _schaffers,
    "_F8F2": _griewank_rosenbrock,
    "_FGallagher": _gallagher,
}
