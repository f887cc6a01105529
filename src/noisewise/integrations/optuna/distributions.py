"""Optuna's distributions as parameters of ours, and where the trials of a study are in the unit
cube that a run searches."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, final

import numpy as np

from noisewise._types import FloatArray
from noisewise.integrations._extra import extra
from noisewise.integrations.optuna import constraints, records
from noisewise.problem.parameters import Choice, Float, Int, Parameter
from noisewise.problem.space import Space
from noisewise.problem.values import LARGEST

optuna = extra("optuna")

#: Coordinates that differ by less than this are the same.
_SAME = 1e-6


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


def named(space: Mapping[str, Any], when: Mapping[str, Any] | None = None) -> Space:
    """The parameters of a search space that `parameter` knows, with their conditions by name as
    `conditions` writes them."""
    found = {name: parameter(d) for name, d in space.items()}
    return Space(
        {
            name: p.under(dict((when or {}).get(name, ())))
            for name, p in found.items()
            if p is not None
        }
    )


def conditions(space: Space) -> dict[str, Any]:
    """The conditions of a space as plain data: pairs of a name and its values."""
    return {
        name: [[other, list(values)] for other, values in p.conditions]
        for name, p in space.parameters.items()
        if p.conditions
    }


@final
class Points:
    """The unit cube of a search space, parameters of which may have conditions."""

    def __init__(self, space: Mapping[str, Any], when: Mapping[str, Any] | None = None) -> None:
        self.named = named(space, when)

    def of(self, trial: Any) -> FloatArray | None:
        """Where a trial was; None: not in the space."""
        values = {name: trial.params[name] for name in self.named.names if name in trial.params}
        try:
            return None if self.named.missing(values) else self.named.encode(values)
        except ValueError:
            return None

    def has(self, trial: Any, x: FloatArray) -> bool:
        """Whether the trial's parameters are those at ``x``. Those it did not ask for do not
        count; a few last bits may differ between machines."""
        meant = self.named.decode(x)
        found = {name: trial.params.get(name, value) for name, value in meant.items()}
        try:
            apart = self.named.encode(found) - self.named.encode(meant)
        except ValueError:  # out of range: the study's ranges have changed
            return False
        return float(np.abs(apart).max()) < _SAME

    def value(self, study: Any, trial: Any, x: FloatArray) -> float:
        """Value of a finished trial, to be minimised; nan: it failed, or was not at ``x``."""
        if not records.complete(trial) or not self.has(trial, x):
            return math.nan
        return max(records.minimised(study, trial.value), -LARGEST)

    def data(self, study: Any, trials: Iterable[Any]) -> tuple[FloatArray, FloatArray] | None:
        """Points and values of the completed trials that break no constraint; None if there are
        none in the space."""
        found = [
            (x, self.value(study, trial, x))
            for trial in trials
            if records.complete(trial)
            and not constraints.violated(trial)
            and (x := self.of(trial)) is not None
        ]
        return (np.array([x for x, _ in found]), np.array([y for _, y in found])) if found else None
