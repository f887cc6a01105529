"""What the values say about the objective: a model of them, cut along its parameters.

The model is fitted to the newest evaluations of a run, whatever method made them: the same
Gaussian process that `gp` uses. It serves the report only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noisewise._threads import single
from noisewise._types import FloatArray, IntArray
from noisewise.gp.model import Fit, Model, local, normal_nodes, refit
from noisewise.gp.values import Measurements

#: A model says too little above 15 parameters, and below 8 successes or two per parameter.
_DIMENSIONS, _LEAST, _LEAST_EACH = 15, 8, 2
#: Newest evaluations behind the model of the landscape, and behind that of one moment.
_NEWEST, _MOMENT = 300, 100
#: Points of a cut, cells of a map in each direction, moments of the progress.
_POINTS, CELLS, _MOMENTS = 41, 24, 16
#: Standard deviations to either side of the mean in a 95 % band.
_BAND = np.array([0.0, -1.96, 1.96])


@dataclass(frozen=True)
class Band:
    """Expected values at places along an axis, and their 95 % intervals."""

    x: FloatArray
    middle: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Landscape:
    """A model of the newest values in the box around them, in the user's coordinates."""

    model: Model
    fit: Fit
    #: The recommendation, the corners of the box, and the coordinates that vary.
    x: FloatArray
    low: FloatArray
    high: FloatArray
    free: IntArray
    sign: float
    #: Evaluations behind the model.
    count: int

    def cut(self, j: int) -> Band:
        """Along coordinate ``j``, the others as recommended."""
        at = np.linspace(self.low[j], self.high[j], _POINTS)
        X = np.tile(self.x, (_POINTS, 1))
        X[:, j] = at
        return Band(at, *self.expected(X))

    def map(self, i: int, j: int) -> tuple[FloatArray, FloatArray]:
        """Expected values and widths of their 95 % intervals in cells over coordinates ``i``
        (columns) and ``j`` (rows, the lowest first), the others as recommended."""
        part = (np.arange(CELLS) + 0.5) / CELLS
        X = np.tile(self.x, (CELLS * CELLS, 1))
        X[:, i] = np.tile(self.low[i] + part * (self.high[i] - self.low[i]), CELLS)
        X[:, j] = np.repeat(self.low[j] + part * (self.high[j] - self.low[j]), CELLS)
        middle, low, high = self.expected(X)
        return middle.reshape(CELLS, CELLS), (high - low).reshape(CELLS, CELLS)

    def expected(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Expected values at points in rows, and the ends of their 95 % intervals."""
        U = _unit(X[:, self.free], self.low[self.free], self.high[self.free])
        return _intervals(self.model, U, self.sign)


def of(
    X: FloatArray, values: FloatArray, x: FloatArray, bounds: FloatArray, sign: float
) -> Landscape | None:
    """The landscape of evaluations at ``X`` (nan: failed), None where they are too few for the
    number of parameters. ``bounds`` are low and high, (2, d); ``sign`` is -1 where more is
    better."""
    free = np.flatnonzero(bounds[0] < bounds[1])
    X, y = X[-_NEWEST:], sign * values[-_NEWEST:]
    good = int(np.isfinite(y).sum())
    if not (1 <= len(free) <= _DIMENSIONS and good >= max(_LEAST, _LEAST_EACH * len(free))):
        return None
    low, high = _corners(np.vstack((X, x)), bounds)
    fit, model = _fitted(_unit(X, low, high)[:, free], y, Fit.start(len(free)))
    return Landscape(model, fit, x, low, high, free, sign, len(y))


def progress(
    land: Landscape, X: FloatArray, values: FloatArray, number: IntArray, bounds: FloatArray
) -> Band:
    """The expected value of the best point, as the values up to a moment tell it, at moments of
    the run. ``number`` is the place of each evaluation in the run."""
    first = max(_LEAST, _LEAST_EACH * len(land.free))
    moments = np.unique(np.linspace(first, len(values), _MOMENTS).round().astype(int))
    found: list[tuple[float, ...]] = []
    for n in moments:
        rows = slice(max(0, n - _MOMENT), n)
        y = land.sign * values[rows]
        if np.isfinite(y).sum() < 3:
            found.append((np.nan, np.nan, np.nan))
            continue
        low, high = _corners(X[rows], bounds)
        U = _unit(X[rows], low, high)[:, land.free]
        start = replace(Fit.start(len(land.free)), name=land.fit.name, chosen=len(y))
        _, model = _fitted(U, y, start)
        good = U[np.isfinite(y)]
        best = good[[int(np.argmin(model.posterior.mean(good)))]]
        found.append(tuple(float(v[0]) for v in _intervals(model, best, land.sign)))
    return Band(number[moments - 1].astype(float), *np.array(found).T)


def _fitted(U: FloatArray, y: FloatArray, start: Fit) -> tuple[Fit, Model]:
    """The fit to values at points in the unit cube, and its model."""
    with single():
        measured = Measurements.empty(U.shape[1]).add(U, y)
        fit = refit(measured, start)
        return fit, Model.of(local(measured, fit), fit)


def _corners(X: FloatArray, bounds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The box around points with a margin, within the bounds; never flat."""
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.05 * (high - low) + 1e-9 * (1.0 + np.abs(high))
    return np.maximum(low - margin, bounds[0]), np.minimum(high + margin, bounds[1])


def _unit(X: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    width = high - low
    return np.asarray((X - low) / np.where(width > 0.0, width, 1.0))


def _intervals(
    model: Model, U: FloatArray, sign: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Expected measurements in the user's sign and the ends of their 95 % intervals."""
    with single():
        mean, var = model.posterior.predict(U)
        levels = mean[:, None] + np.sqrt(var)[:, None] * _BAND
        nodes, weights = normal_nodes()
        noise = np.sqrt(model.posterior.noise()) * nodes
        raw = model.warp.backward(levels[..., None] + noise) @ weights
    middle, low, high = sign * raw.T
    return middle, np.minimum(low, high), np.maximum(low, high)
