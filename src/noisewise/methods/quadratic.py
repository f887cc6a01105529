"""A point beside the start that is better for sure, from outcomes such as won and lost.

| symbol | meaning | shape |
|---|---|---|
| z | a point as (x - x0) / a quarter of the box (of the first spread in open coordinates) | (d,) |
| F | linear and quadratic terms of the points near the start, less their means | (n, q) |
| w | weights of the terms, N(0, tau I) before the values; tau by the evidence | (q,) |
| g(z) | gain over the start: -F(z) w, smaller values being better | |

The answer maximises E g - k sd g, which is zero at the start itself: without evidence for anything
better it is the start. One outcome says hardly anything, and a search that follows ranks walks away
from a good start; all outcomes together say which way is better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisewise._threads import single
from noisewise._types import FloatArray, IntArray

#: The unit of z, as a part of the width of a closed coordinate, or in first step sizes; points
#: farther away than this in any coordinate are left out, and the answer is within that.
WIDTH, STEPS, FAR, REACH = 0.25, 0.83, 3.0, 1.5
#: Standard deviations of the gain that must lie above zero. With more of them fewer runs leave a
#: good start for something worse, and fewer find what is better than a bad one.
SURE = 1.0
#: Values near the start that a fit needs, and terms up to which all products are among them.
_LEAST, _TERMS = 40, 200
#: Prior variances that are tried.
_TAUS = np.logspace(-6.0, 0.0, 49)


@dataclass(frozen=True)
class Quadratic:
    """The posterior of the weights, values being divided by their standard deviation."""

    mean: FloatArray
    covariance: FloatArray
    products: tuple[IntArray, IntArray]

    def gain(self, z: FloatArray, sure: float = SURE) -> float:
        """E g - ``sure`` sd g."""
        f = terms(z[None], self.products)[0]
        return float(-f @ self.mean - sure * np.sqrt(max(float(f @ self.covariance @ f), 0.0)))


def terms(Z: FloatArray, products: tuple[IntArray, IntArray]) -> FloatArray:
    """Linear terms and products of coordinates, (n, q)."""
    i, j = products
    return np.hstack((Z, Z[:, i] * Z[:, j]))


def fit(Z: FloatArray, y: FloatArray) -> Quadratic | None:
    """The model of points in units of `WIDTH` around the start with one value each; None for too
    few. Of many coordinates only squares are among the terms."""
    near = (np.abs(Z) <= FAR).all(axis=1) & np.isfinite(y)
    Z, y = Z[near], y[near]
    d = Z.shape[1]
    products = np.triu_indices(d) if d * (d + 3) // 2 <= _TERMS else (np.arange(d), np.arange(d))
    if len(y) < _LEAST or np.ptp(y) == 0.0:
        return None
    F = terms(Z, products)
    y = (y - y.mean()) / y.std()
    with single():
        _, s, V = np.linalg.svd(F - F.mean(axis=0), full_matrices=False)
        t = (V @ ((F - F.mean(axis=0)).T @ y)) / np.maximum(s, np.finfo(float).tiny)
    variances = 1.0 + np.outer(_TAUS, s * s)  # of the projections t, the noise having one
    evidence = -0.5 * (np.log(variances) + t * t / variances).sum(axis=1)
    tau = float(_TAUS[int(np.argmax(evidence))])
    shrunk = tau * s / (1.0 + tau * s * s)
    covariance = tau * np.eye(F.shape[1]) - (V.T * (tau * s * shrunk)) @ V
    return Quadratic(V.T @ (shrunk * t), covariance, products)


def best(model: Quadratic, low: FloatArray, high: FloatArray, sure: float = SURE) -> FloatArray:
    """The point in the box that is better than the start with most certainty; 0 if none is."""
    from scipy.optimize import minimize  # takes long to import

    d = len(low)
    low, high = np.maximum(low, -REACH), np.minimum(high, REACH)
    way = -model.mean[:d] / max(float(np.linalg.norm(model.mean[:d])), np.finfo(float).tiny)
    found, most = np.zeros(d), 0.0
    for length in (0.3, 0.8, 1.5):
        z0 = np.clip(length * way, low, high)
        r = minimize(lambda z: -model.gain(z, sure), z0, bounds=list(zip(low, high, strict=True)))
        if -r.fun > most:
            found, most = r.x, float(-r.fun)
    return np.asarray(found)
