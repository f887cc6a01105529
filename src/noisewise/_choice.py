"""A choice between values without an order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._check import shown
from noisewise._data import data
from noisewise._parameter import Parameter, is_number
from noisewise._types import FloatArray


@data
@dataclass(frozen=True)
class Choice(Parameter):
    """One of several values without an order: texts, numbers, booleans, None. Other objects
    work where the space is not saved.

    >>> import noisewise as nw
    >>> nw.space.Choice(("adam", "sgd")).decode([0.2, 0.7])
    'sgd'
    >>> nw.space.Choice((16, 32, True)).text
    '[16, 32, true]'
    """

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
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
        return len(self.values) if len(self.values) > 1 else 0

    @property
    def text(self) -> str:
        plain = ",".join(map(str, self.values))
        words = all(isinstance(v, str) and v == v.strip() and v for v in self.values)
        if words and plain.count(",") == len(self.values) - 1 >= 1 and ".." not in plain:
            return plain if not plain.startswith("[") else json.dumps(self.values)
        try:
            return json.dumps(self.values)
        except (TypeError, ValueError):  # cannot be read again
            return plain

    def decode(self, u: FloatArray) -> Any:
        return self.values[int(np.argmax(u)) if self.width else 0]

    def encode(self, value: Any) -> FloatArray:
        value = value.item() if isinstance(value, np.generic) else value
        same = [i for i, known in enumerate(self.values) if _same(known, value)]
        same += [i for i, known in enumerate(self.values) if _equal_numbers(known, value)]
        if not same:
            raise ValueError(f"must be one of {self.text}, got {shown(value)}")
        k = self.width
        u = np.full(k, 0.5 * k / (k + 1.0))
        if k:
            u[same[0]] = k / (k + 1.0)
        return u


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
