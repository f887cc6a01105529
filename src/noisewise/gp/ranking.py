"""What the ranks of points near each other say about their noise-free order: a Gaussian process on
normal scores.

| symbol | meaning | shape |
|---|---|---|
| Z | points in units of the search distribution, divided by sqrt(n) | (N, n) |
| t | normal scores of their noisy values, zero mean | (N,) |
| K | a (rho k(|z - z'| / l) + (1 - rho) [same point]), k Matern 5/2 | (N, N) |
| f | draws of the noise-free scores | (b, k) |
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from noisewise._types import FloatArray

#: Length scales l, and shares rho of the signal in the variance, that are tried.
LENGTHS: Final = (0.5, 1.0, 2.0, 4.0)
SIGNALS: Final = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def scores(y: FloatArray) -> FloatArray:
    """Normal scores of the ranks, so that outliers do not matter; equal values share one."""
    from scipy.special import ndtri  # takes long to import
    from scipy.stats import rankdata

    return np.asarray(ndtri((rankdata(y) - 0.5) / len(y)))


def matern(r: FloatArray) -> FloatArray:
    """Matern 5/2 at distances in units of the length scale."""
    s = math.sqrt(5.0) * r
    return np.asarray((1.0 + s + s * s / 3.0) * np.exp(-s))


def chosen(Z: FloatArray, t: FloatArray) -> tuple[float, float]:
    """Length scale and signal share with the largest likelihood, the variance profiled out."""
    from scipy.spatial.distance import cdist

    best, found = -math.inf, (LENGTHS[0], SIGNALS[0])
    if np.ptp(t) == 0.0:  # all values are equal: nothing is known
        return found
    distance = cdist(Z, Z)
    for length in LENGTHS:
        values, V = np.linalg.eigh(matern(distance / length))
        u = (V.T @ (t - t.mean())) ** 2
        for signal in SIGNALS:
            d = signal * np.maximum(values, 0.0) + (1.0 - signal)
            likelihood = -0.5 * float(np.log(d).sum() + len(t) * np.log(np.mean(u / d)))
            if likelihood > best:
                best, found = likelihood, (length, signal)
    return found


def posterior(
    Z: FloatArray, t: FloatArray, k: int, length: float, signal: float
) -> tuple[FloatArray, FloatArray]:
    """Mean of f at the first ``k`` points, and a root of its covariance."""
    from scipy.linalg import cho_factor, cho_solve
    from scipy.spatial.distance import cdist

    K = signal * matern(cdist(Z, Z) / length)
    noisy = K + (1.0 - signal) * np.eye(len(Z))
    factor = cho_factor(noisy, lower=True)
    residual = t - t.mean()
    solved = cho_solve(factor, residual)
    a = float(residual @ solved) / len(t)
    cross = K[:k]
    covariance = a * (K[:k, :k] - cross @ cho_solve(factor, cross.T))
    values, V = np.linalg.eigh(covariance)
    return cross @ solved, V * np.sqrt(np.maximum(values, 0.0))
