"""One parameter: a float, a whole number or a choice, and where its values lie in [0, 1].

| symbol | meaning | shape |
|---|---|---|
| u | coordinates of a value, each in [0, 1] | (width,) |
| low, high | range of a parameter, both ends included | |

A float takes one coordinate: low + u (high - low), or the same between the logarithms. A whole
number does so from low - 1/2 to high + 1/2 and is rounded, so every value has a cell of its own,
of equal width (on a logarithmic scale: from v - 1/2 to v + 1/2). A choice is relaxed: one
coordinate per value, the largest coordinate wins.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from noisewise._check import flag, shown
from noisewise._types import FloatArray

#: Whole numbers beyond this are not all floats.
_LARGEST_INT = 2**53
#: What a parameter looks like as text.
FORM = "low..high, low..high:log, low..high:int, low..high:int:log or one,other,third"


class Parameter(ABC):
    """One named parameter: what values it takes and where they lie in the unit cube."""

    @property
    def width(self) -> int:
        """How many coordinates it takes."""
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


@dataclass(frozen=True)
class Float(Parameter):
    """A real number from ``low`` to ``high``; ``log`` searches its logarithm.

    >>> import noisewise as nw
    >>> nw.space.Float(1e-4, 1e-1, log=True).text
    '0.0001..0.1:log'
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        low, high = (_number(v) for v in (self.low, self.high))
        flag("log", self.log)
        if not (low < high and math.isfinite(high - low)):
            raise ValueError(f"a range must have finite ends with low < high, got {self._range}")
        if self.log and low <= 0.0:
            raise ValueError(f"a logarithmic range must be above zero, got {self._range}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def _range(self) -> str:
        return f"{shown(self.low)}..{shown(self.high)}"

    @property
    def text(self) -> str:
        return self._range + ":log" * self.log

    def decode(self, u: FloatArray) -> float:
        value = _from_unit(float(u[0]), self.low, self.high, self.log)
        return min(max(value, self.low), self.high)

    def encode(self, value: Any) -> FloatArray:
        if not _is_number(value) or not self.low <= float(value) <= self.high:
            raise ValueError(f"must be a number in {self._range}, got {shown(value)}")
        return np.array([_to_unit(float(value), self.low, self.high, self.log)])


@dataclass(frozen=True)
class Int(Parameter):
    """A whole number from ``low`` to ``high``; ``log`` searches its logarithm.

    >>> import noisewise as nw
    >>> nw.space.Int(8, 256).decode([1.0])
    256
    """

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        low, high = (_whole(v) for v in (self.low, self.high))
        flag("log", self.log)
        if not low < high:
            raise ValueError(f"a range must have low < high, got {low}..{high}")
        if self.log and low < 1:
            raise ValueError(f"a logarithmic range must be above zero, got {low}..{high}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def text(self) -> str:
        return f"{self.low}..{self.high}:int" + ":log" * self.log

    def decode(self, u: FloatArray) -> int:
        value = _from_unit(float(u[0]), self.low - 0.5, self.high + 0.5, self.log)
        return min(max(math.floor(value + 0.5), self.low), self.high)

    def encode(self, value: Any) -> FloatArray:
        if not _is_number(value) or value != int(value) or not self.low <= value <= self.high:
            raise ValueError(
                f"must be a whole number in {self.low}..{self.high}, got {shown(value)}"
            )
        return np.array([_to_unit(int(value), self.low - 0.5, self.high + 0.5, self.log)])


@dataclass(frozen=True)
class Choice(Parameter):
    """One of several words, without an order.

    >>> import noisewise as nw
    >>> nw.space.Choice(("adam", "sgd")).decode([0.2, 0.7])
    'sgd'
    """

    values: tuple[str, ...]

    def __post_init__(self) -> None:
        values = tuple(self.values) if isinstance(self.values, (list, tuple)) else ()
        words = all(isinstance(v, str) and v == v.strip() and v and "," not in v for v in values)
        if not words or len(values) < 2 or len(set(values)) < len(values):
            raise ValueError(
                "a choice must be between two or more different words without commas, got "
                f"{shown(self.values)}"
            )
        object.__setattr__(self, "values", values)

    @property
    def width(self) -> int:
        return len(self.values)

    @property
    def text(self) -> str:
        return ",".join(self.values)

    def decode(self, u: FloatArray) -> str:
        return self.values[int(np.argmax(u))]

    def encode(self, value: Any) -> FloatArray:
        if not isinstance(value, str) or value not in self.values:
            raise ValueError(f"must be one of {self.text}, got {shown(value)}")
        k = len(self.values)
        u = np.full(k, 0.5 * k / (k + 1.0))
        u[self.values.index(value)] = k / (k + 1.0)
        return u


def parameter(text: str) -> Parameter:
    """The parameter that ``text`` describes.

    >>> parameter("8..256:int:log")
    Int(low=8, high=256, log=True)
    >>> parameter("adam,sgd").width
    2
    """
    head, *options = text.split(":")
    low, dots, high = head.partition("..")
    if not dots:
        if "," in text:
            return Choice(tuple(word.strip() for word in text.split(",")))
        raise ValueError(f"must look like {FORM}, got {text!r}")
    unknown = [word for word in options if word not in ("log", "int")]
    if unknown or len(set(options)) < len(options):
        raise ValueError(f"must look like {FORM}, got {text!r}")
    log = "log" in options
    if "int" in options:
        return Int(_read_int(low), _read_int(high), log)
    return Float(_read_float(low), _read_float(high), log)


def _from_unit(u: float, low: float, high: float, log: bool) -> float:
    if u <= 0.0 or u >= 1.0:  # exactly the ends, which logarithms would round
        return low if u <= 0.0 else high
    if log:
        return math.exp(math.log(low) + u * (math.log(high) - math.log(low)))
    return low + u * (high - low)


def _to_unit(value: float, low: float, high: float, log: bool) -> float:
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return min(max((value - low) / (high - low), 0.0), 1.0)


def _is_number(value: Any) -> bool:
    finite = isinstance(value, Real) and not isinstance(value, bool)
    return finite and abs(value) <= sys.float_info.max


def _number(value: Any) -> float:
    if not _is_number(value):
        raise ValueError(f"the ends of a range must be finite numbers, got {shown(value)}")
    return float(value)


def _whole(value: Any) -> int:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or abs(value) > _LARGEST_INT:
        raise ValueError(
            f"the ends of a whole range must be whole numbers within ±2^53, got {shown(value)}"
        )
    return int(value)


def _read_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"the ends of a range must be numbers, got {text!r}") from None


def _read_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"the ends of an int range must be whole numbers, got {text!r}") from None
