"""CMA-ES as a bare loop over numpy arrays: no budget, no failures, no state that can be saved. What
a generation of the library costs beyond this is what all of that costs (`noisewise_bench.speed`).

| symbol | meaning | shape |
|---|---|---|
| m, sigma, C | mean, step size, covariance; a vector of variances if diagonal | (n,), (), |
| B, D | C = B D^2 B^T; only D if diagonal | |
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from noisewise._types import FloatArray
from noisewise.cma.covariance import diagonal_rates, full_rates
from noisewise.cma.weights import Log


def run(
    values: Callable[[FloatArray], FloatArray],
    m: FloatArray,
    generations: int,
    k: int,
    rng: np.random.Generator,
    diagonal: bool,
) -> FloatArray:
    """The mean after so many generations of ``k`` candidates, from N(m, I)."""
    n, sigma, w = len(m), 1.0, Log().weights(k)
    mu_eff = 1.0 / float(w @ w)
    r = (diagonal_rates if diagonal else full_rates)(n, mu_eff)
    C = np.ones(n) if diagonal else np.eye(n)
    B, D = np.eye(n), np.ones(n)
    p_sigma, p_c, unfilled, stale = np.zeros(n), np.zeros(n), 1.0, 0.0
    for _ in range(generations):
        Z = D * rng.standard_normal((k, n))
        X = m + sigma * (Z if diagonal else Z @ B.T)
        Y = (X[values(X).argsort(kind="stable")] - m) / sigma
        y = w @ Y
        m = m + sigma * y
        p_sigma = (1.0 - r.c_sigma) * p_sigma
        p_sigma += r.g_sigma * (y / D if diagonal else (y @ B / D) @ B.T)
        length = math.sqrt(p_sigma @ p_sigma)
        sigma *= math.exp(min(1.0, r.c_sigma / r.d_sigma * (length / r.chi_n - 1.0)))
        fade = (1.0 - r.c_sigma) ** 2
        unfilled *= fade
        moving = length < (1.4 + 2.0 / (n + 1.0)) * r.chi_n * math.sqrt(1.0 - unfilled * fade)
        p_c = (1.0 - r.c_c) * p_c + moving * r.g_c * y
        keep = 1.0 - r.c_1 - r.c_mu + (not moving) * r.c_1 * r.c_c * (2.0 - r.c_c)
        if diagonal:
            C = keep * C + r.c_1 * p_c * p_c + r.c_mu * (w @ (Y * Y))
            D = np.sqrt(C)
            continue
        C = keep * C + r.c_1 * np.outer(p_c, p_c) + (Y.T * (r.c_mu * w)) @ Y
        stale += r.c_1 + r.c_mu
        if stale > 0.5 / n:
            D2, B, _ = lapack.dsyevd(C)
            D, stale = np.sqrt(D2), 0.0
    return m
