"""Evaluating some candidates a second time to see what the ranks are worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._types import IntArray
from noisewise.evaluation.plans import NOTHING
from noisewise.generation import Controls, Generation, Plan


@dataclass(frozen=True)
class Remeasure(Plan):
    """Every candidate ``controls.repeats`` times; then the first ``controls.reevaluations``
    candidates as often again. Candidates come in random order, so the first are as good a
    sample as any."""

    def request(self, gen: Generation, memory: Any) -> IntArray:
        if gen.wave > 1:
            return NOTHING
        n = len(gen.X)
        count = n if gen.wave == 0 else min(gen.controls.reevaluations, n)
        return np.tile(np.arange(count), gen.controls.repeats)

    def cost(self, controls: Controls) -> float:
        return controls.repeats * (1.0 + controls.reevaluations / controls.population)
