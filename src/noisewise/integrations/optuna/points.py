"""Where the trials of a study are in the unit cube that a run searches, and what they are worth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, final

import numpy as np

from noisewise._types import FloatArray
from noisewise._values import LARGEST
from noisewise.integrations.optuna import records
from noisewise.integrations.optuna.distributions import named

#: Coordinates that differ by less than this are the same.
_SAME = 1e-6


@final
class Points:
    """The unit cube of a search space."""

    def __init__(self, space: Mapping[str, Any]) -> None:
        self.named = named(space)

    def of(self, trial: Any) -> FloatArray | None:
        """Where a trial was; None: not in the space."""
        values = {name: trial.params[name] for name in self.named.names if name in trial.params}
        if len(values) < len(self.named.names):
            return None
        try:
            return self.named.encode(values)
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
        """Points and values of the completed trials; None if there are none in the space."""
        found = [
            (x, self.value(study, trial, x))
            for trial in trials
            if records.complete(trial) and (x := self.of(trial)) is not None
        ]
        return (np.array([x for x, _ in found]), np.array([y for _, y in found])) if found else None
