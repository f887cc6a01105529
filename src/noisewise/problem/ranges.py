"""Ranges of real and of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from noisewise._check import flag, shown
from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.problem.parameter import Conditions, Parameter, conditions, is_number

#: Whole numbers beyond this are not all floats.
_LARGEST_INT = 2**53
#: Distance from a step, in steps, up to which a value counts as on it.
_OFF_STEP = 1e-6


@data
@dataclass(frozen=True)
class Float(Parameter):
    """A real number from ``low`` to ``high``; ``log`` searches its logarithm; ``step`` allows
    low, low + step, ... only; ``when`` says when it applies (see `Space`).

    >>> import noisewise as nw
    >>> nw.space.Float(1e-4, 1e-1, log=True).text
    '0.0001..0.1:log'
    >>> nw.space.Float(0.0, 1.0, step=0.25).decode([0.5])
    0.5
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None
    when: Conditions | Mapping[str, Any] = field(default=(), kw_only=True, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", conditions(self.when))
        low, high = (_number(v) for v in (self.low, self.high))
        flag("log", self.log)
        if not (low <= high and math.isfinite(high - low)):
            raise ValueError(f"a range must have finite ends with low <= high, got {self._range}")
        if self.log and low <= 0.0:
            raise ValueError(f"a logarithmic range must be above zero, got {self._range}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.step is not None:
            fine = is_number(self.step) and self.step > 0 and not self.log
            if not fine or (high - low) / self.step > _LARGEST_INT:
                raise ValueError(_wrong_step(self.step, self.log))
            object.__setattr__(self, "step", float(self.step))

    @property
    def _range(self) -> str:
        return f"{shown(self.low)}..{shown(self.high)}"

    @property
    def _steps(self) -> Int | None:
        """The number of steps from low, as a parameter."""
        if self.step is None:
            return None
        # A little more than the range is within rounding: 0.3 / 0.1 is below 3.
        return Int(0, math.floor((self.high - self.low) / self.step + _OFF_STEP))

    @property
    def width(self) -> int:
        return int(self.low < self.high) if self._steps is None else self._steps.width

    @property
    def steps(self) -> tuple[float, float, bool] | None:
        return None if self._steps is None else self._steps.steps

    @property
    def values_text(self) -> str:
        return self._range + ":log" * self.log + (f":step={self.step!r}" if self.step else "")

    def _at(self, k: int) -> float:
        # In decimals: 3 * 0.1 is above 0.3.
        from decimal import Decimal  # takes long to import

        return float(Decimal(repr(self.low)) + k * Decimal(repr(self.step)))

    def decode(self, u: FloatArray) -> float:
        if self._steps is not None:
            return self._at(self._steps.decode(u))
        if self.width == 0:
            return self.low
        value = _from_unit(float(u[0]), self.low, self.high, self.log)
        return min(max(value, self.low), self.high)

    def encode(self, value: Any) -> FloatArray:
        if not is_number(value) or not self.low <= float(value) <= self.high:
            raise ValueError(f"must be a number in {self._range}, got {shown(value)}")
        if self._steps is not None and self.step is not None:
            k = round((float(value) - self.low) / self.step)
            if abs(self._at(k) - value) > _OFF_STEP * self.step or k > self._steps.high:
                raise ValueError(f"must be one of {self.values_text}, got {shown(value)}")
            return self._steps.encode(k)
        return np.full(self.width, _to_unit(float(value), self.low, self.high, self.log))


@data
@dataclass(frozen=True)
class Int(Parameter):
    """A whole number from ``low`` to ``high``; ``log`` searches its logarithm; ``step`` allows
    low, low + step, ... only; ``when`` says when it applies (see `Space`).

    >>> import noisewise as nw
    >>> nw.space.Int(8, 256).decode([1.0])
    256
    >>> nw.space.Int(8, 256, step=8).decode([0.0])
    8
    """

    low: int
    high: int
    log: bool = False
    step: int = 1
    when: Conditions | Mapping[str, Any] = field(default=(), kw_only=True, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", conditions(self.when))
        low, high = (_whole(v) for v in (self.low, self.high))
        flag("log", self.log)
        if not low <= high:
            raise ValueError(f"a range must have low <= high, got {low}..{high}")
        if self.log and low < 1:
            raise ValueError(f"a logarithmic range must be above zero, got {low}..{high}")
        whole = isinstance(self.step, Integral) and not isinstance(self.step, bool)
        if not whole or self.step < 1 or (self.log and self.step > 1):
            raise ValueError(_wrong_step(self.step, self.log))
        for name, value in (("low", low), ("high", high), ("step", int(self.step))):
            object.__setattr__(self, name, value)

    @property
    def _last(self) -> int:
        """Number of steps from low to the largest value."""
        return (self.high - self.low) // self.step

    @property
    def width(self) -> int:
        return min(1, self._last)

    @property
    def steps(self) -> tuple[float, float, bool]:
        return (*self._ends, self.log)

    @property
    def values_text(self) -> str:
        step = f":step={self.step}" if self.step > 1 else ""
        return f"{self.low}..{self.high}:int" + ":log" * self.log + step

    @property
    def _ends(self) -> tuple[float, float]:
        """What lies at 0 and at 1: in steps from low, or whole numbers where ``log``."""
        return (self.low - 0.5, self.high + 0.5) if self.log else (-0.5, self._last + 0.5)

    def decode(self, u: FloatArray) -> int:
        if self.width == 0:
            return self.low
        value = math.floor(_from_unit(float(u[0]), *self._ends, self.log) + 0.5)
        if self.log:
            return min(max(value, self.low), self.high)
        return self.low + self.step * min(max(value, 0), self._last)

    def encode(self, value: Any) -> FloatArray:
        if not is_number(value) or value != int(value) or not self.low <= value <= self.high:
            raise ValueError(
                f"must be a whole number in {self.low}..{self.high}, got {shown(value)}"
            )
        k, rest = divmod(int(value) - self.low, self.step)
        if rest:
            raise ValueError(f"must be one of {self.values_text}, got {shown(value)}")
        return np.full(self.width, _to_unit(int(value) if self.log else k, *self._ends, self.log))


def _from_unit(u: float, low: float, high: float, log: bool) -> float:
    if u <= 0.0 or u >= 1.0:  # exactly the ends, which logarithms would round
        return low if u <= 0.0 else high
    if log:
        return math.exp(math.log(low) + u * (math.log(high) - math.log(low)))
    return low + u * (high - low)


def _to_unit(value: float, low: float, high: float, log: bool) -> float:
    if low == high:
        return 0.5
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return min(max((value - low) / (high - low), 0.0), 1.0)


def _number(value: Any) -> float:
    if not is_number(value):
        raise ValueError(f"the ends of a range must be finite numbers, got {shown(value)}")
    return float(value)


def _whole(value: Any) -> int:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or abs(value) > _LARGEST_INT:
        raise ValueError(
            f"the ends of a whole range must be whole numbers within ±2^53, got {shown(value)}"
        )
    return int(value)


def _wrong_step(step: Any, log: bool) -> str:
    if log:
        return f"a step must not be combined with log, got step {shown(step)}"
    return f"a step must be a positive number (whole for a whole range), got {shown(step)}"
