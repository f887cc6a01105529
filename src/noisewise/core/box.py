"""The box: bounds, the scaling of coordinates by their widths, and repair.

| symbol | meaning |
|---|---|
| x | a point as the user knows it |
| u | the same point inside the library, x = scale * u |
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray


@data
@dataclass(frozen=True)
class Box:
    """Bounds in user coordinates (infinite where there is none) and the scale of each
    coordinate: its width over the smallest width, one where a side is open."""

    low: FloatArray
    high: FloatArray
    scale: FloatArray
    _inner: tuple[FloatArray, FloatArray] | None = field(init=False, repr=False, compare=False)
    _plain: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        bounded = bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())
        inner = (self.low / self.scale, self.high / self.scale) if bounded else None
        object.__setattr__(self, "_inner", inner)
        object.__setattr__(self, "_plain", bool((self.scale == 1.0).all()))

    @classmethod
    def of(cls, low: FloatArray, high: FloatArray) -> Box:
        """The box with these bounds."""
        with np.errstate(over="ignore"):
            width = high - low
        closed = np.isfinite(width)
        scale = np.ones_like(width)
        if closed.any():
            scale[closed] = width[closed] / width[closed].min()
        return cls(low, high, scale)

    @property
    def smallest_width(self) -> float:
        """Width of the narrowest two-sided coordinate; infinite if there is none."""
        with np.errstate(over="ignore"):
            return float(np.min(self.high - self.low))

    def repaired(self, U: FloatArray) -> FloatArray:
        """``U`` (inner coordinates) moved into the box; ``U`` itself where there is no bound."""
        if self._inner is None:
            return U
        inside = np.maximum(U, self._inner[0])
        return np.asarray(np.minimum(inside, self._inner[1], out=inside))

    def inner(self, x: FloatArray) -> FloatArray:
        """User coordinates to inner ones."""
        return np.asarray(x / self.scale)

    def outer(self, U: FloatArray) -> FloatArray:
        """A copy of ``U`` in user coordinates, inside the box to the last bit."""
        X: FloatArray = U.copy() if self._plain else U * self.scale
        if self._inner is not None:
            np.maximum(X, self.low, out=X)
            np.minimum(X, self.high, out=X)
        return X
