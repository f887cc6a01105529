"""One parameter: a float, a whole number or a choice, and where its values lie in [0, 1].

| symbol | meaning | shape |
|---|---|---|
| u | coordinates of a value, each in [0, 1] | (width,) |
| low, high | range of a parameter, both ends included | |
| cell | the interval of a coordinate in which the value stays the same | |

A float takes one coordinate: low + u (high - low), or the same between the logarithms. A whole
number does so from low - 1/2 to high + 1/2 and is rounded, so every value has a cell of its own,
of equal width (on a logarithmic scale: from v - 1/2 to v + 1/2). Ranges with a step do the same
with the number of steps from low. A choice is relaxed: one coordinate per value, the largest
coordinate wins. A parameter that has one value only takes no coordinate.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from numbers import Real
from typing import Any

from noisewise._types import FloatArray


class Parameter(ABC):
    """One named parameter: what values it takes and where they lie in the unit cube."""

    @property
    def width(self) -> int:
        """How many coordinates it takes; none if it has one value only."""
        return 1

    @property
    @abstractmethod
    def text(self) -> str:
        """What `parameter` reads as an equal parameter."""

    @abstractmethod
    def decode(self, u: FloatArray) -> Any:
        """The value at the coordinates ``u``; coordinates outside [0, 1] count as the nearest."""

    @abstractmethod
    def encode(self, value: Any) -> FloatArray:
        """The centre of what is decoded to ``value``."""


def is_number(value: Any) -> bool:
    """Whether ``value`` is a finite real number and no boolean."""
    finite = isinstance(value, Real) and not isinstance(value, bool)
    return finite and abs(value) <= sys.float_info.max
