"""What scikit-learn's users write for a space, as parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from noisewise._check import shown
from noisewise.parameters import Choice, Float, Int, Parameter, parameter
from noisewise.space import Space


def named(space: Any) -> Space:
    """The parameters that ``space`` describes."""
    given = space.parameters if isinstance(space, Space) else space
    if not isinstance(given, Mapping) or not given:
        raise ValueError(
            f"space must be a noisewise.Space or a dictionary of at least one parameter, got "
            f"{shown(space)}"
        )
    return Space({name: _parameter(name, one) for name, one in given.items()})


def _parameter(name: str, given: Any) -> Parameter:
    try:
        if isinstance(given, Parameter):
            return given
        if isinstance(given, str):
            return parameter(given)
        if isinstance(given, (list, tuple, np.ndarray)) and len(given) >= 2:
            return Choice(tuple(given))
        if hasattr(given, "dist") and hasattr(given, "support"):
            return _distribution(given)
    except ValueError as error:
        raise ValueError(f"space: {name} {error}") from None
    raise ValueError(
        f"space: {name} must be text such as '1e-4..1:log', an object of noisewise.space, two or "
        f"more options or a scipy.stats distribution, got {shown(given)}"
    )


def _distribution(given: Any) -> Parameter:
    """The range of a frozen distribution of scipy.stats."""
    low, high = (float(end) for end in given.support())
    kind = given.dist.name
    if kind == "randint":
        return Int(int(low), int(high))
    if kind in ("uniform", "loguniform", "reciprocal"):
        return Float(low, high, log=kind != "uniform")
    raise ValueError(f"must be uniform, loguniform or randint of scipy.stats, got {kind}")
