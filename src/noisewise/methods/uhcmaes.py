"""UH-CMA-ES: uncertainty handling (Hansen, Niederberger, Guzzella and Koumoutsakos, IEEE TEC 2009).

| symbol | meaning |
|---|---|
| s | mean excess of the rank changes, in ranks; smoothed by c_s |
| theta | tolerance of the rank changes |
| t | evaluations per candidate before rounding down |
| alpha_t, alpha_sigma | growth of t and of the step size while s > 0 |
| k | number of candidates |
| old, new | value of each at first and on re-evaluation, (k,); nan: not re-evaluated |
| R | rank among all 2k values, from 1, not counting the candidate's other value |
| Delta | ranks strictly between a candidate's two values |
| limit(R) | the theta/2 quantile of |1 - R|, ..., |2k - 1 - R|: what is still tolerated at R |
| excess | Delta minus the mean of limit(R) of both values, which counts as one rank at least |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from noisewise._check import fraction, integer, one_of, positive_real
from noisewise._data import data
from noisewise._types import BoolArray, FloatArray, IntArray
from noisewise.cma.evolution import CMAOptions, EvolutionMemory, Weights
from noisewise.cma.strategy import State, Update, safe_sigma
from noisewise.cma.weights import AGGREGATES, Log, Profile, aggregate
from noisewise.measured.population import Population
from noisewise.measured.samples import Samples, ranks
from noisewise.methods.method import NOTHING, Distribution, Now, Setup, Size

TREATMENTS = ("evaluations", "sigma", "both")


@data
@dataclass(slots=True, kw_only=True)
class UHMemory(EvolutionMemory):
    """The smoothed measure s and the evaluations per candidate t it led to."""

    s: float = 0.0
    evaluations: float = 1.0


@data
@dataclass(frozen=True, kw_only=True)
class UHCMAES(CMAOptions):
    """Evaluates a few candidates of every generation again; where their ranks change more than
    tolerated, spends more evaluations per candidate or takes larger steps. Defaults are those
    later recommended by its first author; published were ``theta=0.2, smoothing=1, alpha_t=1.5``.

    treatment
        Of too much noise: ``"evaluations"``, ``"sigma"``, or ``"both"`` (larger steps once
        there are ``max_evaluations``).
    max_evaluations
        Most evaluations of each candidate.
    theta
        Rank changes tolerated, as a fraction of those that pure chance makes, in [0, 1].
    smoothing
        Weight of the newest measurement, in (0, 1].
    alpha_t
        Growth of the evaluations per candidate while there is too much noise, at least one;
        None: 1 + 2/(d + 10). They shrink by its fourth root otherwise.
    fraction
        Part of the candidates that is evaluated again; never fewer than two candidates.
    aggregate
        What repeated evaluations are turned into: ``"mean"``, ``"median"`` or ``"trimmed"``.

    >>> import noisewise as nw
    >>> method = nw.methods.UHCMAES(max_evaluations=5)
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=600, method=method, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 0.1)
    (600, True)
    """

    name: ClassVar[str] = "uh-cma-es"
    rank_based: ClassVar[bool] = False

    treatment: str = "both"
    max_evaluations: int = 30
    theta: float = 0.5
    smoothing: float = 0.3
    alpha_t: float | None = None
    fraction: float = 0.1
    aggregate: str = "median"
    profile: Profile = field(default_factory=lambda: Log(active=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("treatment", self.treatment, TREATMENTS)
        integer("max_evaluations", self.max_evaluations, least=1)
        fraction("theta", self.theta)
        positive_real("smoothing", self.smoothing, most=1.0)
        if self.alpha_t is not None and positive_real("alpha_t", self.alpha_t) < 1.0:
            raise ValueError(f"alpha_t must be None or at least one, got {self.alpha_t!r}")
        fraction("fraction", self.fraction)
        one_of("aggregate", self.aggregate, AGGREGATES)

    def start(self, setup: Setup, distribution: Distribution | None = None) -> Any:
        base = self.begin(setup, distribution)
        return UHMemory(**base, reevaluations=max(2, round(self.fraction * base["population"])))

    def size(self, memory: UHMemory, now: Now) -> Size:
        k = memory.population
        return Size(k, memory.repeats * (1.0 + memory.reevaluations / k))

    def request(
        self, memory: UHMemory, population: Population, rng: np.random.Generator
    ) -> IntArray:
        """Every candidate ``repeats`` times; then the first ``reevaluations`` candidates as often
        again. Candidates come in random order, so the first are as good a sample as any."""
        if population.wave > 1:
            return NOTHING
        n = len(population)
        count = n if population.wave == 0 else min(memory.reevaluations, n)
        return np.tile(np.arange(count), memory.repeats)

    def weigh(
        self, memory: UHMemory, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, UHMemory]:
        """Rank by the sum of a candidate's two ranks among all values, old and new. Ties go to
        the smaller rank change, then to the smaller value."""
        values = aggregate(population.samples, self.aggregate)
        change = self._change(memory, population)
        if change is None:
            return self.ranked(values, population), memory
        delta = change.delta.astype(float)
        delta[~change.again] = delta[change.again].mean()
        order = np.lexsort((values, delta, change.old + change.new))
        place = np.empty(len(order))
        place[order] = np.arange(len(order))
        place[np.isinf(values)] = np.inf
        return self.ranked(place, population), memory

    def adapt(
        self,
        memory: UHMemory,
        population: Population,
        before: State,
        after: State,
        update: Update,
        rng: np.random.Generator,
    ) -> UHMemory:
        """While s > 0, evaluate more often, up to ``max_evaluations`` times; with ``"both"``, make
        the steps larger once that is reached. While s <= 0, evaluate less often again."""
        change = self._change(memory, population)
        s, t = memory.s, memory.evaluations
        if change is not None:
            s += self.smoothing * (float(change.excess(self.theta).mean()) - s)
        noisy, alpha_sigma = s > 0.0, 1.0 + 2.0 / (len(after.mean) + 10.0)
        at_most = self.treatment == "sigma" or t >= self.max_evaluations
        if noisy and at_most and self.treatment != "evaluations":
            after = replace(after, sigma=safe_sigma(after.sigma * alpha_sigma))
        if self.treatment != "sigma":
            alpha_t = self.alpha_t or alpha_sigma
            t *= alpha_t if noisy else alpha_t**-0.25
            t = min(max(t, 1.0), float(self.max_evaluations))
        # On average ``fraction`` of the candidates, and at least two.
        again = math.floor(max(2.0, self.fraction * memory.population) + rng.random())
        return replace(memory, state=after, s=s, evaluations=t, repeats=int(t), reevaluations=again)

    def _change(self, memory: UHMemory, population: Population) -> RankChange | None:
        """Rank changes between the first ``repeats`` values of each candidate and those that came
        later, each aggregated; None where no candidate was evaluated again."""
        values = population.samples.values
        later = values[:, memory.repeats :]
        again = ~np.isnan(later).all(axis=1)
        if not again.any():
            return None
        old = aggregate(Samples(values[:, : memory.repeats]), self.aggregate)
        new = np.where(again, aggregate(Samples(later), self.aggregate), np.nan)
        return rank_change(old, new)


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
        return np.asarray(np.maximum(np.abs(self.new - self.old) - 1, 0))

    def excess(self, theta: float) -> FloatArray:
        """s of the re-evaluated candidates, in ranks."""
        old, new = self.old[self.again], self.new[self.again]
        R = np.stack((old + 1 - (old > new), new + 1 - (new > old)))
        others = np.arange(1, 2 * len(self.old))
        limits = np.quantile(np.abs(others - R[..., None]), theta / 2.0, axis=-1, method="hazen")
        return np.asarray(self.delta[self.again] - np.maximum(limits.mean(axis=0), 1.0))


def rank_change(old: FloatArray, new: FloatArray) -> RankChange:
    """The joint ranking; ties go to the old value, then to the lower index."""
    again = ~np.isnan(new)
    both = ranks(np.concatenate((old, np.where(again, new, old))))
    return RankChange(again, both[: len(old)], both[len(old) :])
