"""The probe: everyone twice, unless the first few repeat exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._types import IntArray
from noisewise.evaluation.plans import NOTHING, everyone
from noisewise.generation import Generation, Plan

#: Candidates evaluated again before the rest is.
FEW = 4


@dataclass(frozen=True)
class Probe(Plan):
    """Two evaluations of every candidate. With ``early_exit`` the `FEW` candidates farthest from
    the mean are repeated first; if all of them repeat exactly, the objective is taken for
    deterministic and the others are spared."""

    early_exit: bool = True

    def request(self, gen: Generation, memory: Any) -> IntArray:
        k = len(gen.X)
        if gen.wave == 0:
            return everyone(k)
        Z = gen.standardise(gen.X)
        farthest = (-(Z * Z).sum(axis=1)).argsort(kind="stable")
        few = farthest[:FEW] if self.early_exit else farthest[:0]
        if gen.wave == 1 and self.early_exit:
            return np.asarray(few)
        if gen.wave == (2 if self.early_exit else 1) and not repeats_exactly(gen):
            return np.setdiff1d(np.arange(k), few)
        return NOTHING


def repeats_exactly(gen: Generation) -> bool:
    """Whether every candidate evaluated twice had the same value both times. Failing twice is no
    evidence, failing once is."""
    values = gen.samples.values
    if values.shape[1] < 2:
        return False
    pair = values[~np.isnan(values[:, 1]), :2]
    return bool(np.isfinite(pair).any() and (pair[:, 0] == pair[:, 1]).all())
