"""What is kept with a run beside its state: nothing of it changes what the run does."""

from __future__ import annotations

import math
from dataclasses import dataclass

from noisewise._data import data
from noisewise.problem.parameter import Parameter


@data
@dataclass(frozen=True, slots=True)
class About:
    """What is known about a run.

    began
        When it began, in seconds since 1970; nan if not known.
    space
        The named parameters, where the problem has them.
    earlier
        Data that were added, each as the few words of `noisewise.problem.earlier.digest`.
    objective
        A fingerprint of the objective, where `noisewise.loop.fingerprint` has one.
    constrained
        Whether constraints are measured with each evaluation.
    """

    began: float = math.nan
    space: dict[str, Parameter] | None = None
    earlier: tuple[str, ...] = ()
    objective: dict[str, str] | None = None
    constrained: bool = False
