"""One parameter: a float, a whole number or a choice, where its values lie in [0, 1], and when it
applies.

| symbol | meaning | shape |
|---|---|---|
| u | coordinates of a value, each in [0, 1] | (width,) |
| low, high | range of a parameter, both ends included | |
| cell | the interval of a coordinate in which the value stays the same | |

A float takes one coordinate: low + u (high - low), or the same between the logarithms. A whole
number does so from low - 1/2 to high + 1/2 and is rounded, so every value has a cell of its own,
of equal width (on a logarithmic scale: from v - 1/2 to v + 1/2). Ranges with a step do the same
with the number of steps from low. A choice between two values takes one coordinate, with the
second value above 1/2. A choice between more is relaxed: one coordinate per value, the largest
coordinate wins. A parameter that has one value only takes no coordinate.
"""

from __future__ import annotations

import json
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np

from noisewise._check import shown
from noisewise._data import data
from noisewise._types import FloatArray

#: A parameter's name that is written without quotes.
NAME = re.compile(r"[^\s{}=\"\x00-\x1f\x7f]+")
#: A value that is written without quotes: it may have blanks inside.
_WORD = re.compile(r"(?!\[)(?![\s\S]* (when|and) )[^\s,]([^,]*[^\s,])?")
#: Names of other parameters, and the values of each with which a parameter applies.
Conditions = tuple[tuple[str, tuple[Any, ...]], ...]


class Parameter(ABC):
    """One named parameter: what values it takes and where they lie in the unit cube."""

    #: When it applies: always, if empty. Given as a dictionary of values, or of lists of values.
    when: Conditions | Mapping[str, Any]

    @property
    def conditions(self) -> Conditions:
        """When it applies; all of them must hold."""
        return self.when if isinstance(self.when, tuple) else conditions(self.when)

    def under(self, when: Conditions | Mapping[str, Any]) -> Parameter:
        """The same parameter with these conditions."""
        return replace(self, when=when)  # type: ignore[type-var]

    @property
    def width(self) -> int:
        """How many coordinates it takes; none if it has one value only."""
        return 1

    @property
    def options(self) -> int:
        """Number of values without an order; 0 for a number."""
        return 0

    @property
    def steps(self) -> tuple[float, float, bool] | None:
        """What lies at 0 and at 1, counted in steps, and whether steps are even in the logarithm;
        None without steps."""
        return None

    @property
    def text(self) -> str:
        """What `parameter` reads as an equal parameter."""
        said = " and ".join(f"{_quoted(name)}={_listed(v)}" for name, v in self.conditions)
        return f"{self.values_text} when {said}" if said else self.values_text

    @property
    @abstractmethod
    def values_text(self) -> str:
        """The same without its conditions."""

    @abstractmethod
    def decode(self, u: FloatArray) -> Any:
        """The value at the coordinates ``u``; coordinates outside [0, 1] count as the nearest."""

    @abstractmethod
    def encode(self, value: Any) -> FloatArray:
        """The centre of what is decoded to ``value``."""


def conditions(when: Any) -> Conditions:
    """``when`` as a user may write it: a dictionary of values, or of lists of values."""
    if isinstance(when, tuple):  # as it is kept
        when = dict(when)
    if not isinstance(when, Mapping) or not all(isinstance(name, str) for name in when):
        raise ValueError(f"when must be a dictionary such as {{'model': 'svm'}}, got {shown(when)}")
    found = []
    for name, values in when.items():
        listed = tuple(values) if isinstance(values, (list, tuple, set)) else (values,)
        if not listed:
            raise ValueError(f"when must have a value of {name}, got {shown(values)}")
        found.append((name, tuple(v.item() if isinstance(v, np.generic) else v for v in listed)))
    return tuple(found)


def is_number(value: Any) -> bool:
    """Whether ``value`` is a finite real number and no boolean."""
    finite = isinstance(value, Real) and not isinstance(value, bool)
    return finite and abs(value) <= sys.float_info.max


@data
@dataclass(frozen=True)
class Choice(Parameter):
    """One of several values without an order: texts, numbers, booleans, None. Other objects
    work where the space is not saved. ``when`` says when it applies (see `Space`).

    >>> import noisewise as nw
    >>> nw.space.Choice(("adam", "sgd")).decode([0.7])
    'sgd'
    >>> nw.space.Choice((16, 32, True)).text
    '[16, 32, true]'
    """

    values: tuple[Any, ...]
    when: Conditions | Mapping[str, Any] = field(default=(), kw_only=True, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", conditions(self.when))
        given = self.values if isinstance(self.values, (list, tuple)) else ()
        values = tuple(v.item() if isinstance(v, np.generic) else v for v in given)
        twice = any(_same(a, b) for i, a in enumerate(values) for b in values[:i])
        if not values or twice:
            raise ValueError(
                f"a choice must be a list of different values, got {shown(self.values)}"
            )
        object.__setattr__(self, "values", values)

    @property
    def width(self) -> int:
        k = len(self.values)
        return k if k > 2 else k - 1

    @property
    def options(self) -> int:
        return len(self.values)

    @property
    def values_text(self) -> str:
        return _listed(self.values) if len(self.values) > 1 else _as_list(self.values)

    def decode(self, u: FloatArray) -> Any:
        if self.width == 1:
            return self.values[int(u[0] > 0.5)]
        return self.values[int(np.argmax(u)) if self.width else 0]

    def encode(self, value: Any) -> FloatArray:
        value = value.item() if isinstance(value, np.generic) else value
        same = [i for i, known in enumerate(self.values) if _same(known, value)]
        same += [i for i, known in enumerate(self.values) if _equal_numbers(known, value)]
        if not same:
            raise ValueError(f"must be one of {self.values_text}, got {shown(value)}")
        k = self.width
        if k == 1:
            return np.array([0.25 + 0.5 * same[0]])
        u = np.full(k, 0.5 * k / (k + 1.0))
        if k:
            u[same[0]] = k / (k + 1.0)
        return u


def _listed(values: tuple[Any, ...]) -> str:
    """Values as words, or as a list in JSON where they are not all plain words."""
    words = all(isinstance(v, str) and _WORD.fullmatch(v) for v in values)
    plain = ",".join(map(str, values))
    return plain if words and ".." not in plain else _as_list(values)


def _as_list(values: tuple[Any, ...]) -> str:
    try:
        return json.dumps(values)
    except (TypeError, ValueError):  # cannot be read again
        return ",".join(map(str, values))


def _quoted(name: str) -> str:
    return name if NAME.fullmatch(name) else json.dumps(name)


def _same(a: Any, b: Any) -> bool:
    """Whether two options are the same: 1 and True are not, nan and nan are."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    try:
        return bool(a == b or (a != a and b != b))
    except Exception:  # objects of any kind, such as arrays
        return False


def _equal_numbers(a: Any, b: Any) -> bool:
    return is_number(a) and is_number(b) and bool(a == b)
