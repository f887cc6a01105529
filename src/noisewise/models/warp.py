"""Monotone transformations of the values, fitted by how well they make the values predictable.

    symbol  meaning                                                             shape
    y       values, centred and divided by a robust scale                       (m,)
    c, b    centre and width of the transformation                              scalars
    g       g(y) = b asinh((y - c) / b); identity as b grows                    (m,)
    a, t    centre and scale that standardise g(y)                              scalars
    z       standardised values (g(y) - a) / t                                  (m,)

Around the smallest value (c = min y) g is the logarithm of the excess over a floor that stays a
width b below the smallest value: noise proportional to the excess becomes level. Around the
median it shortens both tails. Widths are quantiles of |y - c|, so they follow the values as
these shrink towards the optimum and never fall below the distance between neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray

#: Transformations in order of strength: name -> (quantile of the centre, quantile of the width),
#: and the log density per value that the transformation must gain before it is preferred.
FAMILY: dict[str, tuple[float, float]] = {
    "log-1": (0.0, 0.9),
    "log-2": (0.0, 0.5),
    "log-3": (0.0, 0.2),
    "tails-1": (0.5, 0.9),
    "tails-2": (0.5, 0.5),
}
NAMES = ("none", *FAMILY, "ranks")


@data
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
