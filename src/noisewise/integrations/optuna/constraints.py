"""Constraints of trials, which are met where all of their values are at most 0.

Optuna keeps those of ``Trial.set_constraint`` one by one and those of a sampler's
``constraints_func`` as a list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from noisewise._check import shown
from noisewise.integrations._extra import extra

optuna = extra("optuna")

_KEY = "constraints"


def values(trial: Any) -> dict[str, float]:
    """The constraints of a trial by name; those of a list are named 0, 1, ..."""
    found = {str(i): float(c) for i, c in enumerate(trial.system_attrs.get(_KEY) or ())}
    for name, value in trial.system_attrs.items():
        if name.startswith(f"{_KEY}:"):
            found[name[len(_KEY) + 1 :]] = float(value)
    return dict(sorted(found.items()))


def violated(trial: Any) -> bool:
    """Whether a constraint was not met as it was measured."""
    return any(not value <= 0.0 for value in values(trial).values())


def checked(function: Any) -> Any:
    """``constraints_func`` of a sampler, if it can be called or is None."""
    if function is not None and not callable(function):
        raise ValueError(f"constraints_func must be callable or None, got {shown(function)}")
    return function


def keep(function: Callable[[Any], Sequence[float]], study: Any, trial: Any, state: Any) -> None:
    """Keep what ``function`` says of a trial that has ended with a value."""
    if state not in (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED):
        return
    try:
        found = tuple(float(value) for value in function(trial))
        fine = not np.isnan(found).any()
    except (TypeError, ValueError):
        found, fine = (), False
    if not fine:
        raise ValueError(
            f"constraints_func must return numbers that are not nan, one per constraint, for trial "
            f"{trial.number}, got {shown(function(trial))}"
        )
    study._storage.set_trial_system_attr(trial._trial_id, _KEY, found)


def single_objective(study: Any) -> None:
    """Raise ValueError if the study has several objectives."""
    if len(study.directions) > 1:
        raise ValueError(
            f"noisewise takes studies with one objective, got {len(study.directions)}: keep one of "
            "them and make the others constraints (trial.set_constraint), or add them up"
        )
