"""Normal scores: what remains of values when only their order counts.

| symbol | meaning | shape |
|---|---|---|
| v | score of each value: the normal quantile of its rank among all values | (k, r) |
| N | number of values | |
| s2 | variance of the scores of one candidate, pooled over candidates | |
"""

from __future__ import annotations

import numpy as np

from noisewise._types import FloatArray
from noisewise.noise.samples import Samples


def scores(samples: Samples) -> FloatArray:
    """v, nan where there is no value. Equal values share a score; failures share the worst."""
    from scipy.special import ndtri  # takes long to import

    values = samples.values
    there = ~np.isnan(values)
    _, group, sizes = np.unique(values[there], return_inverse=True, return_counts=True)
    middle = np.cumsum(sizes) - 0.5 * sizes
    out = np.full(values.shape, np.nan)
    out[there] = ndtri(middle / sizes.sum())[group]
    return out


def within(v: FloatArray) -> tuple[float, int]:
    """Sum of squares of the scores about their candidates' means, and its degrees of freedom."""
    there = ~np.isnan(v)
    counts = there.sum(axis=1)
    means = np.nansum(v, axis=1) / counts
    square = np.where(there, v - means[:, None], 0.0) ** 2
    return float(square.sum()), int((counts - 1).sum())
