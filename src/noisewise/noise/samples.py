"""Every value observed for every candidate of a generation.

| symbol | meaning | shape |
|---|---|---|
| k | number of candidates, in ask order | |
| r | largest number of evaluations of one candidate | |
| values | nan: not observed (yet); +inf: the evaluation failed | (k, r) |
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from noisewise._data import data
from noisewise._types import BoolArray, FloatArray, IntArray


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
        values = np.concatenate((self.values, later.values))
        joined = Samples(values)
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
        out: FloatArray = self.values[:, 0]
        return out

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
        if self.values.shape[1] == 2:  # many times faster than the general case
            out = _middle(self.values)
            if math.isfinite(np.add.reduce(out)):
                return out
        clean = np.where(self.observed, self.values, np.nan)
        if clean.shape[1] == 2:
            out = _middle(clean)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a row without any success
                out = np.nanmedian(clean, axis=1)
        out[np.isnan(out)] = np.inf
        return out

    def trimmed_mean(self, cut: float = 0.2) -> FloatArray:
        """Mean of each candidate's values without the ``cut`` lowest and highest fraction."""
        out = np.full(len(self.values), np.inf)
        for i, row in enumerate(self.values):
            good = np.sort(row[np.isfinite(row)])
            drop = int(cut * len(good))
            if len(good):
                out[i] = good[drop : len(good) - drop].mean()
        return out


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


def ranks(values: FloatArray) -> IntArray:
    """0-based ranks along the last axis, ties broken by index (Eq. rank_def)."""
    order = values.argsort(axis=-1, kind="stable")
    out = np.empty_like(order)
    if values.ndim == 1:
        out[order] = np.arange(len(order))
    else:
        np.put_along_axis(out, order, np.arange(values.shape[-1]), axis=-1)
    return out
