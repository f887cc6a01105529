"""Measured values as they are stored, and replicates merged for regression.

symbol  meaning                                                             shape
X       distinct points, one per row, unit coordinates                      (n, d)
y       measured values; nan: the evaluation failed                         (m,)
at      row of X at which each value was measured                           (m,)
var     known error variance of each value; 0 where it is not known         (m,)
z       transformed values                                                  (m,)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noisewise._data import data
from noisewise._types import BoolArray, FloatArray, IntArray


@data
@dataclass(frozen=True)
class Measurements:
    """All values measured so far, in order, failures included."""

    X: FloatArray
    y: FloatArray
    at: IntArray
    var: FloatArray

    @classmethod
    def empty(cls, dimension: int) -> Measurements:
        """No values yet."""
        none = np.zeros(0)
        return cls(np.zeros((0, dimension)), none, np.zeros(0, dtype=np.intp), none)

    def add(self, X: FloatArray, y: FloatArray, var: FloatArray | None = None) -> Measurements:
        """These and more: one value per row of ``X``; equal rows become replicates.
        Values that are not finite are kept as failures."""
        rows = {row.tobytes(): i for i, row in enumerate(self.X + 0.0)}
        fresh: list[FloatArray] = []
        at = []
        for x in np.atleast_2d(np.asarray(X, dtype=float)) + 0.0:  # -0.0 becomes 0.0
            key = x.tobytes()
            if key not in rows:
                rows[key] = len(self.X) + len(fresh)
                fresh.append(x)
            at.append(rows[key])
        y = np.asarray(y, dtype=float)
        known = np.zeros(len(y)) if var is None else np.asarray(var, dtype=float)
        return replace(
            self,
            X=np.vstack([self.X, *fresh]),
            y=np.concatenate([self.y, np.where(np.isfinite(y), y, np.nan)]),
            at=np.concatenate([self.at, np.asarray(at, dtype=np.intp)]),
            var=np.concatenate([self.var, np.where(np.isfinite(known), known, 0.0)]),
        )

    @property
    def ok(self) -> BoolArray:
        """Which values are measurements, not failures."""
        return np.isfinite(self.y)

    def newest(self, most: int) -> Measurements:
        """The measurements without the oldest values where there are too many."""
        if len(self.y) <= most:
            return self
        kept = slice(len(self.y) - most, None)
        rows, at = np.unique(self.at[kept], return_inverse=True)
        return Measurements(self.X[rows], self.y[kept], at.astype(np.intp), self.var[kept])

    def fits(self, n: int) -> bool:
        """Whether these can be measurements at points of ``n`` coordinates."""
        m = len(self.y)
        return (
            self.X.shape == (len(self.X), n)
            and bool(np.isfinite(self.X).all())
            and self.y.shape == self.at.shape == self.var.shape == (m,)
            and bool(((self.at >= 0) & (self.at < len(self.X))).all())
            and bool((self.var >= 0.0).all())
        )

    def near(self, x: FloatArray, lengths: FloatArray, most: int) -> Measurements:
        """The ``most`` points nearest to ``x``, distances in units of ``lengths``."""
        if len(self.X) <= most:
            return self
        far = np.sum(((self.X - x) / lengths) ** 2, axis=1)
        rows = np.sort(np.argsort(far, kind="stable")[:most])
        new = np.full(len(self.X), -1, dtype=np.intp)
        new[rows] = np.arange(most)
        kept = new[self.at] >= 0
        return Measurements(self.X[rows], self.y[kept], new[self.at[kept]], self.var[kept])


@dataclass(frozen=True)
class Merged:
    """Groups of replicates: values of the same point with the same known error variance.

    The mean of a group, the number of its values and the sum of squares about the mean are
    sufficient for the likelihood, so the regression has one row per group.
    """

    X: FloatArray
    mean: FloatArray
    count: FloatArray
    scatter: FloatArray
    known: FloatArray


def merge(X: FloatArray, z: FloatArray, at: IntArray, var: FloatArray) -> Merged:
    """The groups among the values ``z`` measured at rows ``at`` of ``X``."""
    if len(at) == len(set(at.tolist())):
        return Merged(X[at], z, np.ones(len(z)), np.zeros(len(z)), var)
    keys: dict[tuple[int, float], int] = {}
    pairs = list(zip(at.tolist(), var.tolist(), strict=True))
    group = np.array([keys.setdefault(key, len(keys)) for key in pairs])
    count = np.bincount(group).astype(float)
    mean = np.bincount(group, z) / count
    scatter = np.bincount(group, (z - mean[group]) ** 2).astype(float)
    rows = np.array([row for row, _ in keys])
    return Merged(X[rows], mean, count, scatter, np.array([v for _, v in keys]))
