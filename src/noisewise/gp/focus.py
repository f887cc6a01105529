"""Coordinates in which the region of the best points is enlarged.

    symbol  meaning                                                             shape
    x       a point in unit coordinates                                         (d,)
    c, b    centre and width of the region                                      (d,)
    a       factors that keep the unit interval at length 1; in an open coordinate
            whose centre has left it, an interval of length 1 around the centre (d,)
    w       w_i = 1/2 + a_i asinh((x_i - c_i) / b_i), the point as a model sees it   (d,)

Where noise falls with the value (`model._choose` decides that), values at a distance r from the
optimum resolve distances in proportion to r, so there is more to see the closer one comes. A
stationary model has one length scale everywhere. In these coordinates it has one that grows with
the distance from the centre: asinh is linear near the centre and a logarithm far from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisewise._types import FloatArray

#: Share of the values that are the best ones, and the least number of them beyond the dimension.
_SHARE, _MORE = 0.3, 3
#: Smallest width, and smallest ratio of a width to the largest one.
_NARROWEST, _FLATTEST = 1e-6, 0.05


@dataclass(frozen=True)
class Focus:
    """One such region, and how it is enlarged."""

    centre: FloatArray
    width: FloatArray
    factor: FloatArray

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray) -> Focus:
        """The region of the smallest of the values ``y`` at the rows of ``X``: their average and
        their root mean square distance from it."""
        k = min(len(y), max(X.shape[1] + _MORE, int(np.ceil(_SHARE * len(y)))))
        centre = average_of_best(X, y, k)
        best = X[np.argsort(y, kind="stable")[:k]]
        width = np.sqrt(np.mean((best - centre) ** 2, axis=0))
        width = np.maximum(width, max(_NARROWEST, _FLATTEST * float(width.max())))
        low = np.where((centre < 0.0) | (centre > 1.0), centre - 0.5, 0.0)
        ends = np.arcsinh((np.array([low, low + 1.0]) - centre) / width)
        return cls(centre, width, 1.0 / (ends[1] - ends[0]))

    def forward(self, X: FloatArray) -> FloatArray:
        """w of every row."""
        return np.asarray(0.5 + self.factor * np.arcsinh((X - self.centre) / self.width))

    def backward(self, W: FloatArray) -> FloatArray:
        """The points whose `forward` are the rows of ``W``."""
        t = np.clip((W - 0.5) / self.factor, -500.0, 500.0)
        return np.asarray(self.centre + self.width * np.sinh(t))

    def within(self, W: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """`backward` in the box from ``low`` to ``high``, whose faces stay exact."""
        X = np.clip(self.backward(W), low, high)
        X = np.where(self.forward(low) >= W, low, X)
        return np.asarray(np.where(self.forward(high) <= W, high, X))

    def slope(self, x: FloatArray) -> FloatArray:
        """dw/dx of every coordinate."""
        u = (x - self.centre) / self.width
        return np.asarray(self.factor / self.width / np.sqrt(1.0 + u * u))


def average_of_best(X: FloatArray, y: FloatArray, k: int) -> FloatArray:
    """Average of the rows of ``X`` with the ``k`` smallest values, weighted as in an evolution
    strategy; equal values share the weights of their ranks."""
    rank = np.arange(1, len(y) + 1)
    weights = np.maximum(0.0, np.log(k + 0.5) - np.log(rank))
    _, of, counts = np.unique(y, return_inverse=True, return_counts=True)
    of = of.reshape(-1)
    tied = np.bincount(of[np.argsort(y, kind="stable")], weights) / counts
    return np.asarray(tied[of] @ X / weights.sum())
