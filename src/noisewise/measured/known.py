"""Values whose standard errors are known: discounted before they are ranked, and what they say
about each candidate.

| symbol | meaning | shape |
|---|---|---|
| y_ij, e_ij | value j of candidate i and its known standard error | (k, r) |
| p_ij | 1 / e_ij^2, precision | (k, r) |
| y_i, s_i^2 | precision-weighted mean of candidate i; harmonic mean of its e_ij^2 | (k,) |
| m, t^2 | mean and variance of what candidates differ by beyond their errors | |
| b_i | (t^2 + min s^2) / (t^2 + s_i^2): what is left of the distance from m | (k,) |

With prior N(m, t^2), the expected value of a candidate is m + t^2 / (t^2 + s_i^2) (y_i - m). Only
the order counts, so the factor is divided by that of the most precise candidate: its values stay as
they are, and equal errors change nothing. t^2 is the estimate of DerSimonian and Laird (1986), in
which a value with a large error hardly counts.
"""

from __future__ import annotations

import numpy as np

from noisewise._types import FloatArray
from noisewise.measured.samples import Samples

#: Smaller errors, relative to the largest, count as this.
_LEAST = 1e-9


def discounted(samples: Samples) -> Samples:
    """Values to be ranked: m + b_i p_ij / mean_j(p_ij) (y_ij - m), so that the mean of a
    candidate's values is m + b_i (y_i - m). Where only some errors are known, the others count as
    their median. Failures stay; without known errors, or with equal ones, so does everything."""
    errors = _errors(samples)
    good = samples.observed
    if errors is None or bool((errors[good] == errors[good][0]).all()):
        return samples
    precision = np.where(good, 1.0 / errors**2, 0.0)
    count, total = good.sum(axis=1), precision.sum(axis=1)
    some = count > 0
    y = np.where(good, samples.values, 0.0)
    mean = (precision * y).sum(axis=1)[some] / total[some]
    s2 = count[some] / total[some]
    m, t2 = _prior(mean, s2)
    b = np.ones(len(count))
    b[some] = (t2 + s2.min()) / (t2 + s2)
    share = precision * count[:, None] / np.where(some, total, 1.0)[:, None]
    values = np.where(good, m + b[:, None] * share * (y - m), samples.values)
    return Samples(values)


def posterior(samples: Samples) -> tuple[FloatArray, FloatArray] | None:
    """Expected value of each candidate given its values, and its standard deviation, with the
    prior N(m, t^2); +inf and 0 where every evaluation failed. None without known errors."""
    errors = _errors(samples)
    if errors is None:
        return None
    good = samples.observed
    precision = np.where(good, 1.0 / errors**2, 0.0)
    total = precision.sum(axis=1)
    some = total > 0.0
    sums = (precision * np.where(good, samples.values, 0.0)).sum(axis=1)
    y, v = sums[some] / total[some], 1.0 / total[some]
    m, t2 = _prior(y, v)
    expected, sd = np.full(len(total), np.inf), np.zeros(len(total))
    expected[some] = m + t2 / (t2 + v) * (y - m)
    sd[some] = np.sqrt(t2 * v / (t2 + v))
    return expected, sd


def _errors(samples: Samples) -> FloatArray | None:
    """e_ij of all observed values, not zero; None if none is known or all are zero."""
    if samples.errors is None:
        return None
    good, given = samples.observed, samples.errors
    known = good & np.isfinite(given)
    if not known.any() or given[known].max() == 0.0:
        return None
    errors = np.where(known, given, np.median(given[known]))
    largest = float(errors[good].max())
    return np.maximum(errors / largest, _LEAST) * largest


def _prior(y: FloatArray, s2: FloatArray) -> tuple[float, float]:
    """m and t^2."""
    w = 1.0 / s2
    w = w / w.max()
    scale = float(s2.min())
    centre = float(w @ y) / float(w.sum())
    excess = float(w @ (y - centre) ** 2) / scale - (len(y) - 1)
    spread = float(w.sum()) - float(w @ w) / float(w.sum())
    t2 = scale * max(0.0, excess / spread) if spread > 1e-12 else 0.0
    w = 1.0 / (t2 + s2)
    return float(w @ y) / float(w.sum()), t2
