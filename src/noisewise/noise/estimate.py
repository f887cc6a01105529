"""The value at one point and how sure it is, from evaluations of that point.

The values must not have chosen the point: the best of several looks better than it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.noise import intervals
from noisewise.noise.background import ROUNDING, Background
from noisewise.noise.intervals import UNKNOWN, Interval

#: Equal values at a point that show no noise there although other points have some.
_CALM = 4
Kind = Literal["mean", "median", "exact", "unknown"]


@data
@dataclass(frozen=True)
class Estimate:
    """The value at one point, in the units of the objective.

    >>> import numpy as np
    >>> e = estimate(np.array([1.0, 2.0, 3.0, 2.0, 1.0, 3.0]))
    >>> e.kind, e.n, e.value, e.low < 2.0 < e.high
    ('mean', 6, 2.0, True)
    """

    #: Estimate of the expected value, of the median, or the exact value; nan if unknown.
    value: float
    #: Standard error: zero if exact, nan if unknown.
    se: float
    #: Ends of the 95 % interval; they need not lie symmetrically around the value.
    low: float
    high: float
    #: "mean", "median" (the noise seems to have no mean), "exact" (no noise) or "unknown".
    kind: str = "unknown"
    #: Successful evaluations behind it, and failed ones at the same point.
    n: int = 0
    failures: int = 0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval, about the successful evaluations where some failed."""
        return self.low, self.high

    def negated(self) -> Estimate:
        """The estimate of the negative."""
        return replace(self, value=-self.value, low=-self.high, high=-self.low)

    @property
    def width(self) -> float:
        """Length of the interval."""
        return self.high - self.low


def estimate(
    values: FloatArray,
    errors: FloatArray | None = None,
    background: Background | None = None,
) -> Estimate:
    """What evaluations of one point say about the value there.

    ``values`` are in any order; nan and +inf count as failures. ``errors`` are their known
    standard errors, nan where unknown; they are used if all successes have one. ``background``
    is what the rest of the run says about the noise; without it equal values stay without an
    error, since they may be wins or losses.
    """
    values = np.asarray(values, dtype=float)
    success = np.isfinite(values)
    good = np.sort(values[success])
    n, failures = len(good), len(values) - len(good)
    if n == 0:
        return Estimate(*UNKNOWN, "unknown", 0, failures)
    given = None if errors is None else np.asarray(errors, dtype=float)[success]
    if given is not None and bool((given >= 0.0).all()):
        found = intervals.known(values[success], given)
        return Estimate(*found, "exact" if found.se == 0.0 else "mean", n, failures)
    found, kind = _unknown_errors(good, background or Background())
    return Estimate(*found, kind, n, failures)


def _unknown_errors(y: FloatArray, run: Background) -> tuple[Interval, Kind]:
    """Interval and kind for sorted finite values."""
    value, equal = float(y[0]), bool(np.isclose(y[0], y[-1], rtol=ROUNDING, atol=0.0))
    if equal and (run.deterministic or _calm(len(y), run)):
        return Interval(value, 0.0, value, value), "exact"
    levels = np.union1d(run.levels, y) if run.discrete else run.levels
    if len(levels) == 2:
        return intervals.between(y, float(levels[0]), float(levels[1])), "mean"
    if run.heavy:
        return intervals.median(y), "median"
    if not equal:
        return intervals.mean(y, run.skew), "mean"
    if len(levels) > 2:
        at = int(levels.searchsorted(value))
        below, above = float(levels[max(0, at - 1)]), float(levels[min(at + 1, len(levels) - 1)])
        return intervals.same(value, len(y), below, above), "mean"
    return Interval(value, math.nan, math.nan, math.nan), "mean"


def _calm(n: int, run: Background) -> bool:
    """Whether ``n`` equal values at one point mean that there is no noise there: values of the run
    are continuous, so they do not agree by chance. More are needed if others have differed."""
    return not run.discrete and run.n > n >= (2 if run.differed == 0 else _CALM)


def expected_width(found: Estimate, more: int) -> float:
    """Length of the interval to expect after ``more`` further evaluations of the point.

    >>> import numpy as np
    >>> e = estimate(np.random.default_rng(0).normal(size=25))
    >>> bool(0.45 < expected_width(e, 75) / e.width < 0.55)  # four times the evaluations
    True
    """
    n = found.n
    if found.kind != "mean" or n < 2 or math.isnan(found.width):
        return found.width * math.sqrt(n / (n + more)) if n else math.nan
    t = intervals.t_quantile(n + more - 1) / intervals.t_quantile(n - 1)
    return found.width * t * math.sqrt(n / (n + more))


def evaluations_for(found: Estimate, width: float) -> int | None:
    """Further evaluations of the point after which the interval should be at most ``width`` long;
    None if that cannot be said."""
    if not found.width >= 0.0 or not width > 0.0:
        return None
    low, high = 0, 1
    if found.width <= width:
        return 0
    while expected_width(found, high) > width:
        low, high = high, 2 * high
        if high > 2**60:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if expected_width(found, middle) > width else (low, middle)
    return high
