"""Intervals that respect functions, and what it means that a published count replicates.

These are two questions. An interval of a win rate says what to expect of *functions like these*:
functions are the sample, and instances of one function are one draw from it (`clustered`). That a
published count replicates says that *the same experiment* gives it again, on the same functions:
they are not drawn anew, so what they have in common with each other is in both counts and cancels
in the difference (`replication`).

symbol   meaning                                            shape
values   one number per pair of runs                        (n,)
groups   the function or task that each pair belongs to     (n,)
S, N     sum and number of a group's values                 (groups,)
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import stats

from noisewise_bench.problem import FloatArray
from noisewise_bench.score import LEVEL, N_RESAMPLES, interval

#: Fewer groups than this say nothing about how groups differ.
MIN_GROUPS: Final = 5
#: Two shares of wins this close are called equal.
MARGIN: Final = 0.1


def clustered(
    values: FloatArray, groups: npt.NDArray[np.object_], *, plain: bool = True, seed: int = 0
) -> tuple[float, float, float]:
    """Mean of ``values`` and its 95 % percentile interval from resampled groups.

    From fewer than `MIN_GROUPS` groups the interval is that of resampled values, or nan if not
    ``plain``.
    """
    names, member = np.unique(groups.astype(str), return_inverse=True)
    if len(names) < MIN_GROUPS:
        if plain:
            return interval(values, np.mean)
        return (float(values.mean()) if len(values) else np.nan), np.nan, np.nan
    S = np.bincount(member, weights=values)
    N = np.bincount(member).astype(float)
    rng = np.random.default_rng(seed)
    draws: Any = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), N_RESAMPLES)
    low, high = np.quantile((draws @ S) / (draws @ N), (0.5 - LEVEL / 2, 0.5 + LEVEL / 2))
    return float(values.mean()), float(low), float(high)


def replication(wins: int, losses: int, published: tuple[int, int]) -> str:
    """``equivalent``, ``differs`` or ``open``: two shares of wins among decided pairs; ``-`` where
    one of them has no decided pair.

    Equivalent if the 90 % interval of their difference lies within `MARGIN` of zero (two
    one-sided tests at 5 %), else different if the 95 % interval leaves out zero.

    The one rule for every page. Both counts are on the same functions (or of the same task), so a
    design effect of functions has no place in it. Given the functions, pairs are independent (every
    run has noise and samples of its own), and the variance of a count, sum of p_f (1 - p_f), is at
    most the binomial one that is used here: functions that differ make the rule cautious, not bold.
    """
    n, m = wins + losses, sum(published)
    if not n or not m:
        return "-"
    a, b = (wins + 0.5) / (n + 1), (published[0] + 0.5) / (m + 1)  # half a pair to each side
    error = float(np.sqrt(a * (1 - a) / n + b * (1 - b) / m))
    gap = wins / n - published[0] / m
    if abs(gap) + stats.norm.ppf(0.95) * error <= MARGIN:
        return "equivalent"
    return "differs" if abs(gap) > stats.norm.ppf(0.975) * error else "open"
