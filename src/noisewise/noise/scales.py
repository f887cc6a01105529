"""Scale of the noise as a function of the value.

| symbol | meaning |
|---|---|
| c | centre: estimate of f at the candidate |
| eps | residual there |
| s(c) | scale: "constant": s0; "linear": s0 + s1 |c|; "variance": sqrt(v0 + v1 c^2) |
"""

from __future__ import annotations

import numpy as np

from noisewise._types import FloatArray

MODELS = ("constant", "linear", "variance")


def fit(model: str, centre: FloatArray, eps: FloatArray) -> tuple[float, float]:
    """The two coefficients, by least squares with both kept non-negative."""
    if model == "constant":
        return float(np.sqrt(np.mean(eps * eps))), 0.0
    if model == "linear":
        # E|eps| = s sqrt(2/pi) for Gaussian noise; the pool's shape takes up the rest.
        return _line(np.abs(centre), np.abs(eps))
    return _line(centre * centre, eps * eps)


def evaluate(model: str, coefficients: tuple[float, float], centre: FloatArray) -> FloatArray:
    """s at each centre, never zero."""
    a, b = coefficients
    if model == "constant":
        s = np.full(len(centre), a)
    elif model == "linear":
        s = a + b * np.abs(centre)
    else:
        s = np.sqrt(a + b * centre * centre)
    return np.asarray(np.maximum(s, np.finfo(float).tiny))


def _line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Non-negative intercept and slope of the least-squares line through (x, y >= 0)."""
    mx, my = float(x.mean()), float(y.mean())
    dx = x - mx
    spread = float(dx @ dx)
    slope = float(dx @ y) / spread if spread > 0.0 else 0.0
    intercept = my - slope * mx
    if slope < 0.0:
        return my, 0.0
    if intercept < 0.0:
        square = float(x @ x)
        return 0.0, float(x @ y) / square if square > 0.0 else 0.0
    return intercept, slope
