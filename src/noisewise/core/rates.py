"""Learning rates from the variance-effective selection mass.

| symbol | meaning |
|---|---|
| n | dimension |
| mu_eff | 1 / sum of squared positive weights |
| c_sigma, d_sigma | cumulation and damping of the step size |
| c_c | cumulation of the rank-one path |
| c_1, c_mu | learning rates of the rank-one and rank-mu update |
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple


class Rates(NamedTuple):
    """Learning rates of one update."""

    c_sigma: float
    d_sigma: float
    c_c: float
    c_1: float
    c_mu: float
    #: Gains of a new step in p_sigma and p_c, and E|N(0, I)|.
    g_sigma: float
    g_c: float
    chi_n: float


@lru_cache(maxsize=256)
def full_rates(n: int, mu_eff: float) -> Rates:
    """Rates for a full covariance matrix (Hansen's tutorial, eq. 55-58)."""
    return with_paths(n, mu_eff, *_full(n, mu_eff))


def _full(n: int, mu_eff: float) -> tuple[float, float]:
    """c_1 and c_mu of a full matrix."""
    c_1 = 2.0 / ((n + 1.3) ** 2 + mu_eff)
    c_mu = min(1.0 - c_1 - 1e-8, 2.0 * (mu_eff - 2.0 + 1.0 / mu_eff) / ((n + 2.0) ** 2 + mu_eff))
    return c_1, c_mu


@lru_cache(maxsize=256)
def diagonal_rates(n: int, mu_eff: float) -> Rates:
    """Rates for a diagonal covariance: n parameters instead of n(n+1)/2 are learnt (n+2)/3
    times as fast (Ros and Hansen 2008)."""
    full_1, full_mu = _full(n, mu_eff)
    faster = (n + 2.0) / 3.0
    c_1 = min(0.5, faster * full_1)
    c_mu = min(1.0 - c_1 - 1e-8, faster * full_mu)
    return with_paths(n, mu_eff, c_1, c_mu)


def with_paths(n: int, mu_eff: float, c_1: float, c_mu: float) -> Rates:
    """These rates of the covariance with the usual ones of the paths."""
    c_sigma = (mu_eff + 2.0) / (n + mu_eff + 5.0)
    d_sigma = 1.0 + 2.0 * max(0.0, math.sqrt((mu_eff - 1.0) / (n + 1.0)) - 1.0) + c_sigma
    c_c = (4.0 + mu_eff / n) / (n + 4.0 + 2.0 * mu_eff / n)
    return Rates(
        c_sigma,
        d_sigma,
        c_c,
        c_1,
        c_mu,
        g_sigma=math.sqrt(c_sigma * (2.0 - c_sigma) * mu_eff),
        g_c=math.sqrt(c_c * (2.0 - c_c) * mu_eff),
        chi_n=math.sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)),
    )
