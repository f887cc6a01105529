"""The box: bounds, fixed coordinates, the scaling of coordinates by their widths, and repair; and
the unit coordinates of a model.

| symbol | meaning |
|---|---|
| x | a point as the user knows it, all coordinates |
| u | the same point inside the library: x = scale * u where coordinates are free |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from noisewise._data import data
from noisewise._types import BoolArray, FloatArray, IntArray
from noisewise.problem.layout import Layout

#: Largest coordinate, far outside of what is useful: squares of steps must not overflow.
FARTHEST = 1e150
#: Step sizes are kept in this range for the same reason.
SIGMA_MIN, SIGMA_MAX = 1e-150, 1e150
#: A point may lie outside the box by this part of the width (of the bound, where there is none).
_ROUNDING = 1e-9
#: Rows that an error message names.
_NAMED = 5
#: Standard deviation of the start design in unit coordinates that stands for "the whole box".
SPREAD = 0.3


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

    @cached_property
    def _inner(self) -> tuple[FloatArray, FloatArray] | None:
        """Bounds in inner coordinates; None without any."""
        bounded = bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())
        return (self.low / self.scale, self.high / self.scale) if bounded else None

    @cached_property
    def _plain(self) -> bool:
        return bool((self.scale == 1.0).all())

    @cached_property
    def _free(self) -> BoolArray | None:
        return None if self.fixed is None else np.isnan(self.fixed)

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


@data
@dataclass(frozen=True)
class Frame:
    """Unit coordinates are (x - origin) / unit: the box is [0, 1] in closed coordinates; in open
    ones x0 is 1/2 and the initial standard deviation is `SPREAD`. With a layout they are P, one
    column per parameter (see `noisewise.problem.layout`), and ``unit`` is 1."""

    origin: FloatArray
    unit: FloatArray
    low: FloatArray
    high: FloatArray
    layout: Layout | None = None

    @classmethod
    def of(
        cls,
        low: FloatArray,
        high: FloatArray,
        x0: FloatArray,
        sigma0: float,
        layout: Layout | None = None,
    ) -> Frame:
        """For bounds (infinite where open), a start and its standard deviation."""
        if layout is not None:  # the unit cube
            zeros, ones = np.zeros(layout.columns), np.ones(layout.columns)
            return cls(zeros, ones, zeros, np.maximum(layout.options - 1.0, 1.0), layout)
        closed = np.isfinite(low) & np.isfinite(high)
        with np.errstate(invalid="ignore"):
            unit = np.where(closed, high - low, sigma0 / SPREAD)
            origin = np.where(closed, low, x0 - 0.5 * unit)
            return cls(origin, unit, (low - origin) / unit, (high - origin) / unit)

    @property
    def options(self) -> tuple[int, ...]:
        """Numbers of options of the choices, which are the last coordinates."""
        return () if self.layout is None else self.layout.choices

    @property
    def dimension(self) -> int:
        """Number of the caller's coordinates."""
        return len(self.unit) if self.layout is None else self.layout.dimension

    def columns(self, block: IntArray) -> IntArray:
        """The unit coordinates that belong to some of the caller's coordinates."""
        return block if self.layout is None else np.flatnonzero(np.isin(self.layout.first, block))

    def settled(self, X: FloatArray) -> FloatArray:
        """The points with equal values as equal rows."""
        return X if self.layout is None else self.layout.settled(X)

    def inner(self, X: FloatArray) -> FloatArray:
        """To unit coordinates."""
        if self.layout is not None:
            return self.layout.by_parameter(X)
        return np.asarray((X - self.origin) / self.unit)

    def outer(self, X: FloatArray) -> FloatArray:
        """From unit coordinates."""
        if self.layout is not None:
            return self.layout.coordinates(X)
        return np.asarray(self.origin + self.unit * X)


def moved_inside(X: FloatArray, low: FloatArray, high: FloatArray, name: str) -> FloatArray:
    """Rows in user coordinates, moved into the box where they lie outside by rounding; ValueError
    if one of them lies farther out or is too large. ``name`` is "X" for rows, else a point's."""
    with np.errstate(over="ignore", invalid="ignore"):
        width = high - low
        usable = np.isfinite(width) & (width > 0.0)
        below, above = (
            np.nan_to_num(_ROUNDING * np.where(usable, width, np.abs(side)), posinf=0.0)
            for side in (low, high)
        )
    outside = ~((low - below <= X) & (high + above >= X))
    rows = np.flatnonzero(outside.any(axis=1)).tolist()
    wrong = np.argwhere(outside if rows else np.abs(X) > FARTHEST)
    if len(wrong):
        i, j = wrong[0]
        got = f"{name}[{i}][{j}] = {X[i, j]:g}" if name == "X" else f"{name}[{j}] = {X[i, j]:g}"
        if not rows:
            raise ValueError(f"{name} must be within ±{FARTHEST:g}, got {got}")
        named = ", ".join(map(str, rows[:_NAMED])) + (", ..." if len(rows) > _NAMED else "")
        more = f"; {len(rows)} rows lie outside: {named}" if len(rows) > 1 else ""
        between = f"[{low[j]:g}, {high[j]:g}]"
        raise ValueError(f"{name} must lie inside the bounds, got {got} outside {between}{more}")
    return np.clip(X, low, high)
