"""How far an update moved the distribution, in units in which its size means something.

| symbol | meaning | shape |
|---|---|---|
| Delta_m | Sigma^(-1/2) (m' - m) | (n,) |
| Delta_Sigma | Sigma^(-1/2) (Sigma' - Sigma) Sigma^(-1/2) / sqrt(2), Sigma = sigma^2 C | as C |

The squared length of both together is, to first order, twice the Kullback-Leibler divergence
between the two distributions.
"""

from __future__ import annotations

from noisewise._types import FloatArray
from noisewise.core.covariance import Covariance
from noisewise.core.strategy import State


def mean_movement(covariance: Covariance, before: State, after: State) -> FloatArray:
    """Delta_m."""
    return covariance.whiten(before.covariance, (after.mean - before.mean) / before.sigma)


def shape_movement(covariance: Covariance, before: State, after: State) -> FloatArray:
    """Delta_Sigma."""
    q = (after.sigma / before.sigma) ** 2
    return covariance.movement(before.covariance, after.covariance, q)
