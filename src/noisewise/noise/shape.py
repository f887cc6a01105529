"""Shape of the noise law, from the values of many rounds: its skewness, and whether it has a mean.

| symbol | meaning |
|---|---|
| u | distance of a value from its group's median, in units of the median distance |
| low, high | log likelihood of Cauchy's law over Student's t3, given the values below, above |

A group is what was measured at once: the first values of a round, or the values of one point.
The landscape lengthens the upper tail of a round and skewed noise one of the tails; a law
without a mean is recognised by both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray

#: Groups that count: older ones fade.
_RECALL = 30.0
#: Values that a group needs, and that all groups need before they say something about tails.
_LEAST, _ENOUGH = 4, 60
#: The skewness of a skewed law's sample grows with its size; that of this many values is kept, and
#: what a larger group shows counts as at most this.
_TYPICAL, _SKEWED = 10, 1.5
#: Median of |t3|, and the logarithms of both densities at zero, the median being one.
_T3 = 0.7648923284
_T3_LOG = math.log(2.0 * _T3 * 2.0 / (math.pi * math.sqrt(3.0)))
_CAUCHY_LOG = math.log(2.0 / math.pi)
#: Far enough for any tail, and its square is finite.
_FAR = 1e100


@data
@dataclass(frozen=True)
class Shape:
    """Running evidence; ``groups`` and ``values`` count what is behind it."""

    low: float = 0.0
    high: float = 0.0
    skew: float = 0.0
    groups: float = 0.0
    values: float = 0.0

    @property
    def heavy(self) -> bool:
        """Whether both tails look like those of a law without a mean."""
        return self.values >= _ENOUGH and self.low > 0.0 and self.high > 0.0

    def add(self, values: FloatArray) -> Shape:
        """The evidence after a group of values; failures are left out."""
        good = values[np.isfinite(values)]
        if len(good) < _LEAST:
            return self
        u = good - np.median(good)
        size = float(np.median(np.abs(u)))
        if size == 0.0:
            return self
        u = np.clip(u / size, -_FAR, _FAR)
        keep = 1.0 - 1.0 / _RECALL
        groups = keep * self.groups + 1.0
        skew = skewness(u) * math.sqrt(max(1.0, _TYPICAL / len(good)))
        skew = min(max(skew, -_SKEWED), _SKEWED)
        return Shape(
            keep * self.low + _evidence(-u[u < 0.0]),
            keep * self.high + _evidence(u[u > 0.0]),
            self.skew + (skew - self.skew) / groups,
            groups,
            keep * self.values + len(good),
        )


def skewness(y: FloatArray) -> float:
    """Third moment of the values around their mean in units of the standard deviation (divisor
    n); zero if all are equal."""
    d = y - y.mean()
    size = float(np.abs(d).max())
    if size == 0.0:
        return 0.0
    d = d / size
    square = d * d
    return float(d @ square) / len(y) / math.pow(float(square.mean()), 1.5)


def _evidence(u: FloatArray) -> float:
    """Log likelihood ratio of the positive halves of the two laws, both with median one."""
    cauchy = _CAUCHY_LOG - np.log1p(u * u)
    student = _T3_LOG - 2.0 * np.log1p((_T3 * u) ** 2 / 3.0)
    return float((cauchy - student).sum())
