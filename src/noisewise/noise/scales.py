"""Scale of the noise as a function of the value, or of how far values are apart.

| symbol | meaning |
|---|---|
| x | centre: estimate of f at the candidate; for "spread", the spread of its generation's values |
| eps | residual there |
| s(x) | "constant": s0; "linear": s0 + s1 |x|; "variance": sqrt(v0 + v1 x^2); "spread": s1 x |

Of these only "constant" and "spread" do not change when a constant is added to f, and only
"spread" follows at once when values and noise shrink together.
"""

from __future__ import annotations

import math

import numpy as np

from noisewise._types import FloatArray

MODELS = ("constant", "linear", "variance", "spread")
#: Scales are never smaller than this.
LEAST = 1e-200


def fit(model: str, x: FloatArray, eps: FloatArray) -> tuple[float, float]:
    """The two coefficients, by least squares with both kept non-negative.

    All but "variance" fit E|eps|, which heavy tails disturb less than the variance; it is
    sqrt(2/pi) of the standard deviation for Gaussian noise, and the pool takes up the rest.
    """
    size = np.abs(eps)
    if model == "constant":
        return float(size.sum()) / len(size), 0.0
    if model == "spread":
        seen = x > 1e-100 * size  # a generation of equal values says nothing
        if not seen.all():
            size, x = size[seen], x[seen]
        return 0.0, float(np.add.reduce(size / x)) / max(1, len(x))
    if model == "linear":
        return _line(np.abs(x), size)
    return _line(x * x, eps * eps)


def evaluate(model: str, coefficients: tuple[float, float], x: FloatArray) -> FloatArray:
    """s at each x, never so small that a residual over it overflows."""
    a, b = coefficients
    if model in ("spread", "linear"):
        s = a + b * np.abs(x)
    elif model == "constant":
        s = np.full(len(x), a)
    else:
        s = np.sqrt(a + b * x * x)
    return np.asarray(np.maximum(s, LEAST))


def spread(values: FloatArray) -> float:
    """Mean distance of the finite ``values`` from their median."""
    # Lists: many times faster than arrays as short as a population.
    good: list[float] = values.tolist()
    if not math.isfinite(sum(good)):
        good = [v for v in good if math.isfinite(v)]
    if not good:
        return 0.0
    good.sort()
    middle = good[len(good) // 2]
    return sum([abs(v - middle) for v in good]) / len(good)


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
