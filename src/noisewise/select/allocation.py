"""One rule of ranking and selection: which option to measure next, and which to choose.

| symbol | meaning | shape |
|---|---|---|
| K | number of options; smaller means are better | |
| n | values of each option that are known | (..., K) |
| p | values of each option that are under way | (..., K) |
| m, SS | mean of these values, and the sum of their squared deviations from it | (..., K) |
| v | variance of one value of each option: (c s^2 + SS) / (c + n - 1), c = 8 | (..., K) |
| s^2 | pooled variance: sum of SS over sum of n - 1 | (...) |
| b | the option with the smallest mean; of equal ones the one that was measured most | (...) |
| g^2 | widened squared gap: (m - m_b)^2 + v / n + v_b / n_b | (..., K) |
| w | weight of each option: v / g^2; w_b = sqrt(v_b sum w^2 / v) | (..., K) |
| a, t^2 | mean and variance of what options differ by beyond their errors | (...) |
| e, q | expected value of an option given all values, and its standard deviation | (..., K) |

The next value goes to the option with the largest w / (n + p). Without the widening this is OCBA
(Chen, Lin, Yucesan and Chick 2000), which trusts its first means: an option that was unlucky at
first is hardly measured again, and two options with almost equal means take all of the budget.

All functions work on the last axis, so that many runs can be played at the same time.
"""

from __future__ import annotations

import numpy as np

from noisewise._types import BoolArray, FloatArray, IntArray

#: Values that the pooled variance counts for in the variance of an option (c).
_POOLED = 8.0
#: t^2 is at least this part of the mean squared error: means that differ by less than their errors
#: explain still say something, and the more of them are behind an option the more they say.
_DIFFER = 0.1
#: Points at which the chance to be the best is integrated, and how many standard deviations they
#: reach below the smallest and above the largest expected value.
_POINTS, _REACH = 400, 6.0


def variances(
    n: IntArray, m: FloatArray, squares: FloatArray, lost: int = 0, same: bool = False
) -> FloatArray:
    """v. Before any option has two values, the means of options stand for values: all they differ
    by may be noise. ``lost``: further degrees of freedom that ``squares`` do not have. ``same``: it
    is that of all options, as with wins and losses, where good options would seem to have none."""
    seen = n > 0
    degrees = np.maximum(n - 1, 0).sum(axis=-1, keepdims=True) - lost
    count = np.maximum(seen.sum(axis=-1, keepdims=True), 1)
    away = np.where(seen, m, 0.0)
    away = np.where(seen, away - away.sum(axis=-1, keepdims=True) / count, 0.0)
    apart = (away * away).sum(axis=-1, keepdims=True) / np.maximum(count - 1, 1)
    within = squares.sum(axis=-1, keepdims=True) / np.maximum(degrees, 1.0)
    pooled = np.where(degrees > 0, within, apart)
    if same:
        return np.asarray(np.broadcast_to(pooled, squares.shape))
    return np.asarray((_POOLED * pooled + squares) / (_POOLED + np.maximum(n - 1, 0)))


def weights(n: IntArray, m: FloatArray, v: FloatArray) -> FloatArray:
    """w, 0 for options without a value; all are 0 where nothing says that there is noise."""
    seen = n > 0
    count = np.maximum(n, 1)
    low = np.where(seen, m, np.inf).min(axis=-1, keepdims=True)
    b = np.where(seen & (m <= low), n, 0).argmax(axis=-1)[..., None]
    error = v / count
    gap = np.where(seen, m, 0.0) - np.where(np.isfinite(low), low, 0.0)
    squared = gap * gap + error + np.take_along_axis(error, b, axis=-1)
    noisy = seen & (squared > 0.0) & (v > 0.0)
    w = np.where(noisy, v / np.where(noisy, squared, 1.0), 0.0)
    np.put_along_axis(w, b, 0.0, axis=-1)
    total = (w * w / np.where(noisy, v, 1.0)).sum(axis=-1, keepdims=True)
    np.put_along_axis(w, b, np.sqrt(np.take_along_axis(v, b, axis=-1) * total), axis=-1)
    return w


def urgency(n: IntArray, p: IntArray, w: FloatArray, among: BoolArray) -> FloatArray:
    """w / (n + p): the option with the largest one is measured next. Where nothing says that there
    is noise, those with the fewest values; -inf for options that are not ``among`` those that may
    be measured."""
    count = n + p
    ratio = w / np.maximum(count, 1)
    some = np.where(among, ratio, 0.0).max(axis=-1, keepdims=True) > 0.0
    return np.where(among, np.where(some, ratio, -count), -np.inf)


def shrunk(n: IntArray, m: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """e and q, with the prior N(a, t^2) and t^2 of DerSimonian and Laird (1986); +inf and 0 for
    options without a value. The smallest of the means is too good to be true, the smallest e is
    not."""
    seen = n > 0
    error = np.where(seen, v / np.maximum(n, 1), 0.0)
    count = np.maximum(seen.sum(axis=-1, keepdims=True), 1)
    usual = error.sum(axis=-1, keepdims=True) / count
    noisy = usual > 0.0
    # In units of the usual error: a variance may be tiny, and its inverse would overflow.
    unit = np.where(noisy, usual, 1.0)
    error = np.where(seen, np.maximum(error / unit, 1e-12), 1.0)
    y = np.where(seen, m, 0.0) / np.sqrt(unit)
    w = seen / error
    total = w.sum(axis=-1, keepdims=True)
    a = (w * y).sum(axis=-1, keepdims=True) / np.maximum(total, 1e-300)
    excess = (w * (y - a) ** 2).sum(axis=-1, keepdims=True) - (count - 1)
    spread = total - (w * w).sum(axis=-1, keepdims=True) / np.maximum(total, 1e-300)
    t2 = np.where(spread > 0.0, excess / np.where(spread > 0.0, spread, 1.0), 0.0)
    t2 = np.maximum(t2, _DIFFER)
    w = seen / (t2 + error)
    a = (w * y).sum(axis=-1, keepdims=True) / np.maximum(w.sum(axis=-1, keepdims=True), 1e-300)
    e = (a + t2 / (t2 + error) * (y - a)) * np.sqrt(unit)
    q = np.sqrt(t2 * error / (t2 + error) * unit)
    e = np.where(seen, np.where(noisy, e, m), np.inf)
    return e, np.where(seen & noisy, q, 0.0)


def choice(n: IntArray, e: FloatArray, among: BoolArray) -> IntArray:
    """The option with the smallest expected value; of equal ones that with the most values."""
    low = np.where(among, e, np.inf).min(axis=-1, keepdims=True)
    return np.asarray(np.where(among & (e <= low), n, -1).argmax(axis=-1))


def chances(e: FloatArray, q: FloatArray) -> FloatArray:
    """The chance of each option to be the best, (K,): the integral over x of the density of its
    value at x times the chances that all others are above x. Options without a value have none."""
    from scipy.special import log_ndtr  # takes long to import

    seen = np.isfinite(e)
    out = np.zeros(len(e))
    if not seen.any():
        return out
    low = float(e[seen].min())
    if not (q[seen] > 0.0).all():  # no noise was seen
        best = seen & (e == low)
        return np.where(best, 1.0 / best.sum(), 0.0)
    near = seen & (e - low <= 2.0 * _REACH * np.maximum(q, q[seen & (e == low)].max()))
    e, q = e[near] - low, q[near]
    x = np.linspace((e - _REACH * q).min(), (e + _REACH * q).min(), _POINTS * 5)
    z = (x - e[:, None]) / q[:, None]
    above = log_ndtr(-z)
    density = -0.5 * z * z - np.log(q)[:, None]
    parts = np.exp(density + above.sum(axis=0) - above).sum(axis=1)
    out[near] = parts / parts.sum()
    return out


def first_of_ties(n: IntArray, m: FloatArray, most: int) -> BoolArray:
    """Which options are among the ``most`` that were measured most of those with the same mean.
    Where values are wins and losses many options may have won every time: to measure all of them a
    little tells nothing, to measure a few of them more and more does."""
    order = np.lexsort((-n, m), axis=-1)
    sorted_m = np.take_along_axis(m, order, axis=-1)
    place = np.broadcast_to(np.arange(m.shape[-1]), m.shape)
    new = np.ones(m.shape, dtype=bool)
    new[..., 1:] = sorted_m[..., 1:] != sorted_m[..., :-1]
    first = np.maximum.accumulate(np.where(new, place, 0), axis=-1)
    out = np.empty(m.shape, dtype=bool)
    np.put_along_axis(out, order, place - first < most, axis=-1)
    return out


def still_in(options: int, left: float) -> int:
    """Options with equal means that are measured on when this part of the evaluations after the
    first look is left: all of them at first, two in the end."""
    return max(2, int(np.ceil(options ** max(0.0, left) ** 2)))
