"""What another evaluation at a point is worth, given a Gaussian process.

symbol  meaning                                                             shape
mu, s   posterior mean and standard deviation of the noise-free value       (q,)
best    smallest posterior mean at the points measured or under way         scalar
u       (best - mu) / s                                                     (q,)
h(u)    phi(u) + u Phi(u), so that s h(u) is the expected improvement       (q,)
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from noisewise._types import FloatArray
from noisewise.models import kernel
from noisewise.models.gp import Posterior

_LOG_ROOT_2PI = 0.5 * float(np.log(2.0 * np.pi))
_ROOT_HALF_PI = float(np.sqrt(0.5 * np.pi))


def log_h(u: FloatArray) -> FloatArray:
    """log h(u), accurate where h underflows."""
    u = np.asarray(u, dtype=float)
    phi = np.exp(-0.5 * u * u - _LOG_ROOT_2PI)
    above = np.log(np.maximum(phi + u * ndtr(u), 1e-300))
    # h(u) = phi(u) (1 + u Phi(u) / phi(u)), and Phi/phi is a scaled erfc.
    v = np.minimum(u, -1.0)
    ratio = 1.0 + v * _ROOT_HALF_PI * erfcx(-v / np.sqrt(2.0))
    far = 1.0 / (v * v)
    ratio = np.where(v < -1e3, far, np.maximum(ratio, 1e-300))
    below = -0.5 * v * v - _LOG_ROOT_2PI + np.log(ratio)
    return np.asarray(np.where(u > -1.0, above, below))


def log_improvement(mu: FloatArray, s: FloatArray, best: float) -> FloatArray:
    """Log of the expected improvement of the noise-free value on ``best``."""
    return np.asarray(np.log(s) + log_h((best - mu) / s))


def log_improvement_slope(
    posterior: Posterior, x: FloatArray, best: float
) -> tuple[float, FloatArray]:
    """Log expected improvement at one point and its gradient."""
    mu, var, dmu, dvar = posterior.slopes(x)
    s = np.sqrt(var)
    ds = 0.5 * dvar / s
    u = (best - mu) / s
    value = float(log_h(np.array(u)))
    # dh/du = Phi(u)
    growth = float(np.exp(log_ndtr(u) - value))
    return float(np.log(s)) + value, ds / s + growth * (-dmu - u * ds) / s


#: Nodes and weights of E f(N) for a standard normal N.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def knowledge(process: Posterior, C: FloatArray, best: FloatArray) -> FloatArray:
    """Knowledge gradient: by how much one noisy measurement at each row of ``C`` is expected to
    lower the smallest posterior mean among ``best``, the rows of ``C`` with the smallest means,
    and the row itself.

    A measurement at c moves the mean at a by cov(a, c) / sqrt(var(c) + noise) times a standard
    normal number (Frazier, Powell and Dayanik 2009); its expectation is a quadrature.
    """
    mean_c, V_c = process.project(C)
    Z_c = kernel.scaled(C, process.hyper)
    prior = kernel.variance(Z_c, process.hyper)
    var = np.maximum(prior - np.einsum("ij,ij->j", V_c, V_c), 1e-12 * prior)
    low = np.argsort(mean_c, kind="stable")[: len(best)]
    mean_b, V_b = process.project(best)
    mean = np.concatenate([mean_b, mean_c[low]])
    V = np.hstack([V_b, V_c[:, low]])
    Z = np.vstack([kernel.scaled(best, process.hyper), Z_c[low]])
    sd = np.sqrt(var + process.noise())
    move = (kernel.covariance(Z, Z_c, process.hyper) - V.T @ V_c) / sd
    own = var / sd
    value = np.full(len(C), float(mean.min()))
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        after = np.min(mean[:, None] + node * move, axis=0)
        value -= weight * np.minimum(after, mean_c + node * own)
    return np.asarray(value)


def descend(
    process: Posterior, x: FloatArray, low: FloatArray, high: FloatArray, steps: int
) -> FloatArray:
    """A lower point of the posterior mean, by L-BFGS-B from ``x``; it stays in the box and
    within a length scale of ``x`` along every coordinate."""
    from scipy.optimize import minimize

    def mean(x: FloatArray) -> tuple[float, FloatArray]:
        return process.mean_slope(x)

    lengths = np.exp(process.hyper.lengths)
    low, high = np.maximum(low, x - lengths), np.minimum(high, x + lengths)
    bounds = list(zip(low, high, strict=True))
    found = minimize(
        mean, x, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}
    )
    return np.asarray(np.clip(found.x, low, high))
