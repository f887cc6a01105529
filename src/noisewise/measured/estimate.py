"""The value at one point and how sure it is, from evaluations of that point.

The values must not have chosen the point: the best of several looks better than it is.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from noisewise._types import BoolArray, FloatArray
from noisewise.measured import intervals
from noisewise.measured.evidence import Evidence
from noisewise.measured.intervals import UNKNOWN, Estimate
from noisewise.measured.samples import agree, usual

#: Equal values at a point that show no noise there although other points have some.
_CALM = 4
#: A value is set aside if it is this many median distances from the median of the values at the
#: point. Cauchy's law has one in 1,600 out there.
_FAR = 1e3
#: At least five values are needed for that, and at most one in four is set aside.
_FEWEST, _PART = 5, 4

__all__ = ["Estimate", "estimate", "evaluations_for", "expected_width"]


def estimate(
    values: FloatArray,
    errors: FloatArray | None = None,
    background: Evidence | None = None,
    target: str = "mean",
) -> Estimate:
    """What evaluations of one point say about the value there.

    ``values`` are in any order; nan and +inf count as failures. ``errors`` are their known
    standard errors, nan where unknown; they are used if all successes have one. ``background``
    is what the rest of the run says about the noise; without it equal values stay without an
    error, since they may be wins or losses. ``target`` is what to estimate, "mean" or "median".
    """
    values = np.asarray(values, dtype=float)
    success = np.isfinite(values)
    good = np.sort(values[success])
    n, failures = len(good), len(values) - len(good)
    if n == 0:
        return replace(UNKNOWN, failures=failures)
    middle, run = float(good.mean()), background or Evidence()
    given = None if errors is None else np.asarray(errors, dtype=float)[success]
    if given is not None and bool((given >= 0.0).all()) and target == "mean":
        found = intervals.known(values[success], given)
        kind = "exact" if found.se == 0.0 else "mean"
        return replace(found, kind=kind, n=n, failures=failures, mean_of_all=middle)
    kept = good[~_far(good, run)]
    exact, typical = _exact(kept, run), len(kept) < n or run.outliers
    if target == "median" and not exact:
        found = intervals.median(good)
        return replace(found, kind="median", n=n, failures=failures, mean_of_all=middle)
    if exact and typical:
        found, kind = intervals.exact(float(kept[0])), "typical"
    elif len(kept) < n:
        found, kind = intervals.mean(kept, run.skew), "typical"
    else:
        found, kind = _unknown_errors(good, run)
    aside = max(run.outlier_share, (n - len(kept)) / n) if kind == "typical" else 0.0
    return replace(found, kind=kind, n=n, failures=failures, set_aside=aside, mean_of_all=middle)


def _far(y: FloatArray, run: Evidence) -> BoolArray:
    """Which of the sorted values ``y`` are outliers: a few that differ from a value that came
    several times to the last digit, or that are far from all others. Outcomes with few different
    values never are."""
    far = np.zeros(len(y), dtype=bool)
    if run.discrete or run.n == 0:
        return far
    same = agree(y, usual(y))
    if run.outliers and same.sum() > 1 and 2 * same.sum() > len(y):
        return ~same
    middle = float(np.median(y))
    away = np.abs(y - middle)
    size = float(np.median(away))
    beyond = away > _FAR * size
    few = len(y) >= _FEWEST and _PART * int(beyond.sum()) <= len(y)
    return beyond if few and size > 0.0 and not run.heavy else far


def _exact(y: FloatArray, run: Evidence) -> bool:
    """Whether the values show that there is no noise at the point: there are several, and all are
    the same to the last digit. More are needed where values at other points have differed."""
    if len(y) < 2 or not agree(y[-1:], float(y[0])).all():
        return False
    if run.deterministic or run.outliers:
        return True
    return not run.discrete and run.n > len(y) >= (2 if run.differed == 0 else _CALM)


def _unknown_errors(y: FloatArray, run: Evidence) -> tuple[Estimate, str]:
    """Estimate and kind for sorted finite values."""
    value, equal = float(y[0]), bool(agree(y[-1:], float(y[0])).all())
    if _exact(y, run):
        return intervals.exact(value), "exact"
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
    return Estimate(value), "mean"


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
