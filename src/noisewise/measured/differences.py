"""By how much one of two points is better, from evaluations of both.

| symbol | meaning |
|---|---|
| a, b | values at the two points, or their means |
| d | differences of pairs of values that have something in common, such as a seed |
| s_a, s_b, n_a, n_b | standard deviations and numbers of values |
| l_a, u_a | ends of the 95 % interval of a |

Pairs are compared by the mean of d with Student's interval. Values that have nothing in common are
compared by Welch's interval, lengthened on the side of the skew as the interval of a mean is. Two
laws of the same shape have no skew in their difference. Outcomes such as won and lost, medians and
values with known errors have intervals that are not Student's; those of the two points are combined
(Newcombe 1998, Interval estimation for the difference between independent proportions):

    low = a - b - sqrt((a - l_a)^2 + (u_b - b)^2),  high = a - b + sqrt((u_a - a)^2 + (b - l_b)^2).

Paired outcomes of two kinds get two more pairs, half a one of each of the four kinds (Agresti and
Min 2005, Simple improved confidence intervals for comparing matched proportions).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from noisewise._types import FloatArray
from noisewise.measured import intervals
from noisewise.measured.estimate import estimate
from noisewise.measured.evidence import Evidence, skewness
from noisewise.measured.intervals import UNKNOWN, Estimate, Z

#: Values of the second point that must belong to pairs, as a part of all, for pairs to count.
_MOST_PAIRED = 0.8


class Compared(NamedTuple):
    """Two points: an estimate of each, and by how much the second one's value is smaller; nan where
    that is not known."""

    first: Estimate
    second: Estimate
    gain: Estimate
    #: Whether the difference is that of pairs.
    paired: bool = False


def compare(
    values: FloatArray,
    errors: FloatArray | None = None,
    evidence: Evidence | None = None,
    target: str = "mean",
    paired: bool = False,
) -> Compared:
    """What ``values``, (2, n), say about two points: a row for each, nan where there is none, +inf
    where it failed; ``paired``: those of a column have a seed in common. The other arguments are
    those of `estimate`.

    >>> import numpy as np
    >>> found = compare(np.array([[3.0, 4.0, 3.5, 4.5], [1.0, 2.0, 1.5, 2.5]]))
    >>> found.gain.value, found.gain.low > 0.0
    (2.0, True)
    """
    there = ~np.isnan(values)
    first, second = (
        estimate(
            values[i][there[i]], None if errors is None else errors[i][there[i]], evidence, target
        )
        for i in (0, 1)
    )
    a, b = (row[np.isfinite(row)] for row in values)
    if len(a) == 0 or len(b) == 0:
        return Compared(first, second, UNKNOWN)
    value = first.value - second.value
    if first.kind != "mean" or second.kind != "mean" or errors is not None:
        return Compared(first, second, combined(first, second))
    both = np.isfinite(values).all(axis=0)
    low, high = _outcomes(np.concatenate((a, b)), evidence)
    if paired and both.sum() >= max(2.0, _MOST_PAIRED * len(b)):
        d = values[0, both] - values[1, both]
        if not math.isnan(low):
            return Compared(first, second, _matched(d, high - low, value), True)
        if np.ptp(d) > 0.0:
            return Compared(first, second, intervals.mean(d), True)
    if not math.isnan(low) or min(np.ptp(a), np.ptp(b)) == 0.0:
        return Compared(first, second, combined(first, second))
    return Compared(first, second, welch(a, b))


def _outcomes(y: FloatArray, evidence: Evidence | None) -> tuple[float, float]:
    """The two outcomes that values can have; nan where they can have others."""
    levels = np.empty(0) if evidence is None else evidence.levels
    levels = np.union1d(levels, y) if len(levels) else levels
    return (float(levels[0]), float(levels[1])) if len(levels) == 2 else (math.nan, math.nan)


def welch(a: FloatArray, b: FloatArray) -> Estimate:
    """Difference of the means of independent values, at least two each and not all equal, with
    Welch's interval lengthened on the side of the skew, see `intervals.mean`."""
    va, vb = (float(y.var(ddof=1)) / len(y) for y in (a, b))
    se = math.sqrt(va + vb)
    part = va / (va + vb)
    degrees = 1.0 / (part**2 / (len(a) - 1) + (1.0 - part) ** 2 / (len(b) - 1))
    t, value = intervals.t_quantile(max(1, int(degrees))), float(a.mean() - b.mean())
    # Skewness of the difference of the means: third cumulants of independent parts add up.
    shares = ((a, part**1.5), (b, -((1.0 - part) ** 1.5)))
    skew = sum(w * skewness(y) / math.sqrt(len(y)) for y, w in shares if len(y) > 3)
    more = intervals.longer(min(len(a), len(b))) * t * skew
    low = value - t * se * (1.0 + max(0.0, -more))
    return Estimate(value, se, low, value + t * se * (1.0 + max(0.0, more)))


def _matched(d: FloatArray, width: float, value: float) -> Estimate:
    """Mean difference of pairs of outcomes that differ by ``width``; ``value`` is the estimate."""
    n = len(d) + 2.0
    more, less = float((d > 0.0).sum()) + 0.5, float((d < 0.0).sum()) + 0.5
    middle = (more - less) / n
    se = math.sqrt((more + less) / n - middle**2) / math.sqrt(n)
    return Estimate(value, width * se, width * (middle - Z * se), width * (middle + Z * se))


def combined(first: Estimate, second: Estimate) -> Estimate:
    """Difference of two estimates, from the interval of each."""
    value = first.value - second.value
    ends = np.array([first.low, first.high, second.low, second.high])
    if np.isnan(ends).any():
        return Estimate(value)
    below = math.hypot(first.value - first.low, second.high - second.value)
    above = math.hypot(first.high - first.value, second.value - second.low)
    return Estimate(value, math.hypot(first.se, second.se), value - below, value + above)
