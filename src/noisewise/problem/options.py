"""A finite list of points: the combinations of parameters that have finitely many values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.problem.parameters import Choice, Int, Parameter

#: Longer lists are no lists: each of their points is to be measured.
MOST = 1000


@data
@dataclass(frozen=True)
class Options:
    """All combinations of the values of some parameters; that of the last one changes fastest.

    >>> two = Options((Choice(("a", "b", "c")), Int(1, 2)))
    >>> len(two), two.index(two.points([0, 3, 5])).tolist()
    (6, [0, 3, 5])
    """

    parameters: tuple[Parameter, ...]

    def __len__(self) -> int:
        return math.prod(self._counts)

    @cached_property
    def _codes(self) -> list[FloatArray]:
        """The coordinates of each parameter's values, (values, width)."""
        return [np.array([p.encode(v) for v in _values(p)]) for p in self.parameters]

    @cached_property
    def _counts(self) -> tuple[int, ...]:
        return tuple(_count(p) for p in self.parameters)

    def points(self, which: Any) -> FloatArray:
        """The points with these numbers, in rows."""
        at = np.unravel_index(np.asarray(which, dtype=np.intp), self._counts)
        return np.hstack([code[i] for code, i in zip(self._codes, at, strict=True)])

    def index(self, X: FloatArray) -> IntArray:
        """The numbers of the points that are nearest to the rows of ``X``."""
        at, first = [], 0
        for code in self._codes:
            part = X[:, first : first + code.shape[1]]
            # |part - code|^2 without the part that is the same for all values
            at.append(np.argmin((code * code).sum(axis=1) - 2.0 * part @ code.T, axis=1))
            first += code.shape[1]
        return np.asarray(np.ravel_multi_index(at, self._counts))


def of(parameters: Mapping[str, Parameter] | None, only_choice: bool) -> Options | None:
    """The list that these parameters are; ``only_choice``: only if a single one of them, without
    an order, has more than one value. None if they are no list, or too long a one."""
    if parameters is None:
        return None
    free = [p for p in parameters.values() if p.width]
    if only_choice and not (len(free) == 1 and isinstance(free[0], Choice)):
        return None
    counts = [_count(p) for p in free]
    return Options(tuple(free)) if 0 < math.prod(counts) <= MOST else None


def _count(p: Parameter) -> int:
    """Number of values; 0 if there are infinitely many."""
    if isinstance(p, Choice):
        return len(p.values)
    return (p.high - p.low) // p.step + 1 if isinstance(p, Int) else 0


def _values(p: Parameter) -> Any:
    if isinstance(p, Choice):
        return p.values
    assert isinstance(p, Int)
    return range(p.low, p.high + 1, p.step)
