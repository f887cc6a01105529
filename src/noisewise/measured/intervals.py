"""Point estimates with standard errors and 95 % intervals, one function per kind of values.

| symbol | meaning | shape |
|---|---|---|
| y | independent values at one point | (n,) |
| s | standard deviation of y, divisor n - 1 | |
| g | skewness of y: mean cube of the deviations over s0^3, where s0 has divisor n | |
| t, z | 97.5 % quantiles of Student's t with n - 1 degrees of freedom, of the normal | |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.measured.evidence import skewness

#: 97.5 % quantile of the standard normal.
Z = 1.959963984540054
#: Up to this many values the skewness correction has its full size.
_FULL = 20
#: Known errors are doubted where a spread this large has a smaller probability than this.
_DOUBT = 0.01


@data
@dataclass(frozen=True)
class Estimate:
    """The value at one point, in the units of the objective.

    >>> import numpy as np
    >>> from noisewise.measured.estimate import estimate
    >>> e = estimate(np.array([1.0, 2.0, 3.0, 2.0, 1.0, 3.0]))
    >>> e.kind, e.n, e.value, e.low < 2.0 < e.high
    ('mean', 6, 2.0, True)
    """

    #: Estimate of the expected value, of the median, or the exact value; nan if unknown.
    value: float = math.nan
    #: Standard error: zero if exact, nan if unknown.
    se: float = math.nan
    #: Ends of the 95 % interval; they need not lie symmetrically around the value.
    low: float = math.nan
    high: float = math.nan
    #: "mean", "median" (the noise seems to have no mean, or it was asked for), "typical" (without
    #: values that are far from all others), "exact" (no noise) or "unknown".
    kind: str = "unknown"
    #: Successful evaluations of the point, and failed ones.
    n: int = 0
    failures: int = 0
    #: Share of the values of the run that seem to be outliers; 0 unless the kind is "typical".
    set_aside: float = 0.0
    #: Mean of all successful evaluations of the point, those that were set aside included.
    mean_of_all: float = math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval, about the successful evaluations where some failed."""
        return self.low, self.high

    @property
    def failed(self) -> bool:
        """Whether every evaluation failed."""
        return self.failures > 0 and self.n == 0

    def negated(self) -> Estimate:
        """The estimate of the negative."""
        return replace(
            self,
            value=-self.value,
            low=-self.high,
            high=-self.low,
            mean_of_all=-self.mean_of_all,
        )

    @property
    def width(self) -> float:
        """Length of the interval."""
        return self.high - self.low


UNKNOWN = Estimate()


def exact(value: float) -> Estimate:
    """A value without noise."""
    return Estimate(value, 0.0, value, value)


@lru_cache(maxsize=256)
def t_quantile(degrees: int) -> float:
    """97.5 % quantile of Student's t."""
    from scipy.special import stdtrit  # takes long to import

    return float(stdtrit(degrees, 0.975))


def mean(y: FloatArray, skew: float | None = None) -> Estimate:
    """Mean of at least two values, with Student's interval lengthened on the side of the skew.

    Under skewed noise a small sample rarely holds the large values that carry the mean; its
    standard deviation is then too small exactly when its mean is too low. The expansion of the
    t statistic gives t g (t / 3) / sqrt(n) for the missing length, with the skewness of the
    noise. The skewness of a small sample is much smaller than that, hence a factor 3.7 up to
    twenty values, which falls to one as n grows. ``skew`` is the skewness of small samples seen
    elsewhere in the run; it counts a quarter up to twenty values, and less and less beyond. It
    lengthens the interval only: a landscape has a skewness of its own, which says nothing against
    that of the noise.
    """
    n = len(y)
    centre = float(y.mean())
    d = y - centre
    size = float(np.abs(d).max())
    if size == 0.0:
        return exact(centre)
    d = d / size
    se, t = size * math.sqrt(float(d @ d) / (n * (n - 1))), t_quantile(n - 1)
    small = min(1.0, _FULL / n)
    g = skewness(d) if n > 3 else 0.0  # Student's interval is long enough for fewer
    both = g + 0.25 * small * (skew - g) if skew is not None and n > 3 else g
    more = longer(n) * t / math.sqrt(n)
    low = centre - t * se * (1.0 + more * max(0.0, -g, -both))
    return Estimate(centre, se, low, centre + t * se * (1.0 + more * max(0.0, g, both)))


def longer(n: int) -> float:
    """By how much an interval is longer on one side, as a part of its half, for each unit of t
    times the skewness of the mean of ``n`` values."""
    return (1.0 + 2.7 * math.sqrt(min(1.0, _FULL / n))) / 3.0


def known(y: FloatArray, errors: FloatArray) -> Estimate:
    """Mean of values with known standard errors, weighted by their precision.

    Where the values scatter more than their errors explain, the interval is Student's with the
    scatter that was seen.
    """
    from scipy.special import chdtrc  # takes long to import

    n = len(y)
    if float(errors.min()) == 0.0:
        certain = y[errors == 0.0]
        return mean(certain) if len(certain) > 1 else exact(float(certain[0]))
    weight = (errors.min() / errors) ** 2
    total = float(weight.sum())
    value = float(weight @ y) / total
    se, q = float(errors.min()) / math.sqrt(total), Z
    excess = float((((y - value) / errors) ** 2).sum())
    if n > 1 and chdtrc(n - 1, excess) < _DOUBT:
        se, q = se * math.sqrt(excess / (n - 1)), t_quantile(n - 1)
    return Estimate(value, se, value - q * se, value + q * se)


def share(k: int, n: int) -> Estimate:
    """Probability of an outcome that was seen ``k`` times in ``n``: quantiles of the beta law
    halfway between those of Clopper and Pearson and those of Jeffreys. From four cases on they
    cover in 93 % or more for every probability between 5 and 95 %.

    The estimate is shrunk by half an outcome of either kind, so that its error is not zero
    where all outcomes were the same.
    """
    from scipy.special import betaincinv  # takes long to import

    p = (k + 0.5) / (n + 1.0)
    low = 0.0 if k == 0 else float(betaincinv(k + 0.25, n - k + 0.75, 0.025))
    high = 1.0 if k == n else float(betaincinv(k + 0.75, n - k + 0.25, 0.975))
    return Estimate(p, math.sqrt(p * (1.0 - p) / (n + 1.0)), low, high)


def between(y: FloatArray, low: float, high: float) -> Estimate:
    """Mean of values of which each is ``low`` or ``high``."""
    n, width = len(y), high - low
    p = share(int((y == high).sum()), n)
    return Estimate(low + width * p.value, width * p.se, low + width * p.low, low + width * p.high)


def same(value: float, n: int, below: float, above: float) -> Estimate:
    """Mean of a law with ties that gave ``value`` in all of ``n`` cases; ``below`` and ``above``
    are the nearest other values it can give (``value`` itself where there is none)."""
    p = share(0, n)
    low, high = value - (value - below) * p.high, value + (above - value) * p.high
    return Estimate(value, max(value - below, above - value) * p.se, low, high)


def median(y: FloatArray) -> Estimate:
    """Median with the interval between two order statistics; its level is at least 95 % from six
    values on and smaller below, where it is the whole range.

    The standard error is that of a normal law with the same interval.
    """
    ordered = np.sort(y)
    n = len(ordered)
    i = _order(n)
    low, high = float(ordered[i]), float(ordered[n - 1 - i])
    se = (high - low) / (2.0 * Z) if n > 1 else math.nan
    return Estimate(float(np.median(ordered)), se, low, high)


def _order(n: int) -> int:
    """Largest i for which the order statistics i and n - 1 - i (0-based) enclose the median in
    95 % of cases; 0 if there is none."""
    from scipy.special import bdtr  # takes long to import

    i = 0
    while i + 1 < n - 2 - i and bdtr(i + 1, n, 0.5) <= 0.025:
        i += 1
    return i
