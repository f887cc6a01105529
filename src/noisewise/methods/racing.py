"""Racing: sequential re-evaluation at the elite boundary.

| symbol | meaning | shape |
|---|---|---|
| v | score of each value: the normal quantile of its rank among all values | (k, r) |
| v_i, n_i | mean score of candidate i, and of how many values | (k,) |
| b | elite boundary: midway between the mean scores of ranks mu and mu + 1 | |
| s2 | noise variance of one score, from this and earlier generations | |
| z_i | |v_i - b| / sqrt(s2 / n_i): how certain i's side of the boundary is | (k,) |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from noisewise._check import integer_or_none, positive_real
from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.cma.evolution import CMAOptions, EvolutionMemory, Weights
from noisewise.measured.population import Population
from noisewise.measured.samples import Samples, midranks
from noisewise.methods.method import NOTHING, Distribution, Setup

#: Waves in which the re-evaluations of a generation are spent.
_WAVES = 3
#: What a generation's contribution to the scatter loses in the next one.
_FORGET = 0.1


@data
@dataclass(slots=True, kw_only=True)
class RacingMemory(EvolutionMemory):
    """Fading sum of squares of the scores within candidates, and its degrees of freedom. It
    starts as if noise were all there is, seen once."""

    squares: float = 1.0
    freedom: float = 1.0

    def variance(self, squares: float = 0.0, freedom: int = 0) -> float:
        """s2, with the values of the generation under way; not zero."""
        return max((self.squares + squares) / (self.freedom + freedom), 1e-12)


@data
@dataclass(frozen=True, kw_only=True)
class Racing(CMAOptions):
    """Evaluates again, up to a cap per generation, the candidates of which it is least certain
    whether they belong to the better half. Candidates are ranked by the mean normal score of
    their values: no single value counts for more than its order.

    cap
        Most re-evaluations per generation; None: half the population.
    confidence
        A candidate is settled when it is this many standard errors away from the boundary.

    >>> import noisewise as nw
    >>> method = nw.methods.Racing(cap=2)
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=600, method=method, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 0.1)
    (600, True)
    """

    name: ClassVar[str] = "racing"

    cap: int | None = None
    confidence: float = 0.7

    def __post_init__(self) -> None:
        super().__post_init__()
        integer_or_none("cap", self.cap, least=1)
        positive_real("confidence", self.confidence)

    def start(self, setup: Setup, distribution: Distribution | None = None) -> Any:
        base = self.begin(setup, distribution)
        return RacingMemory(**base, reevaluations=self.cap or base["population"] // 2)

    def request(
        self, memory: RacingMemory, population: Population, rng: np.random.Generator
    ) -> IntArray:
        """Everyone once; then, in a few waves, the candidates with z below ``confidence``, least
        certain first, until the cap is reached. One candidate is always re-evaluated, so that
        noise which sets in late is noticed."""
        k, cap = len(population), memory.reevaluations
        if population.wave == 0:
            return np.arange(k)
        left = cap - (int((~np.isnan(population.samples.values)).sum()) - k)
        if left <= 0:
            return NOTHING
        z = self._certainty(memory, population.comparable())
        doubtful = int((z < self.confidence).sum())
        if population.wave == 1:
            doubtful = max(doubtful, 1)
        return z.argsort(kind="stable")[: min(doubtful, left, -(-cap // _WAVES))]

    def _certainty(self, memory: RacingMemory, population: Population) -> FloatArray:
        """z of every candidate."""
        v = scores(population.samples)
        counts = (~np.isnan(v)).sum(axis=1)
        means = np.nansum(v, axis=1) / counts
        mu = int((self.profile_weights(population) > 0.0).sum())
        ordered = np.sort(means)
        boundary = 0.5 * (ordered[mu - 1] + ordered[min(mu, len(ordered) - 1)])
        s2 = memory.variance(*within(v))
        return np.asarray(np.abs(means - boundary) / np.sqrt(s2 / counts))

    def weigh(
        self, memory: RacingMemory, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, RacingMemory]:
        v = scores(population.samples)
        squares, freedom = within(v)
        keep = 1.0 - _FORGET
        memory = replace(
            memory,
            squares=keep * memory.squares + squares,
            freedom=keep * memory.freedom + freedom,
        )
        means = np.nansum(v, axis=1) / (~np.isnan(v)).sum(axis=1)
        means[population.samples.counts == 0] = np.inf
        return self.ranked(means, population), memory


def scores(samples: Samples) -> FloatArray:
    """v, nan where there is no value. Equal values share a score; failures share the worst."""
    from scipy.special import ndtri  # takes long to import

    there, out = ~np.isnan(samples.values), np.full(samples.values.shape, np.nan)
    out[there] = ndtri(midranks(samples.values[there]) / there.sum())
    return out


def within(v: FloatArray) -> tuple[float, int]:
    """Sum of squares of the scores about their candidates' means, and its degrees of freedom."""
    there = ~np.isnan(v)
    counts = there.sum(axis=1)
    means = np.nansum(v, axis=1) / counts
    square = np.where(there, v - means[:, None], 0.0) ** 2
    return float(square.sum()), int((counts - 1).sum())
