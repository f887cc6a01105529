"""A few second looks per generation, at random candidates, to keep an eye on the noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._types import IntArray
from noisewise.evaluation.plans import NOTHING, everyone
from noisewise.generation import Controls, Generation, Plan
from noisewise.noise.displacement import moves, reevaluated

#: Second looks of the first generation if the objective turns out to be noisy.
_FIRST = 6
#: More second looks for every surprising one.
_BURST = 3


@dataclass(frozen=True)
class Watch(Plan):
    """Everyone once and, in the same wave, ``controls.reevaluations`` random candidates once
    more. Where a second look surprises (moves by more than ``surprise``) although little noise
    was expected, a few more follow at once, so that noise that sets in is seen in time."""

    surprise: float = 0.4

    def request(self, gen: Generation, memory: Any) -> IntArray:
        k, looks = len(gen.X), gen.controls.reevaluations
        if gen.wave == 0:
            if looks == 0:
                return everyone(k)
            again = gen.rng.permutation(k)[:looks]
            return np.concatenate((everyone(k), again))
        more = self._more(gen)
        if more <= 0:
            return NOTHING
        seen = gen.samples.values
        once = np.flatnonzero(np.isnan(seen[:, 1])) if seen.shape[1] > 1 else everyone(k)
        return gen.rng.permutation(once)[:more]

    def _more(self, gen: Generation) -> int:
        """How many more second looks this generation deserves."""
        who = reevaluated(gen.samples)
        if len(who) == 0:
            return 0
        values = gen.samples.values
        noisy = bool((values[who, 0] != values[who, 1]).any())
        if gen.index == 0:
            return min(_FIRST, len(gen.X)) - len(who) if noisy and gen.wave == 1 else 0
        if gen.controls.noise >= 0.5 or not noisy:
            return 0
        surprises = int((moves(gen.samples, who) > self.surprise).sum())
        most = min(gen.controls.reevaluations + _BURST * surprises, len(gen.X) // 2)
        return most - len(who)

    def cost(self, controls: Controls) -> float:
        return 1.0 + controls.reevaluations / controls.population
