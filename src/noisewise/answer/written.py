"""Estimates as text, the same on every surface."""

from __future__ import annotations

import math
from collections.abc import Sequence

from noisewise._types import FloatArray


def estimated(
    value: float, interval: tuple[float, float], kind: str, n: int = 0, failed: int = 0
) -> str:
    """An estimate with its interval, the same on every surface; ``failed`` of ``n`` evaluations
    behind it failed.

    >>> estimated(0.123456, (0.1, 0.2), "mean")
    '0.12 (95 % interval 0.1 to 0.2)'
    >>> estimated(0.123456, (0.1, 0.2), "mean", 10, 5)
    '0.12 (95 % interval 0.1 to 0.2, of the 5 successes in 10)'
    """
    if kind == "exact":
        return f"{value:.6g} (exact: {n - failed} values of this point agree)"
    if kind == "typical" and interval[0] == interval[1]:
        return f"{value:.6g} (typical: values of this point agree but for outliers)"
    if math.isnan(interval[0]):
        return f"{value:.4g} (not measured)" if kind == "unknown" else f"{value:.6g}"
    what = {"median": "median, ", "typical": "without outliers, "}.get(kind, "")
    about = f", of the {n - failed} successes in {n}" if failed else ""
    said, low, high = rounded(value, interval)
    return f"{said} ({what}95 % interval {low} to {high}{about})"


def constrained(
    means: FloatArray, errors: FloatArray, chance: float, names: Sequence[str] = ()
) -> str:
    """Estimates of measured constraints, as they are by name or each at most 0, and the
    probability that all are met; ± is a standard error.

    >>> import numpy as np
    >>> constrained(np.array([-0.1]), np.array([0.02]), 1.0)
    '-0.1 ± 0.02 (at most 0), met with probability 1'
    """
    if not len(means):
        return "never measured"
    said = ", ".join(names or [f"{g:.3g} ± {s:.2g}" for g, s in zip(means, errors, strict=True)])
    if not names:
        said += " (each at most 0)" if len(means) > 1 else " (at most 0)"
    return f"{said}, met with probability {chance:.2g}"


#: Larger numbers are written with an exponent.
_PLAIN = 1e6


def rounded(value: float, interval: tuple[float, float]) -> tuple[str, str, str]:
    """Value and ends with as many digits as the length of the interval justifies.

    >>> rounded(1234.5, (700.0, 2000.0))
    ('1200', '700', '2000')
    """
    width = interval[1] - interval[0]
    said, low, high = (_digits(one, width) for one in (value, *interval))
    return said, low, high


def _digits(value: float, width: float) -> str:
    if not width > 0.0 or not math.isfinite(width):
        return f"{value:.6g}"
    digits = 2 + math.floor(math.log10(max(abs(value), width))) - math.floor(math.log10(width))
    said = f"{value:.{min(max(digits, 2), 12)}g}"
    return f"{float(said):.0f}" if "e+" in said and abs(value) < _PLAIN else said
