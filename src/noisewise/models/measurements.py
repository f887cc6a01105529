"""Measured values as they are stored, and replicates merged for regression.

symbol  meaning                                                             shape
X       distinct points, one per row, unit coordinates                      (n, d)
y       measured values; nan: the evaluation failed                         (m,)
at      row of X at which each value was measured                           (m,)
var     known error variance of each value; 0 where it is not known         (m,)
seed    number of the seed of each value; equal ones share part of the noise (m,)
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
    #: None: no value shares its seed with another.
    seed: IntArray | None = None

    @classmethod
    def empty(cls, dimension: int) -> Measurements:
        """No values yet."""
        none = np.zeros(0)
        return cls(np.zeros((0, dimension)), none, np.zeros(0, dtype=np.intp), none)

    def add(
        self,
        X: FloatArray,
        y: FloatArray,
        var: FloatArray | None = None,
        seed: IntArray | None = None,
    ) -> Measurements:
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
            seed=self._seeds(seed, len(y)),
        )

    def _seeds(self, more: IntArray | None, n: int) -> IntArray | None:
        """The seeds with those of ``n`` more values; unknown ones are negative and all differ."""
        if more is None and self.seed is None:
            return None
        m = len(self.y)
        first = np.arange(-1, -1 - m, -1) if self.seed is None else self.seed
        return np.concatenate([first, np.arange(-1 - m, -1 - m - n, -1) if more is None else more])

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
        seed = None if self.seed is None else self.seed[kept]
        return Measurements(self.X[rows], self.y[kept], at.astype(np.intp), self.var[kept], seed)

    def fits(self, n: int) -> bool:
        """Whether these can be measurements at points of ``n`` coordinates."""
        m = len(self.y)
        return (
            self.X.shape == (len(self.X), n)
            and bool(np.isfinite(self.X).all())
            and self.y.shape == self.at.shape == self.var.shape == (m,)
            and (self.seed is None or self.seed.shape == (m,))
            and bool(((self.at >= 0) & (self.at < len(self.X))).all())
            and bool((self.var >= 0.0).all())
        )

    def around(self, x: FloatArray, lengths: FloatArray, most: int) -> Measurements:
        """At most ``most`` points: half of them the nearest to ``x``, distances in units of
        ``lengths``, the others spread evenly over the rest, so that no region is forgotten and
        searched again."""
        if len(self.X) <= most:
            return self
        order = np.argsort(np.sum(((self.X - x) / lengths) ** 2, axis=1), kind="stable")
        near = most - most // 2
        far = np.linspace(near, len(order) - 1, most - near).round().astype(np.intp)
        rows = np.sort(order[np.concatenate((np.arange(near), far))])
        new = np.full(len(self.X), -1, dtype=np.intp)
        new[rows] = np.arange(most)
        kept = new[self.at] >= 0
        seed = None if self.seed is None else self.seed[kept]
        return Measurements(self.X[rows], self.y[kept], new[self.at[kept]], self.var[kept], seed)


@dataclass(frozen=True)
class Merged:
    """Groups of replicates: values of the same point with the same known error variance and, where
    values share seeds, the same seed.

    The mean of a group, the number of its values and the sum of squares about the mean are
    sufficient for the likelihood, so the regression has one row per group.
    """

    X: FloatArray
    mean: FloatArray
    count: FloatArray
    scatter: FloatArray
    known: FloatArray
    seed: IntArray | None = None


def merge(
    X: FloatArray, z: FloatArray, at: IntArray, var: FloatArray, seed: IntArray | None = None
) -> Merged:
    """The groups among the values ``z`` measured at rows ``at`` of ``X``."""
    if len(at) == len(set(at.tolist())):
        return Merged(X[at], z, np.ones(len(z)), np.zeros(len(z)), var, seed)
    keys: dict[tuple[int, float, int], int] = {}
    seeds = [0] * len(z) if seed is None else seed.tolist()
    triples = list(zip(at.tolist(), var.tolist(), seeds, strict=True))
    group = np.array([keys.setdefault(key, len(keys)) for key in triples])
    count = np.bincount(group).astype(float)
    mean = np.bincount(group, z) / count
    scatter = np.bincount(group, (z - mean[group]) ** 2).astype(float)
    rows, known, of = (np.array(part) for part in zip(*keys, strict=True))
    return Merged(X[rows], mean, count, scatter, known, None if seed is None else of)
