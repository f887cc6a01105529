"""What a parameter is, from the values that it had in a study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from noisewise.problem.parameter import is_number
from noisewise.problem.parameters import Choice, Float, Int, Parameter

#: Values that span at least this factor may be those of a logarithmic range.
_DECADES = 100.0
#: A column of more different words than this part of its rows, and than so many, is no choice.
_WORDS, _FEW = 0.5, 10


def parameters(rows: Sequence[Mapping[str, Any]]) -> dict[str, Parameter]:
    """The parameters of trials, with ranges from the smallest to the largest value that was tried.
    What had one value only, and words that hardly ever came again, are left out."""
    names = dict.fromkeys(name for row in rows for name in row)
    found = {name: _parameter([row.get(name) for row in rows]) for name in names}
    known = {name: p for name, p in found.items() if p is not None}
    if not known:
        raise ValueError(
            "the study must have a parameter with more than one value, got "
            f"{', '.join(names) or 'no columns of parameters'}"
        )
    return known


def _parameter(column: list[Any]) -> Parameter | None:
    values = [_plain(v) for v in column]
    there = [v for v in values if not (v is None or (isinstance(v, float) and math.isnan(v)))]
    if len(there) == len(values) and there and all(map(is_number, there)):
        return _numeric(there)
    distinct = list(dict.fromkeys(there))
    if len(there) < len(values) or not 2 <= len(distinct) <= max(_FEW, _WORDS * len(there)):
        return None
    return Choice(tuple(sorted(distinct, key=str)))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _numeric(values: list[float]) -> Parameter | None:
    low, high = min(values), max(values)
    if not low < high:
        return None
    log = low > 0.0 and high >= _DECADES * low and _spread_in_logarithm(np.array(values, float))
    if all(isinstance(v, int) for v in values):
        return Int(int(low), int(high), log=log)
    return Float(float(low), float(high), log=log)


def _spread_in_logarithm(values: np.ndarray[Any, Any]) -> bool:
    """Whether the middle half of the values lies more evenly between the ends on a logarithmic
    scale."""

    def off(v: np.ndarray[Any, Any]) -> float:
        v = (v - v.min()) / (v.max() - v.min())
        return float(abs(np.median(v) - 0.5))

    return off(np.log(values)) < off(values)
