"""PEM: expected rank weights where the noise is known, the yardstick for every estimator of them,
and from a model of the values.

| symbol | meaning | shape |
|---|---|---|
| profile | weight of each rank, best first | (k,) |
| Y | draws: what the values of the candidates could be | (n_draws, k) |
| w_i | mean over the rows of Y of the weight that the rank of candidate i earns | (k,) |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from noisewise._check import integer
from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.cma.evolution import CMAOptions, EvolutionMemory, Weights
from noisewise.cma.weights import expected_weights, normalised, rank_weights
from noisewise.gp import ranking
from noisewise.measured.known import posterior
from noisewise.measured.noise import Archive
from noisewise.measured.population import Population
from noisewise.methods.method import Distribution, Explanation, Setup
from noisewise.problem.box import Box

#: The value of ``draws`` that asks for a model.
MODEL = "model"
#: Points that the model sees at least, and generations of them; it is fitted every fifth one.
_KEPT, _GENERATIONS, _EVERY = 150, 3, 5


@data
@dataclass(slots=True, kw_only=True)
class PEMMemory(EvolutionMemory):
    """The box, because ``draws`` takes points as the user knows them; the model's points, and its
    length scale and share of signal."""

    box: Box
    #: Generations without a known error, in which ranks were taken as they are.
    unknown: int = 0
    archive: Archive | None = None
    length: float = 1.0
    signal: float = 0.5


@dataclass(frozen=True, kw_only=True)
class PEM(CMAOptions):
    """Conditional expected rank weights, by Monte Carlo.

    draws
        None: the weights are expected ones given the values and their known standard errors
        (``fun`` returns ``(value, se)``), with normal errors and a normal prior. Values without an
        error count as if they had the median one; generations without any are ranked as they are.
        ``"model"``: they are expected ones under a Gaussian process over the ranks of the newest
        points of all generations; errors that are told are not used.
        A function is **for studies, never for real use**: ``draws(X, n, rng)`` returns an
        (n, len(X)) array of fresh independent noisy evaluations of the rows of ``X``. They are not
        charged, so the method sees far more than its budget: it shows what expected weights could
        do if the noise were known. Values and errors that are told do not matter then. Smaller
        values are better: where the objective is maximised, ``draws`` returns the negatives.
    n_draws
        Draws per generation.

    >>> import noisewise as nw
    >>> def draws(X, n, rng):
    ...     return (X * X).sum(axis=1) + rng.normal(size=(n, len(X)))
    >>> method = nw.methods.PEM(draws=draws)
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=300, method=method, rng=0)
    >>> r.nfev
    300
    """

    name: ClassVar[str] = "pem"
    weighs_errors: ClassVar[bool] = True

    draws: Callable[..., Any] | str | None = None
    n_draws: int = 128
    covariance: str = "diagonal"

    def __post_init__(self) -> None:
        super().__post_init__()
        integer("n_draws", self.n_draws, least=1)
        modelled = isinstance(self.draws, str) and self.draws == MODEL
        if self.draws is not None and not modelled and not callable(self.draws):
            raise ValueError(
                f"draws must be None, {MODEL!r} or a function f(X, n, rng) -> (n, len(X)) array of "
                f"fresh noisy evaluations, got {self.draws!r}"
            )

    def start(self, setup: Setup, distribution: Distribution | None = None) -> Any:
        begun = self.begin(setup, distribution)
        kept = Archive(max(_KEPT, _GENERATIONS * begun["population"]))
        return PEMMemory(**begun, box=setup.box, archive=kept if self.draws == MODEL else None)

    def weigh(
        self, memory: PEMMemory, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, PEMMemory]:
        profile = self.profile_weights(population)
        if self.draws is None:
            return self._from_errors(memory, population, profile, rng)
        if isinstance(self.draws, str):
            return self._from_model(memory, population, profile, rng)
        shape = self.n_draws, len(population)
        Y = np.asarray(self.draws(memory.box.outer(population.X), self.n_draws, rng), dtype=float)
        if Y.shape != shape:
            raise ValueError(f"draws must return shape {shape}, got {Y.shape}")
        weights = expected_weights(Y.argsort(axis=1, kind="stable"), profile)
        # Negative weights cancel positive ones in the average.
        return Weights(normalised(weights) if profile[-1] < 0.0 else weights), memory

    def _from_errors(
        self,
        memory: PEMMemory,
        population: Population,
        profile: FloatArray,
        rng: np.random.Generator,
    ) -> tuple[Weights, PEMMemory]:
        """Expected weights given the known errors; failed candidates never pull the mean."""
        known = posterior(population.samples)
        if known is None:
            memory.unknown += 1
            return self.ranked(population.samples.mean(), population), memory
        centre, sd = known
        Y = centre + sd * rng.standard_normal((self.n_draws, len(population)))
        weights = expected_weights(Y.argsort(axis=1, kind="stable"), profile)
        weights[np.isinf(centre)] = np.minimum(weights[np.isinf(centre)], 0.0)
        return Weights(normalised(weights)), memory

    def _from_model(
        self,
        memory: PEMMemory,
        population: Population,
        profile: FloatArray,
        rng: np.random.Generator,
    ) -> tuple[Weights, PEMMemory]:
        """Expected weights given the values of this and of earlier generations."""
        archive, y = memory.archive or Archive(_KEPT), population.samples.mean()
        good = np.isfinite(y)
        here, (past_X, past_y) = int(good.sum()), (part.copy() for part in archive.points())
        archive.insert(population.X[good], y[good])
        memory.archive = archive
        if here < 2:
            return Weights(rank_weights(y, profile)), memory
        X = np.vstack((population.X[good], past_X)) if len(past_y) else population.X[good]
        Z = self.strategy(memory).standardise(memory.state, X) / math.sqrt(X.shape[1])
        t = ranking.scores(np.concatenate((y[good], past_y)))
        if memory.generation % _EVERY == 0:
            memory.length, memory.signal = ranking.chosen(Z, t)
        mean, root = ranking.posterior(Z, t, here, memory.length, memory.signal)
        Y = np.full((self.n_draws, len(y)), np.inf)
        Y[:, good] = mean + rng.standard_normal((self.n_draws, here)) @ root.T
        weights = expected_weights(Y.argsort(axis=1, kind="stable"), profile)
        weights[~good] = np.minimum(weights[~good], 0.0)
        return Weights(normalised(weights)), memory

    def explain(self, memory: PEMMemory) -> Explanation:
        told = super().explain(memory)
        if memory.unknown == 0:
            return told
        said = (
            f"pem got no standard errors in {memory.unknown} of {memory.generation} generations "
            "and ranked their values as they are: fun should return (value, se)"
        )
        return replace(told, warnings=[*told.warnings, said])
