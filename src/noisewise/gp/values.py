"""The values that a model learns from: as they were measured, replicates merged, transformed.

    symbol  meaning                                                             shape
    X       distinct points, one per row, unit coordinates                      (n, d)
    y       measured values; nan: the evaluation failed                         (m,)
    aside   which values are outliers, see `outliers`                           (m,)
    at      row of X at which each value was measured                           (m,)
    var     known error variance of each value; 0 where it is not known         (m,)
    seed    number of the seed of each value; equal ones share part of the noise (m,)
    c, b    centre and width of the transformation                              scalars
    g       g(y) = b asinh((y - c) / b); identity as b grows                    (m,)
    a, t    centre and scale that standardise g(y)                              scalars
    z       transformed values (g(y) - a) / t                                   (m,)

The transformation is the one of a few that makes the values most predictable. Around the smallest
value (c = min y) g is the logarithm of the excess over a floor that stays a width b below the
smallest value: noise proportional to the excess becomes level. Around the median it shortens both
tails. Widths are quantiles of |y - c|, so they follow the values as these shrink towards the
optimum and never fall below the distance between neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from noisewise._data import data
from noisewise._types import BoolArray, FloatArray, IntArray

#: The largest share of the values that can be outliers: more of them are a part of the landscape.
MOST_OUTLIERS = 0.2
#: A value is huge, or hugely negative, if it is farther from the median than so many times the
#: quantile at a distance of `MOST_OUTLIERS` from that end.
FAR = 4.0


@data
@dataclass(frozen=True, eq=False)
class Measurements:
    """All values measured so far, in order, failures included."""

    X: FloatArray
    y: FloatArray
    at: IntArray
    var: FloatArray
    #: None: no value shares its seed with another.
    seed: IntArray | None = None
    #: None: no value is set aside.
    aside: BoolArray | None = None

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
            aside=None if self.aside is None else np.append(self.aside, np.zeros(len(y), bool)),
        )

    def _seeds(self, more: IntArray | None, n: int) -> IntArray | None:
        """The seeds with those of ``n`` more values; unknown ones are negative and all differ."""
        if more is None and self.seed is None:
            return None
        m = len(self.y)
        first = np.arange(-1, -1 - m, -1) if self.seed is None else self.seed
        return np.concatenate([first, np.arange(-1 - m, -1 - m - n, -1) if more is None else more])

    @cached_property
    def ok(self) -> BoolArray:
        """Which values the model learns from: neither failures nor set aside."""
        good = np.isfinite(self.y)
        return good if self.aside is None else good & ~self.aside

    @cached_property
    def huge(self) -> BoolArray:
        """Which values are far outside the range of most."""
        half = 0.5 * self.y  # values of any magnitude do not overflow
        good = half[np.isfinite(half)]
        if len(good) == 0:
            return np.zeros(len(half), dtype=bool)
        low, middle, high = np.quantile(good, (MOST_OUTLIERS, 0.5, 1.0 - MOST_OUTLIERS))
        with np.errstate(over="ignore"):
            above, below = middle + FAR * (high - middle), middle - FAR * (middle - low)
        return np.asarray((half > above) | (half < below))

    def part(self, chosen: slice | IntArray | BoolArray) -> Measurements:
        """Some of the values, and the points at which these were measured."""
        rows, at = np.unique(self.at[chosen], return_inverse=True)
        seed = None if self.seed is None else self.seed[chosen]
        aside = None if self.aside is None else self.aside[chosen]
        at = at.reshape(-1).astype(np.intp)
        return Measurements(self.X[rows], self.y[chosen], at, self.var[chosen], seed, aside)

    def newest(self, most: int) -> Measurements:
        """The measurements without the oldest values where there are too many."""
        if len(self.y) <= most:
            return self
        return self.part(slice(len(self.y) - most, None))

    def nearby(self, x: FloatArray, lengths: FloatArray, most: int, choices: int = 0) -> BoolArray:
        """Which values are those of at most ``most`` points: half of them the nearest to ``x``,
        distances in units of ``lengths``, the others spread evenly over the rest, so that no
        region is forgotten and searched again. The last ``choices`` columns are equal or not."""
        if len(self.X) <= most:
            return np.ones(len(self.y), dtype=bool)
        away = (self.X - x) / lengths
        if choices:
            away[:, -choices:] = away[:, -choices:] != 0.0
        order = np.argsort(np.sum(away**2, axis=1), kind="stable")
        near = most - most // 2
        far = np.linspace(near, len(order) - 1, most - near).round().astype(np.intp)
        chosen = np.zeros(len(self.X), dtype=bool)
        chosen[order[np.concatenate((np.arange(near), far))]] = True
        return np.asarray(chosen[self.at])


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


# -- transformations of the values
#: Transformations in order of strength: name -> (quantile of the centre, quantile of the width),
#: and the log density per value that the transformation must gain before it is preferred.
FAMILY: dict[str, tuple[float, float]] = {
    "log-1": (0.0, 0.9),
    "log-2": (0.0, 0.5),
    "log-3": (0.0, 0.2),
    "tails-1": (0.5, 0.9),
    "tails-2": (0.5, 0.5),
}


@dataclass(frozen=True)
class Warp:
    """One transformation with its constants. ``width`` is infinite for the identity; ``knots``
    and ``scores`` are empty except for ranks."""

    name: str
    shift: float
    scale: float
    centre: float
    width: float
    mean: float
    sd: float
    knots: FloatArray
    scores: FloatArray

    @classmethod
    def of(cls, name: str, y: FloatArray) -> Warp:
        """The transformation of this name for finite values ``y``."""
        from scipy.special import ndtri  # takes long to import

        shift, scale = _robust(y)
        u = _divided(y, shift, scale)
        centre, width, none = 0.0, np.inf, np.zeros(0)
        knots, scores = none, none
        if name in FAMILY:
            q_centre, q_width = FAMILY[name]
            centre = _quantile(np.sort(u), q_centre)
            width = _width(np.abs(u - centre), q_width)
        elif name == "ranks":
            knots, counts = np.unique(u, return_counts=True)
            middle = np.cumsum(counts) - 0.5 * counts
            scores = np.asarray(ndtri(middle / len(u)))
        raw = cls(name, shift, scale, centre, width, 0.0, 1.0, knots, scores)
        z = raw.forward(y)
        sd = float(z.std())
        return cls(
            name, shift, scale, centre, width, float(z.mean()),
            sd if sd > 1e-12 else 1.0, knots, scores,
        )  # fmt: skip

    def forward(self, y: FloatArray) -> FloatArray:
        """z of every value."""
        u = _divided(np.asarray(y, dtype=float), self.shift, self.scale)
        if self.name == "ranks":
            g = np.interp(u, self.knots, self.scores)
        elif np.isinf(self.width):
            g = u
        else:
            g = self.width * np.arcsinh((u - self.centre) / self.width)
        return np.asarray((g - self.mean) / self.sd)

    def backward(self, z: FloatArray) -> FloatArray:
        """The value whose `forward` is z."""
        g = self.mean + self.sd * np.asarray(z, dtype=float)
        if self.name == "ranks":
            u = np.interp(g, self.scores, self.knots)
        elif np.isinf(self.width):
            u = g
        else:
            u = self.centre + self.width * np.sinh(np.clip(g / self.width, -500.0, 500.0))
        return np.asarray(self.shift + self.scale * u)

    def log_slope(self, y: FloatArray) -> FloatArray:
        """Log of dz/dy at every value: the Jacobian of densities. Not defined for ranks."""
        log = -np.log(self.sd) - np.log(self.scale) + np.zeros(np.shape(y))
        if np.isfinite(self.width):
            u = _divided(np.asarray(y, dtype=float), self.shift, self.scale) - self.centre
            log -= 0.5 * np.log1p((u / self.width) ** 2)
        return np.asarray(log)

    def slope(self, y: FloatArray) -> FloatArray:
        """dz/dy at every value, for error variances; for ranks that of a straight line through
        the quartiles."""
        return np.exp(self.log_slope(y))


def _robust(y: FloatArray) -> tuple[float, float]:
    """Median, and half the distance between the quartiles or, where that is zero, the range.
    Halves are taken first, so that values of any magnitude do not overflow."""
    half = np.sort(0.5 * y)
    low, middle, high = (_quantile(half, q) for q in (0.25, 0.5, 0.75))
    scale = high - low
    if not scale > 1e-9 * float(half[-1] - half[0]):
        scale = float(half[-1] - half[0])
    scale = scale if np.isfinite(scale) and scale > 0.0 else 1.0
    # A scale far below the rounding of the values is no scale.
    floor = 1e-14 * float(np.max(np.abs(y)))
    return float(2.0 * middle), max(scale, floor, 1e-290)


def _width(distances: FloatArray, q: float) -> float:
    """A quantile of the distances from the centre. Where ties make it zero, the smallest distance
    that is not: a width of nothing would take any prediction to infinity."""
    width = _quantile(np.sort(distances), q)
    away = distances[distances > 1e-12]
    return max(width, 1e-12) if width > 1e-12 or len(away) == 0 else float(away.min())


def _divided(y: FloatArray, shift: float, scale: float) -> FloatArray:
    """(y - shift) / scale without overflow, limited to what a float can square."""
    with np.errstate(over="ignore"):
        u = (0.5 * y - 0.5 * shift) / (0.5 * scale)
    return np.asarray(np.clip(u, -1e150, 1e150))


def _quantile(ordered: FloatArray, q: float) -> float:
    """Linear interpolation between order statistics; `np.quantile` is slow for a few values."""
    place = q * (len(ordered) - 1)
    i = min(int(place), len(ordered) - 2) if len(ordered) > 1 else 0
    upper = ordered[min(i + 1, len(ordered) - 1)]
    return float(ordered[i] + (place - i) * (upper - ordered[i]))
