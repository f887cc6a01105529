"""A point that is better than the start for sure, from outcomes such as won and lost.

| symbol | meaning | shape |
|---|---|---|
| z | a point as (x - x0) / a quarter of the box (of the first spread in open coordinates) | (d,) |
| u | points of which the model is made: all of them, or as many evenly chosen ones | (m, d) |
| l | length scale, the same in all coordinates | |
| k(z) | exp(-\\|z - u\\|^2 / (2 l^2)), the likeness to each of these points | (m,) |
| F | k B with B B^T = k(u)^-1: features whose weights are independent | (n, r) |
| w | weights of the features, N(0, tau I) before the values; l and tau by the evidence | (r,) |
| g(z) | gain over the start: -(F(z) - F(0)) w, smaller values being better | |

This is a Gaussian process without noise of its own kind: one outcome says hardly anything about
its point, all of them say where more is won. The answer maximises E g - c sd g, which is zero at
the start itself: without evidence for anything better it is the start. A search that follows
ranks walks away from a good start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisewise._threads import single
from noisewise._types import FloatArray

#: The unit of z, as a part of the width of a closed coordinate, or in first step sizes; and how far
#: from the start the answer may be.
WIDTH, STEPS, REACH = 0.25, 0.83, 4.0
#: Standard deviations of the gain that must lie above zero (c). With more of them fewer runs leave
#: a good start for something worse, and fewer find what is better than a bad one.
SURE = 1.25
#: The same where the answer will be measured beside the start before it is returned.
BOLD = 0.5
#: Nats by which the model must explain the values better than one without any differences. Below,
#: with 200 outcomes in ten or thirty coordinates, answers that seemed sure were worse than a good
#: start in two of five runs.
_TOLD = 1.0
#: Values that a fit needs, and points of which the model is made at most (m).
_LEAST, _MOST = 40, 300
#: Length scales that are tried, times the root of the number of coordinates, and variances (tau).
_LENGTHS = (0.6, 0.8, 1.15, 1.6, 2.3, 3.3, 4.9)
_TAUS = np.logspace(-4.0, 0.5, 19)
#: Part of the largest eigenvalue of k(u) below which a feature is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Gain:
    """The posterior of the weights, values being divided by their standard deviation."""

    points: FloatArray
    length: float
    #: B, the features of the start, and mean and covariance of w.
    basis: FloatArray
    start: FloatArray
    mean: FloatArray
    covariance: FloatArray
    #: Nats by which it explains the values better than a model without any differences.
    told: float

    def __call__(self, z: FloatArray, sure: float = SURE) -> tuple[float, FloatArray]:
        """E g - ``sure`` sd g, and its gradient."""
        k = likeness(z[None], self.points, self.length)[0]
        f = k @ self.basis - self.start
        slopes = ((self.points - z) / self.length**2 * k[:, None]).T @ self.basis
        spread = self.covariance @ f
        sd = float(np.sqrt(max(float(f @ spread), 0.0)))
        way = self.mean + (sure / sd * spread if sd > 0.0 else 0.0)
        return float(-f @ self.mean) - sure * sd, -slopes @ way


def likeness(Z: FloatArray, points: FloatArray, length: float) -> FloatArray:
    """k of many points, (n, m)."""
    square = (Z * Z).sum(axis=1)[:, None] + (points * points).sum(axis=1) - 2.0 * Z @ points.T
    return np.asarray(np.exp(-0.5 / length**2 * np.maximum(square, 0.0)))


def fit(Z: FloatArray, y: FloatArray) -> Gain | None:
    """The model of points in units of `WIDTH` around the start with one value each; None for too
    few, or values that are all alike."""
    good = np.isfinite(y)
    Z, y = Z[good], y[good]
    # The variance of tiny values is zero although they differ.
    if len(y) < _LEAST or np.ptp(y) == 0.0 or not (spread := float(y.std())) > 0.0:
        return None
    points = Z[np.linspace(0, len(Z) - 1, min(len(Z), _MOST)).round().astype(int)]
    y = (y - y.mean()) / spread
    with single():
        found = [_of_length(Z, y, points, c * np.sqrt(Z.shape[1])) for c in _LENGTHS]
    return max(found, key=lambda one: one.told)


def _of_length(Z: FloatArray, y: FloatArray, points: FloatArray, length: float) -> Gain:
    """The posterior for a length scale. A constant with a flat prior is among the features, so
    that they count less their mean."""
    e, Q = np.linalg.eigh(likeness(points, points, length))
    kept = e > _ROUNDING * e[-1]
    basis = Q[:, kept] / np.sqrt(e[kept])
    F = likeness(Z, points, length) @ basis
    F -= F.mean(axis=0)
    s2, V = np.linalg.eigh(F.T @ F)  # squares of the singular values
    s2, p = np.maximum(s2, 0.0), V.T @ (F.T @ y)
    shrunk = _TAUS[:, None] / (1.0 + np.outer(_TAUS, s2))
    evidence = 0.5 * (np.log(shrunk / _TAUS[:, None]) + shrunk * p * p).sum(axis=1)
    best = int(np.argmax(evidence))
    start = likeness(np.zeros((1, Z.shape[1])), points, length)[0] @ basis
    covariance = (V * shrunk[best]) @ V.T
    mean, told = V @ (shrunk[best] * p), float(evidence[best])
    return Gain(points, length, basis, start, mean, covariance, told)


def best(
    model: Gain, low: FloatArray, high: FloatArray, also: FloatArray, sure: float = SURE
) -> FloatArray:
    """The point in the box that is better than the start with most certainty; 0 if none is, or if
    the values say too little. ``also``: points from which to climb, besides the best one of the
    model (rows)."""
    from scipy.optimize import minimize  # takes long to import

    low, high = np.maximum(low, -REACH), np.minimum(high, REACH)
    expected = likeness(model.points, model.points, model.length) @ (model.basis @ model.mean)
    first = model.points[int(np.argmin(expected))]
    found, most = np.zeros(len(low)), 0.0
    if model.told < _TOLD:
        return found

    def loss(z: FloatArray) -> tuple[float, FloatArray]:
        value, slope = model(z, sure)
        return -value, -slope

    with single():
        for z0 in (0.1 * first, first, *also):
            limits = list(zip(low, high, strict=True))
            r = minimize(loss, np.clip(z0, low, high), jac=True, bounds=limits)
            if -r.fun > most:
                found, most = r.x, float(-r.fun)
    return np.asarray(found)
