"""How much ranks change when candidates are evaluated again (Hansen, Niederberger, Guzzella and
Koumoutsakos, IEEE TEC 2009).

| symbol | meaning | shape |
|---|---|---|
| k | number of candidates | |
| old, new | value of each candidate at first and on re-evaluation; nan: not re-evaluated | (k,) |
| R | rank among all 2k values, from 1, not counting the candidate's other value | |
| Delta | ranks strictly between a candidate's two values | |
| limit(R) | the theta/2 quantile of |1 - R|, ..., |2k - 1 - R|: what is still tolerated at R | |
| s | Delta minus the mean of the two limits, at least one rank: positive is too much noise | |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisewise._types import BoolArray, FloatArray, IntArray
from noisewise.noise.samples import ranks


@dataclass(frozen=True, slots=True)
class RankChange:
    """The joint ranking of old and new values, 0-based. Candidates that were not re-evaluated
    count twice with the same value."""

    again: BoolArray
    old: IntArray
    new: IntArray

    @property
    def delta(self) -> IntArray:
        """Delta of every candidate."""
        out: IntArray = np.maximum(np.abs(self.new - self.old) - 1, 0)
        return out

    def excess(self, theta: float) -> FloatArray:
        """s of the re-evaluated candidates, in ranks."""
        old, new = self.old[self.again], self.new[self.again]
        R = np.stack((old + 1 - (old > new), new + 1 - (new > old)))
        others = np.arange(1, 2 * len(self.old))
        limits = np.quantile(np.abs(others - R[..., None]), theta / 2.0, axis=-1, method="hazen")
        out: FloatArray = self.delta[self.again] - np.maximum(limits.mean(axis=0), 1.0)
        return out


def rank_change(old: FloatArray, new: FloatArray) -> RankChange:
    """The joint ranking; ties go to the old value, then to the lower index."""
    again = ~np.isnan(new)
    both = ranks(np.concatenate((old, np.where(again, new, old))))
    return RankChange(again, both[: len(old)], both[len(old) :])
