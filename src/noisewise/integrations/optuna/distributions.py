"""Optuna's distributions as parameters of ours."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from noisewise.integrations._extra import extra
from noisewise.parameters import Choice, Float, Int, Parameter
from noisewise.space import Space

optuna = extra("optuna")


def parameter(distribution: Any) -> Parameter | None:
    """The parameter of an Optuna distribution; None where there is nothing to choose, its range
    is too large to be searched or its choices cannot be kept in a storage."""
    d = distribution
    if d.single():
        return None
    try:
        if isinstance(d, optuna.distributions.CategoricalDistribution):
            plain = all(c is None or isinstance(c, (bool, int, float, str)) for c in d.choices)
            return Choice(tuple(d.choices)) if plain else None
        if isinstance(d, optuna.distributions.IntDistribution):
            return Int(d.low, d.high, d.log, d.step)
        if isinstance(d, optuna.distributions.FloatDistribution):
            return Float(d.low, d.high, d.log, d.step)
    except ValueError:
        return None
    return None


def distribution(p: Parameter) -> Any:
    """The Optuna distribution of a parameter."""
    if isinstance(p, Int):
        return optuna.distributions.IntDistribution(p.low, p.high, p.log, p.step or 1)
    if isinstance(p, Float):
        return optuna.distributions.FloatDistribution(p.low, p.high, p.log, p.step)
    assert isinstance(p, Choice)
    return optuna.distributions.CategoricalDistribution(p.values)


def searchable(space: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a search space that `parameter` knows; a warning names what else there is to
    choose."""
    kept = {name: d for name, d in space.items() if parameter(d) is not None}
    for name, d in space.items():
        if name not in kept and not d.single():
            warnings.warn(
                f"{name!r} is left to the independent sampler: a range must be finite and whole "
                "numbers within ±2^53, choices must be None, bool, int, float or str",
                stacklevel=3,
            )
    return kept


def named(space: Mapping[str, Any]) -> Space:
    """The parameters of a search space that `parameter` knows."""
    found = {name: parameter(d) for name, d in space.items()}
    return Space({name: p for name, p in found.items() if p is not None})
