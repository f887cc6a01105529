"""The coordinates that the model searches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.problem.layout import Layout

#: Standard deviation of the start design in unit coordinates that stands for "the whole box".
SPREAD = 0.3


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
