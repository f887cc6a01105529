"""Where evaluations succeed: a smooth estimate from those that did and those that failed.

| symbol | meaning | shape |
|---|---|---|
| s | share of successes at each measured point | (n,) |
| h | median distance of a measured point to its nearest neighbour | |
| w | exp(-|x - x_i|^2 / 2 h^2) | (m, n) |

The chance of a success at x is the mean of s weighted by w, and that of the whole run where
nothing was measured nearby. Distances are in unit coordinates: the model of the values knows
nothing of where they are missing.
"""

from __future__ import annotations

import numpy as np

from noisewise._types import BoolArray, FloatArray
from noisewise.models.measurements import Measurements

#: Weight of the whole run's share, and the smallest h.
_PRIOR, _LEAST = 0.1, 0.01


def chance(measured: Measurements, X: FloatArray) -> FloatArray:
    """Estimated probability of a success at each row of ``X``; 1 if nothing failed."""
    if measured.ok.all():
        return np.ones(len(X))
    s = _shares(measured)
    between = _squares(measured.X, measured.X)
    np.fill_diagonal(between, np.inf)
    h = max(_LEAST, float(np.sqrt(np.median(between.min(axis=1))))) if len(s) > 1 else 1.0
    w = np.exp(-0.5 * _squares(X, measured.X) / (h * h))
    share = (float(s.sum()) + 1.0) / (len(s) + 2.0)
    return np.asarray((w @ s + _PRIOR * share) / (w.sum(axis=1) + _PRIOR))


def likely(measured: Measurements, X: FloatArray) -> BoolArray:
    """Whether the measured point nearest to each row of ``X`` mostly succeeded."""
    if measured.ok.all():
        return np.ones(len(X), dtype=bool)
    nearest = _squares(X, measured.X).argmin(axis=1)
    return np.asarray(_shares(measured)[nearest] >= 0.5)


def _shares(measured: Measurements) -> FloatArray:
    count = np.bincount(measured.at, minlength=len(measured.X))
    good = np.bincount(measured.at, measured.ok.astype(float), minlength=len(measured.X))
    return np.asarray(good / np.maximum(count, 1))


def _squares(A: FloatArray, B: FloatArray) -> FloatArray:
    """Squared distances, (len(A), len(B))."""
    return np.asarray(((A[:, None] - B[None]) ** 2).sum(axis=2))
