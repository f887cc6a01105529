"""How the coordinates of the unit cube make up parameters, for methods that model values.

| symbol | meaning | shape |
|---|---|---|
| U | points of the unit cube, as methods and users exchange them | (n, d) |
| P | the same points by parameter, numbers first | (n, m) |

An entry of P is a number in [0, 1], at the centre of its step if it has steps, or the number of an
option, 0, 1, ...

Points that are decoded to the same values have the same row of P: a model of P neither sees what
rounding removes nor the values of parameters that do not apply.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from noisewise._data import data
from noisewise._types import BoolArray, FloatArray, IntArray

#: A number that does not apply.
_NEUTRAL = 0.5


@data
@dataclass(frozen=True, eq=False)
class Condition:
    """The parameter in ``column`` applies only where that in ``on`` has one of these entries."""

    column: int
    on: int
    entries: FloatArray


@data
@dataclass(frozen=True, eq=False)
class Layout:
    """The columns of P. ``first`` is the first coordinate of each, ``options`` the number of
    options of a choice, 0 for a number."""

    first: IntArray
    options: IntArray
    #: Ends of the range of each column with steps, counted in steps: a value in between is rounded
    #: to the nearest whole step. nan where there are no steps.
    low: FloatArray
    high: FloatArray
    #: Whether steps are even in the logarithm.
    log: BoolArray
    conditions: list[Condition]

    @property
    def columns(self) -> int:
        """Number of parameters, m."""
        return len(self.first)

    @property
    def numbers(self) -> int:
        """How many of them are numbers; these come first."""
        return int((self.options == 0).sum())

    @cached_property
    def dimension(self) -> int:
        """Number of coordinates, d."""
        return int(_widths(self.options).sum())

    @cached_property
    def choices(self) -> tuple[int, ...]:
        """Number of options of each choice."""
        return tuple(int(k) for k in self.options[self.numbers :])

    @cached_property
    def stepped(self) -> BoolArray:
        """Which columns are numbers with steps."""
        return ~np.isnan(self.low)

    @cached_property
    def _logs(self) -> tuple[FloatArray, FloatArray]:
        """Ends of the columns with steps on the scale on which steps are even."""
        low, high = self.low[self.stepped], self.high[self.stepped]
        log = self.log[self.stepped]
        low, high = (np.where(log, np.log(np.where(log, v, 1.0)), v) for v in (low, high))
        return low, high

    def by_parameter(self, U: FloatArray) -> FloatArray:
        """P of points in rows."""
        P = np.array(U[..., self.first])
        for j in range(self.numbers, self.columns):
            at, k = self.first[j], self.options[j]
            if k == 2:
                P[..., j] = P[..., j] > 0.5
            else:
                P[..., j] = np.argmax(U[..., at : at + k], axis=-1)
        return self.settled(P)

    def coordinates(self, P: FloatArray) -> FloatArray:
        """U of the centres of what is decoded to the same values as the rows of P."""
        U = np.empty((*P.shape[:-1], self.dimension))
        U[..., self.first] = P
        for j in range(self.numbers, self.columns):
            at, k = self.first[j], self.options[j]
            if k == 2:
                U[..., at] = 0.25 + 0.5 * P[..., j]
            else:
                chosen = P[..., j, None] == np.arange(k)
                U[..., at : at + k] = np.where(chosen, 1.0, 0.5) * (k / (k + 1.0))
        return U

    def settled(self, P: FloatArray) -> FloatArray:
        """The rows with numbers at the centres of their steps, and with the same entries wherever a
        parameter does not apply."""
        P = P.copy()
        if self.stepped.any():
            P[..., self.stepped] = self._centres(P[..., self.stepped])
        if self.conditions:
            P = np.where(self.applies(P), P, self._neutral)
        return P

    def applies(self, P: FloatArray) -> BoolArray:
        """Which parameters apply in each of the settled rows."""
        applies = np.ones(P.shape, dtype=bool)
        for one in self.conditions:
            applies[..., one.column] &= np.isin(P[..., one.on], one.entries)
        return applies

    def moved(self, P: FloatArray, steps: FloatArray) -> FloatArray:
        """The rows with their numbers that have steps moved by so many whole ``steps``."""
        P = P.copy()
        if self.stepped.any():
            steps = np.broadcast_to(steps, P.shape)[..., self.stepped]
            P[..., self.stepped] = self._centres(P[..., self.stepped], steps)
        return P

    def neighbours(self, p: FloatArray) -> FloatArray:
        """The settled rows that differ from ``p`` by another option or by one step of a number."""
        found = []
        for j in range(self.columns):
            if self.stepped[j]:
                found += [
                    np.where(np.arange(self.columns) == j, self.moved(p, np.array(by)), p)
                    for by in (-1.0, 1.0)
                ]
            others = [k for k in range(self.options[j]) if k != p[j]]
            found += [np.where(np.arange(self.columns) == j, k, p) for k in others]
        return self.settled(np.reshape(found, (-1, self.columns)))

    @cached_property
    def _neutral(self) -> FloatArray:
        neutral = np.where(self.options == 0, _NEUTRAL, 0.0)
        neutral[self.stepped] = self._centres(neutral[self.stepped])
        return neutral

    def _centres(self, u: FloatArray, by: FloatArray | float = 0.0) -> FloatArray:
        """Centres of the steps around the entries of all columns with steps, or of those that
        follow ``by`` so many steps."""
        low, high = self._logs
        log = self.log[self.stepped]
        at = low + np.clip(u, 0.0, 1.0) * (high - low)
        value = np.where(log, np.exp(np.where(log, at, 0.0)), at)
        ends = self.low[self.stepped] + 0.5, self.high[self.stepped] - 0.5
        value = np.clip(np.floor(value + 0.5) + by, *ends)
        value = np.where(log, np.log(np.where(log, value, 1.0)), value)
        return np.asarray((value - low) / (high - low))


def _widths(options: IntArray) -> IntArray:
    """How many coordinates each column has."""
    return np.where(options > 2, options, 1)
