"""PEM: expected rank weights where the noise is known, the yardstick for every estimator of them.

| symbol | meaning | shape |
|---|---|---|
| profile | weight of each rank, best first | (k,) |
| Y | draws: what the values of the candidates could be | (n_draws, k) |
| w_i | mean over the rows of Y of the weight that the rank of candidate i earns | (k,) |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from noisewise._check import integer
from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.core.box import Box
from noisewise.methods.evolution import CMAOptions, EvolutionMemory, Weights
from noisewise.methods.method import Distribution, Explanation, Setup
from noisewise.noise.known import posterior
from noisewise.noise.weights import expected_weights, normalised, rank_weights
from noisewise.population import Population


@data
@dataclass(slots=True, kw_only=True)
class PEMMemory(EvolutionMemory):
    """The box, because ``draws`` takes points as the user knows them."""

    box: Box
    #: Generations without a known error, in which ranks were taken as they are.
    unknown: int = 0


@dataclass(frozen=True, kw_only=True)
class PEM(CMAOptions):
    """Conditional expected rank weights, by Monte Carlo.

    draws
        None: the weights are expected ones given the values and their known standard errors
        (``fun`` returns ``(value, se)``), with normal errors and a normal prior. Values without an
        error count as if they had the median one; generations without any are ranked as they are.
        Otherwise **for studies, never for real use**: ``draws(X, n, rng)`` returns an
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

    draws: Callable[..., Any] | None = None
    n_draws: int = 128
    covariance: str = "diagonal"

    def __post_init__(self) -> None:
        super().__post_init__()
        integer("n_draws", self.n_draws, least=1)
        if self.draws is not None and not callable(self.draws):
            raise ValueError(
                "draws must be None or a function f(X, n, rng) -> (n, len(X)) array of fresh noisy "
                f"evaluations, got {self.draws!r}"
            )

    def start(self, setup: Setup, distribution: Distribution | None = None) -> Any:
        return PEMMemory(**self.begin(setup, distribution), box=setup.box)

    def weigh(
        self, memory: PEMMemory, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, PEMMemory]:
        profile = self.profile_weights(population)
        if self.draws is None:
            return self._from_errors(memory, population, profile, rng)
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
            return Weights(rank_weights(population.samples.mean(), profile)), memory
        centre, sd = known
        Y = centre + sd * rng.standard_normal((self.n_draws, len(population)))
        weights = expected_weights(Y.argsort(axis=1, kind="stable"), profile)
        weights[np.isinf(centre)] = np.minimum(weights[np.isinf(centre)], 0.0)
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
