"""The box: bounds, fixed coordinates, the scaling of coordinates by their widths, and repair.

| symbol | meaning |
|---|---|
| x | a point as the user knows it, all coordinates |
| u | the same point inside the library: x = scale * u where coordinates are free |
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from noisewise._data import data
from noisewise._types import BoolArray, FloatArray


@data
@dataclass(frozen=True)
class Box:
    """Bounds of the free coordinates in user coordinates (infinite where there is none) and the
    scale of each: its width over the smallest width, one where a side is open. ``fixed`` has an
    entry for each of the user's coordinates: its value, or nan where it is free; None if all are.
    Methods see the free coordinates only."""

    low: FloatArray
    high: FloatArray
    scale: FloatArray
    fixed: FloatArray | None = None
    _inner: tuple[FloatArray, FloatArray] | None = field(init=False, repr=False, compare=False)
    _plain: bool = field(init=False, repr=False, compare=False)
    _free: BoolArray | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        free = None if self.fixed is None else np.isnan(self.fixed)
        if self.fixed is not None and free is not None:
            fits = self.fixed.ndim == 1 and int(free.sum()) == self.low.size
            if not fits or np.isinf(self.fixed).any():
                raise ValueError("fixed must have one nan for each free coordinate")
        object.__setattr__(self, "_free", free)
        bounded = bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())
        inner = (self.low / self.scale, self.high / self.scale) if bounded else None
        object.__setattr__(self, "_inner", inner)
        object.__setattr__(self, "_plain", bool((self.scale == 1.0).all()))

    @classmethod
    def of(cls, low: FloatArray, high: FloatArray) -> Box:
        """The box with these bounds; a coordinate whose bounds are equal is fixed."""
        fixed = None
        held = low == high
        if held.any():
            fixed = np.where(held, low, np.nan)
            low, high = low[~held], high[~held]
        with np.errstate(over="ignore"):
            width = high - low
        closed = np.isfinite(width)
        scale = np.ones_like(width)
        if closed.any():
            scale[closed] = width[closed] / width[closed].min()
        return cls(low, high, scale, fixed)

    @property
    def dimension(self) -> int:
        """Number of the user's coordinates."""
        return len(self.low) if self.fixed is None else len(self.fixed)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Low and high of all the user's coordinates."""
        return self.whole(self.low), self.whole(self.high)

    def whole(self, free: FloatArray, fill: float | None = None) -> FloatArray:
        """All coordinates, given the ``free`` ones (last axis); the others have their fixed
        values, or ``fill``."""
        if self.fixed is None:
            return free
        x = np.empty((*free.shape[:-1], len(self.fixed)))
        x[...] = self.fixed if fill is None else fill
        x[..., self._free] = free
        return x

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
        if self._free is not None:
            x = x[..., self._free]
        return np.asarray(x / self.scale)

    def outer(self, U: FloatArray) -> FloatArray:
        """A copy of ``U`` in user coordinates, inside the box to the last bit."""
        X: FloatArray = U.copy() if self._plain else U * self.scale
        if self._inner is not None:
            np.maximum(X, self.low, out=X)
            np.minimum(X, self.high, out=X)
        return X if self.fixed is None else self.whole(X)
