"""Plans that do not look at the values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._types import IntArray
from noisewise.generation import Generation, Plan

NOTHING: IntArray = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Repeat(Plan):
    """Every candidate ``controls.repeats`` times, all at once."""

    def request(self, gen: Generation, memory: Any) -> IntArray:
        if gen.wave > 0:
            return NOTHING
        everyone = np.arange(len(gen.X))
        repeats = gen.controls.repeats
        # Whole rounds, so that a budget that ends in the middle still covers everyone.
        return everyone if repeats == 1 else np.tile(everyone, repeats)
