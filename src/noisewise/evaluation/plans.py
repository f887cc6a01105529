"""Plans that do not look at the values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from noisewise._types import IntArray
from noisewise.generation import Generation, Plan

NOTHING: IntArray = np.empty(0, dtype=np.intp)


@lru_cache(maxsize=256)
def everyone(k: int) -> IntArray:
    """All of ``k`` candidates, once. Read-only, and always the same object."""
    out = np.arange(k)
    out.setflags(write=False)
    return out


@dataclass(frozen=True)
class Repeat(Plan):
    """Every candidate ``controls.repeats`` times, all at once."""

    def request(self, gen: Generation, memory: Any) -> IntArray:
        if gen.wave > 0:
            return NOTHING
        once, repeats = everyone(len(gen.X)), gen.controls.repeats
        # Whole rounds, so that a budget that ends in the middle still covers everyone.
        return once if repeats == 1 else np.tile(once, repeats)
