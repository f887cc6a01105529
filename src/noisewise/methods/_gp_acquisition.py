"""What another evaluation at a point is worth, given a Gaussian process; descent on its mean."""

from __future__ import annotations

import numpy as np

from noisewise._types import BoolArray, FloatArray
from noisewise.models import kernel
from noisewise.models.gp import Posterior
from noisewise.models.model import normal_nodes


def knowledge(
    process: Posterior, C: FloatArray, best: FloatArray, allowed: BoolArray | None = None
) -> FloatArray:
    """Knowledge gradient: by how much one noisy measurement at each row of ``C`` is expected to
    lower the smallest posterior mean among ``best``, the rows of ``C`` with the smallest means,
    and the row itself. Rows of ``C`` that are not ``allowed`` do not count among the smallest.

    A measurement at c moves the mean at a by cov(a, c) / sqrt(var(c) + noise) times a standard
    normal number (Frazier, Powell and Dayanik 2009); its expectation is a quadrature.
    """
    mean_c, V_c = process.project(C)
    Z_c = process.scaled(C)
    prior = kernel.variance(Z_c, process.hyper)
    var = np.maximum(prior - np.einsum("ij,ij->j", V_c, V_c), 1e-12 * prior)
    among = mean_c if allowed is None else np.where(allowed, mean_c, np.inf)
    most = len(best) if allowed is None else min(len(best), int(allowed.sum()))
    low = np.argsort(among, kind="stable")[:most]
    mean_b, V_b = process.project(best)
    mean = np.concatenate([mean_b, mean_c[low]])
    V = np.hstack([V_b, V_c[:, low]])
    Z = np.vstack([process.scaled(best), Z_c[low]])
    sd = np.sqrt(var + process.noise(seed_known=True))
    move = (kernel.covariance(Z, Z_c, process.hyper) - V.T @ V_c) / sd
    own = var / sd
    value = np.full(len(C), float(mean.min()))
    for node, weight in zip(*normal_nodes(), strict=True):
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

    lengths, focus = process.lengths(x), process.focus
    low, high = np.maximum(low, x - lengths), np.minimum(high, x + lengths)
    box = low, high
    if focus is not None:
        process = process.flat()
        low, x, high = (focus.forward(one) for one in (low, x, high))
    bounds = list(zip(low, high, strict=True))
    found = minimize(
        mean, x, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}
    )
    lowest = np.clip(found.x, low, high)
    return np.asarray(lowest if focus is None else focus.within(lowest, *box))
