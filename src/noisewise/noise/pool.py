"""The residual pool: standardised residuals of repeated evaluations, kept over generations.

| symbol | meaning | shape |
|---|---|---|
| eps | residual of a value about its candidate's median, corrected for few repeats | |
| s | scale of the noise at the candidate | |
| z | clip(eps / s, [-M, M]), what the pool holds | (N,) |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.noise.samples import Samples

_ROOT_2 = math.sqrt(2.0)


@data
@dataclass(slots=True)
class Pool:
    """A ring of the newest ``capacity`` residuals. Columns: z, |centre| at which it was seen,
    generation."""

    capacity: int
    rows: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    #: Residuals ever inserted; the next one goes to ``inserted % capacity``.
    inserted: int = 0

    @property
    def size(self) -> int:
        return min(self.inserted, self.capacity)

    @property
    def z(self) -> FloatArray:
        """The residuals, in no particular order."""
        out: FloatArray = self.rows[: self.size, 0]
        return out

    def insert(self, z: FloatArray, centre: FloatArray, generation: int) -> None:
        if len(self.rows) == 0:
            self.rows = np.zeros((self.capacity, 3))
        new = np.empty((len(z), 3))
        new[:, 0], new[:, 1], new[:, 2] = z, np.abs(centre), generation
        for place, part in places(self.inserted, self.capacity, len(z)):
            self.rows[place] = new[part]
        self.inserted += len(z)

    def by_age(self) -> FloatArray:
        """All rows, oldest first."""
        if self.inserted <= self.capacity:
            return self.rows[: self.inserted]
        turn = self.inserted % self.capacity
        return np.concatenate((self.rows[turn:], self.rows[:turn]))


@data
@dataclass(slots=True)
class Archive:
    """A ring of the newest ``capacity`` points (inner coordinates) and values."""

    capacity: int
    X: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    y: FloatArray = field(default_factory=lambda: np.empty(0))
    inserted: int = 0

    @property
    def size(self) -> int:
        return min(self.inserted, self.capacity)

    def insert(self, X: FloatArray, y: FloatArray) -> None:
        if len(self.y) == 0:
            self.X, self.y = np.zeros((self.capacity, X.shape[1])), np.zeros(self.capacity)
        for place, part in places(self.inserted, self.capacity, len(y)):
            self.X[place], self.y[place] = X[part], y[part]
        self.inserted += len(y)

    def points(self) -> tuple[FloatArray, FloatArray]:
        """Points and values, in no particular order."""
        return self.X[: self.size], self.y[: self.size]


def places(inserted: int, capacity: int, n: int) -> list[tuple[slice, slice]]:
    """Slices of a ring of ``capacity``, with the slices of ``n`` new entries that go there, after
    ``inserted`` earlier ones. Of more entries than the ring holds, the newest stay.

    >>> places(inserted=5, capacity=4, n=2)
    [(slice(1, 3, None), slice(0, 2, None))]
    >>> places(inserted=7, capacity=4, n=2)
    [(slice(3, 4, None), slice(0, 1, None)), (slice(0, 1, None), slice(1, 2, None))]
    """
    skip = max(0, n - capacity)
    start = (inserted + skip) % capacity
    end = start + n - skip
    if end <= capacity:
        return [(slice(start, end), slice(skip, n))]
    turn = skip + capacity - start
    return [(slice(start, capacity), slice(skip, turn)), (slice(0, end - capacity), slice(turn, n))]


def residuals(samples: Samples) -> tuple[IntArray, FloatArray, FloatArray]:
    """Candidates (one entry per residual), residuals about the candidate's median, and those
    medians, of all candidates with at least two values.

    n residuals about their own median vary less than the noise does; they are widened by
    sqrt(n / (n - 1)), which is exact for pairs.
    """
    values = samples.values
    if values.shape[1] < 2:
        return np.empty(0, dtype=np.intp), np.empty(0), np.empty(0)
    if values.shape[1] == 2:  # many times faster than the general case
        who: list[int] = []
        middles: list[float] = []
        found: list[float] = []
        for i, (a, b) in enumerate(values.tolist()):
            if math.isfinite(a + b):
                middle = 0.5 * (a + b)
                who += (i, i)
                middles += (middle, middle)
                found += ((a - middle) * _ROOT_2, (b - middle) * _ROOT_2)
        return np.array(who, dtype=np.intp), np.array(found), np.array(middles)
    counts = samples.counts
    again = np.flatnonzero(counts >= 2)
    block = values[again]
    good = np.isfinite(block)
    clean = np.where(good, block, np.nan)
    n = counts[again]
    medians = np.nanmedian(clean, axis=1) if len(again) else np.empty(0)
    eps = (clean - medians[:, None]) * np.sqrt(n / (n - 1.0))[:, None]
    return np.repeat(again, n), eps[good], np.repeat(medians, n)
