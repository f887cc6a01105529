"""Every value observed for every candidate of a generation, and how much noise changes their ranks:
between two rankings of all of them, and of those few that were evaluated again.

| symbol | meaning | shape, range |
|---|---|---|
| k | number of candidates, in ask order | |
| values | nan: not observed (yet); +inf: the evaluation failed | (k, r) |
| r_a, r_b | 0-based ranks of the same k candidates under two draws of the noise | (k,) |
| P | sum |r_a - r_b| / k^2, the normalised Spearman footrule (Eq. (56)) | [0, 1/2] |
| K | fraction of discordant pairs (Kendall) | [0, 1] |
| M | fraction of candidates whose membership in the better mu differs | [0, 1] |
| r, r2 | rank of a candidate by its first value; that of its second value among the others | |
| q | 3 k |r2 - r| / (k^2 - 1) | |

Rankings that have nothing in common give P = 1/3 on average. q is 0 for equal values and k/(k + 1)
on average if ranks are pure noise.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from noisewise._data import data
from noisewise._types import BoolArray, FloatArray, IntArray

#: Values that differ by at most this many spacings of floating-point numbers agree: the last digits
#: of a vectorised objective may depend on what else is evaluated.
_SPACINGS = 8.0


@data
@dataclass(slots=True)
class Samples:
    """Observed values by candidate and repeat. The place of a value is fixed when it is asked
    for, so the order in which values arrive leaves no trace."""

    values: FloatArray
    #: Standard error the user gave with a value; nan where none was given. None: never given.
    errors: FloatArray | None = None
    #: Constraints measured with each value, (k, r, q), nan where none were. None: never given.
    limits: FloatArray | None = None

    def extend(self, slots: int) -> None:
        """Make room for ``slots`` evaluations per candidate."""
        if slots > self.values.shape[1]:
            self.values = _widened(self.values, slots)
            if self.errors is not None:
                self.errors = _widened(self.errors, slots)
            if self.limits is not None:
                parts = [_widened(one, slots) for one in np.moveaxis(self.limits, 2, 0)]
                self.limits = np.stack(parts, axis=2)

    def put(self, candidate: int, slot: int, value: float, se: float | None) -> None:
        """Store one value; a failure is stored as +inf."""
        self.values[candidate, slot] = value
        if se is not None:
            if self.errors is None:
                self.errors = np.full(self.values.shape, np.nan)
            self.errors[candidate, slot] = se

    def put_limits(self, candidate: int, slot: int, limits: FloatArray) -> None:
        """Store the constraints that were measured with a value."""
        if self.limits is None:
            self.limits = np.full((*self.values.shape, len(limits)), np.nan)
        self.limits[candidate, slot] = limits

    def rows(self, which: BoolArray) -> Samples:
        """Those of some candidates only."""
        errors, limits = self.errors, self.limits
        return Samples(
            self.values[which],
            None if errors is None else errors[which],
            None if limits is None else limits[which],
        )

    def join(self, later: Samples) -> Samples:
        """Those of these candidates, then those of the ``later`` ones."""
        slots = max(self.values.shape[1], later.values.shape[1])
        self.extend(slots)
        later.extend(slots)
        joined = Samples(np.concatenate((self.values, later.values)))
        if self.errors is not None or later.errors is not None:
            joined.errors = np.concatenate((self._errors(), later._errors()))
        known = self.limits if self.limits is not None else later.limits
        if known is not None:
            q = known.shape[2]
            joined.limits = np.concatenate((self._limits(q), later._limits(q)))
        return joined

    def beside(self, later: Samples) -> Samples:
        """Those of the same candidates: these, then the ``later`` ones."""
        values = np.hstack((self.values, later.values))
        if self.errors is None and later.errors is None:
            return Samples(values)
        return Samples(values, np.hstack((self._errors(), later._errors())))

    def _errors(self) -> FloatArray:
        return np.full(self.values.shape, np.nan) if self.errors is None else self.errors

    def _limits(self, q: int) -> FloatArray:
        return np.full((*self.values.shape, q), np.nan) if self.limits is None else self.limits

    @property
    def first(self) -> FloatArray:
        """The first value of each candidate."""
        return np.asarray(self.values[:, 0])

    @property
    def observed(self) -> BoolArray:
        """Which values are there and did not fail, (k, r)."""
        return np.isfinite(self.values)

    @property
    def counts(self) -> IntArray:
        """Number of successful evaluations of each candidate."""
        return np.asarray(self.observed.sum(axis=1), dtype=np.intp)

    def mean(self) -> FloatArray:
        """Mean of each candidate's successful values, weighted by their known standard errors
        where all have one; +inf where every evaluation failed."""
        if self.values.shape[1] == 1:
            return self.first
        if self.values.shape[1] == 2 and self.errors is None:  # many times faster
            out = _middle(self.values)
            if math.isfinite(np.add.reduce(out)):
                return out
        observed = self.observed
        weight = observed.astype(float)
        if self.errors is not None:
            known = (self.errors > 0.0) | ~observed
            rows = known.all(axis=1)
            errors = np.where(observed[rows], self.errors[rows], np.inf)
            smallest = errors.min(axis=1, keepdims=True)
            weight[rows] = (np.where(smallest < np.inf, smallest, 1.0) / errors) ** 2
        total = weight.sum(axis=1)
        sums = (np.where(observed, self.values, 0.0) * weight).sum(axis=1)
        return np.where(total > 0.0, sums / np.where(total > 0.0, total, 1.0), np.inf)

    def median(self) -> FloatArray:
        """Median of each candidate's successful values; +inf where every evaluation failed."""
        if self.values.shape[1] == 1:
            return self.first
        clean = np.where(self.observed, self.values, np.nan)
        if clean.shape[1] == 2:  # many times faster
            out = _middle(clean)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a row without any success
                out = np.nanmedian(clean, axis=1)
        out[np.isnan(out)] = np.inf
        return out

    def trimmed_mean(self) -> FloatArray:
        """Mean of each candidate's values without the lowest and the highest fifth."""
        out = np.full(len(self.values), np.inf)
        for i, row in enumerate(self.values):
            good = np.sort(row[np.isfinite(row)])
            drop = int(0.2 * len(good))
            if len(good):
                out[i] = good[drop : len(good) - drop].mean()
        return out


def agree(again: FloatArray, value: float | FloatArray) -> BoolArray:
    """Whether values are the same but for rounding; failures agree with failures.

    >>> agree(np.array([1e11, 1e11 + 0.01]), 1e11).tolist()
    [True, False]
    """
    size = np.maximum(np.abs(again), np.abs(value))
    with np.errstate(invalid="ignore"):
        close = np.abs(again - value) <= _SPACINGS * np.spacing(size)
    return np.asarray(close | (again == value))


def usual(row: FloatArray) -> float:
    """The most frequent of the finite values, the smallest where that is several; nan if there is
    none."""
    values, counts = np.unique(row[np.isfinite(row)], return_counts=True)
    return float(values[int(counts.argmax())]) if len(values) else np.nan


def _middle(pairs: FloatArray) -> FloatArray:
    """Mean of both columns, or the one that is not nan."""
    a, b = pairs[:, 0], pairs[:, 1]
    out: FloatArray = np.fmin(a, b)
    out += np.fmax(a, b)
    out *= 0.5
    return out


def _widened(values: FloatArray, slots: int) -> FloatArray:
    """``values`` with nan in further columns."""
    k, present = values.shape
    out = np.empty((k, slots))
    out[:, :present] = values
    out[:, present:] = np.nan
    return out


def evaluations(X: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A point and a value for every evaluation of candidates ``X``, first ones before second
    ones."""
    slot, row = np.nonzero(~np.isnan(values.T))
    return X[row], values[row, slot]


def ranks(values: FloatArray) -> IntArray:
    """0-based ranks along the last axis, ties broken by index (Eq. (29))."""
    order = values.argsort(axis=-1, kind="stable")
    out = np.empty_like(order)
    if values.ndim == 1:
        out[order] = np.arange(len(order))
    else:
        np.put_along_axis(out, order, np.arange(values.shape[-1]), axis=-1)
    return out


def midranks(values: FloatArray) -> FloatArray:
    """For each value how many are smaller, and half of those that are equal, itself included."""
    _, at, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - 0.5 * count)[at.reshape(-1)])


# -- how much noise changes ranks
NOBODY: IntArray = np.empty(0, dtype=np.intp)


def footrule(r_a: IntArray, r_b: IntArray) -> float:
    """P."""
    return float(np.abs(r_a - r_b).sum()) / len(r_a) ** 2


def kendall(r_a: IntArray, r_b: IntArray) -> float:
    """K."""
    k = len(r_a)
    if k < 2:
        return 0.0
    order = np.sign(r_a[:, None] - r_a) * np.sign(r_b[:, None] - r_b)
    return float((order < 0).sum()) / (k * (k - 1))


def top_mu(r_a: IntArray, r_b: IntArray, mu: int) -> float:
    """M."""
    return float(((r_a < mu) != (r_b < mu)).mean())


def displacement(samples: Samples, common: bool = False) -> tuple[float, int]:
    """P estimated from the candidates that were evaluated again, and how many these are: how far
    each would move, as a fraction of the population, if its second value took the place of its
    first. nan and 0 if no candidate has two values. With ``common``, first values share a seed
    and second values another one: only values of one seed are compared."""
    values, k = samples.values, len(samples.values)
    if values.shape[1] < 2:
        return math.nan, 0
    # Lists: most rounds have few candidates, and fewer that were evaluated again.
    pairs = [(a, b) for a, b in values[:, :2].tolist() if math.isfinite(a + b)]
    n = len(pairs)
    if n == 0 or (common and n == 1):
        return math.nan, 0
    if n == k:
        return footrule(ranks(values[:, 0]), ranks(values[:, 1])), n
    if common:  # few move less far than many: rankings without anything in common give 1/3
        first, second = np.array(pairs).T
        return footrule(ranks(first), ranks(second)) * n * n / (n * n - 1), n
    ordered, moved = np.sort(values[:, 0]).tolist(), 0
    for old, new in pairs:
        # A tie of a candidate with its own old value is no displacement.
        moved += abs(bisect_left(ordered, new) - bisect_left(ordered, old) - (old < new))
    return moved / (n * k), n


def reevaluated(samples: Samples) -> IntArray:
    """Candidates whose first and second value are both there and did not fail."""
    values = samples.values
    if values.shape[1] < 2:
        return NOBODY
    return np.flatnonzero(np.isfinite(values[:, 0]) & np.isfinite(values[:, 1]))


def second_ranks(samples: Samples, who: IntArray) -> IntArray:
    """r2 of the candidates ``who``; ties by index, as for first values."""
    first = samples.first
    second = samples.values[who, 1, None]
    tied = (first == second) & (np.arange(len(first)) < who[:, None])
    below = ((first < second) | tied).sum(axis=1)
    return np.asarray(below - (first[who] < second[:, 0]), dtype=np.intp)


def moves(samples: Samples, who: IntArray) -> FloatArray:
    """q of the candidates ``who``."""
    k = len(samples.values)
    away = np.abs(second_ranks(samples, who) - ranks(samples.first)[who])
    return np.asarray(3.0 * k * away / (k * k - 1.0))


def reliability(q: float) -> float:
    """Correlation of the two values of a candidate, from the mean q: that of the Gaussian copula
    with this Spearman footrule, 2 cos(pi q / 3) - 1, not below zero.

    >>> [round(reliability(q), 2) for q in (0.0, 0.5, 1.0)]
    [1.0, 0.73, 0.0]
    """
    return max(0.0, 2.0 * math.cos(math.pi * min(max(q, 0.0), 1.0) / 3.0) - 1.0)


def merged_order(samples: Samples, who: IntArray) -> IntArray:
    """Candidates from best to worst, those evaluated again by the mean of their two ranks:
    unlike a mean of values it is not carried away by a single extreme one."""
    if len(who) == 0:
        return samples.first.argsort(kind="stable")
    place = ranks(samples.first).astype(float)
    second = second_ranks(samples, who)
    # Between two places, the side of the first value decides.
    nudge = 0.25 * np.sign(place[who] - second)
    place[who] = 0.5 * (place[who] + second) + nudge
    return place.argsort(kind="stable")
