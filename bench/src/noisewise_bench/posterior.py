"""Expected weights from the posterior of a Gaussian process: the closest relative of RB-PEM.

| symbol | meaning | shape |
|---|---|---|
| Z | newest points of all generations, in units of the search distribution | (N, n) |
| t | normal scores of their noisy values, zero mean | (N,) |
| f | posterior draws of the noise-free scores at the candidates | (b, k) |

As in DTS-CMA-ES with expected recombination weights, the weight of a candidate is the mean of its
rank's weight over draws of f. The candidates' own values are among the data, evaluated once, and
nothing is re-evaluated. `PEM(draws="model")` of the library is this; here are its controls.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from noisewise.cma.weights import expected_weights, normalised, rank_weights
from noisewise.gp.ranking import chosen, posterior, scores
from noisewise.measured.noise import Archive
from noisewise.plugin import CMAOptions, Distribution, EvolutionMemory, Population, Setup, Weights
from noisewise.plugin import data as registered
from noisewise_bench import methods
from noisewise_bench.problem import Oracle

#: Generations between two choices of them.
EVERY: Final = 5


@registered
@dataclass(slots=True, kw_only=True)
class PosteriorMemory(EvolutionMemory):
    """The newest points, and length scale and signal share in use."""

    archive: Archive
    length: float = 1.0
    signal: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Posterior(CMAOptions):
    """Separable CMA-ES whose weights are expected ones under a Gaussian process.

    keep
        Points kept.
    n_draws
        Draws of the posterior per generation.
    by_rank
        The weights are handed out by the observed ranks: as flat, without what the model knows of
        single candidates; the control.
    ordered
        The weights of the profile are handed out in the order of the expected ones: as sharp as
        hard ranks, but in the order that the model believes in.
    """

    name: ClassVar[str] = "posterior"
    rank_based: ClassVar[bool] = False

    keep: int = 150
    n_draws: int = 64
    by_rank: bool = False
    ordered: bool = False
    covariance: str = "diagonal"

    def start(self, setup: Setup, distribution: Distribution | None = None) -> Any:
        archive = Archive(self.keep)
        return PosteriorMemory(**self.begin(setup, distribution), archive=archive)

    def weigh(
        self, memory: PosteriorMemory, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, PosteriorMemory]:
        y, profile = population.samples.first, self.profile_weights(population)
        good = np.isfinite(y)
        past_X, past_y = (part.copy() for part in memory.archive.points())
        memory.archive.insert(population.X[good], y[good])
        here = int(good.sum())
        if here < 2:
            return Weights(rank_weights(y, profile)), memory
        strategy = self.strategy(memory)
        X = np.vstack((population.X[good], past_X)) if len(past_y) else population.X[good]
        Z = strategy.standardise(memory.state, X) / math.sqrt(X.shape[1])
        t = scores(np.concatenate((y[good], past_y)))
        if memory.generation % EVERY == 0:
            memory.length, memory.signal = chosen(Z, t)
        mean, root = posterior(Z, t, here, memory.length, memory.signal)
        draws = np.full((self.n_draws, len(y)), np.inf)
        draws[:, good] = mean + rng.standard_normal((self.n_draws, here)) @ root.T
        weights = expected_weights(draws.argsort(axis=1, kind="stable"), profile)
        if not good.all():
            weights[~good] = np.minimum(weights[~good], 0.0)
            weights = normalised(weights)
        if self.by_rank:
            weights = rank_weights(y, np.sort(weights)[::-1])
        elif self.ordered:
            weights = rank_weights(np.where(good, -weights, np.inf), profile)
        return Weights(weights), memory


def gp(
    oracle: Oracle,
    budget: int,
    seed: int,
    *,
    by_rank: bool = False,
    ordered: bool = False,
    population: int | None = None,
) -> Any:
    """A run of `Posterior` for the bench."""
    method = Posterior(by_rank=by_rank, ordered=ordered, population=population)
    if population is not None:  # as many generations as at the default size
        method = dataclasses.replace(method, keep=3 * population)
    return methods.search(oracle, budget, seed, method)
