"""Treatment of too much noise: more evaluations per candidate, larger steps
(Hansen, Niederberger, Guzzella and Koumoutsakos, IEEE TEC 2009).

| symbol | meaning |
|---|---|
| s | mean excess of the rank changes, in ranks; smoothed by c_s |
| theta | tolerance of the rank changes |
| t | evaluations per candidate before rounding down |
| alpha_t, alpha_sigma | growth of t and of the step size while s > 0 |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from noisewise._data import data
from noisewise.core.strategy import Info, State, safe_sigma
from noisewise.generation import Adaptation, Controls, Generation, Setup
from noisewise.selection.ranksum import reranked

TREATMENTS = ("evaluations", "sigma", "both")


@data
@dataclass(slots=True)
class Uncertainty:
    """The smoothed measure and the evaluations per candidate it led to."""

    s: float = 0.0
    evaluations: float = 1.0


@dataclass(frozen=True)
class Treatment(Adaptation):
    """While s > 0, evaluate more often, up to ``most`` times; with ``"both"``, make the steps
    larger once that is reached. While s <= 0, evaluate less often again."""

    treatment: str
    aggregate: str
    theta: float
    c_s: float
    alpha_t: float
    alpha_sigma: float
    most: int
    fraction: float

    def start(self, setup: Setup) -> Uncertainty:
        return Uncertainty()

    def step(
        self, memory: Uncertainty, gen: Generation, before: State, after: State, info: Info
    ) -> tuple[Uncertainty, Controls, State]:
        change = reranked(gen, self.aggregate)
        s = memory.s
        if change is not None:
            s += self.c_s * (float(change.excess(self.theta).mean()) - s)
        noisy, t, state = s > 0.0, memory.evaluations, after
        at_most = self.treatment == "sigma" or t >= self.most
        if noisy and at_most and self.treatment != "evaluations":
            state = replace(after, sigma=safe_sigma(after.sigma * self.alpha_sigma))
        if self.treatment != "sigma":
            t *= self.alpha_t if noisy else self.alpha_t**-0.25
            t = min(max(t, 1.0), float(self.most))
        controls = replace(
            gen.controls, repeats=int(t), reevaluations=self._again(gen.controls, gen.rng.random())
        )
        return Uncertainty(s, t), controls, state

    def _again(self, controls: Controls, u: float) -> int:
        """Candidates to re-evaluate, on average ``fraction`` of them and at least two."""
        return math.floor(max(2.0, self.fraction * controls.population) + u)
