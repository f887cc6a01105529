"""Exact PEM: the yardstick for every estimator of the expected weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from noisewise._check import integer
from noisewise._data import data
from noisewise.core.box import Box
from noisewise.methods.evolution import CMAOptions, EvolutionMemory, Weights
from noisewise.methods.method import Distribution, Setup
from noisewise.noise.weights import expected_weights, normalised
from noisewise.population import Population


@data
@dataclass(slots=True, kw_only=True)
class PEMMemory(EvolutionMemory):
    """The box, because ``draws`` takes points as the user knows them."""

    box: Box


@dataclass(frozen=True, kw_only=True)
class PEM(CMAOptions):
    """Conditional expected rank weights, by Monte Carlo. **For studies, never for real use.**

    ``draws(X, n, rng)`` returns an (n, len(X)) array of fresh independent noisy evaluations of
    the rows of ``X``. They are not charged, so the method sees far more than its budget: it
    shows what expected weights could do if the noise were known. Smaller values are better: where
    the objective is maximised, ``draws`` returns the negatives.

    >>> import noisewise as nw
    >>> def draws(X, n, rng):
    ...     return (X * X).sum(axis=1) + rng.normal(size=(n, len(X)))
    >>> method = nw.methods.PEM(draws=draws)
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=300, method=method, rng=0)
    >>> r.nfev
    300
    """

    name: ClassVar[str] = "pem"

    draws: Callable[..., Any] | None = None
    n_draws: int = 128
    covariance: str = "diagonal"

    def __post_init__(self) -> None:
        super().__post_init__()
        integer("n_draws", self.n_draws, least=1)
        if not callable(self.draws):
            raise ValueError(
                "draws must be a function f(X, n, rng) -> (n, len(X)) array of fresh noisy "
                f"evaluations, got {self.draws!r}"
            )

    def start(self, setup: Setup, distribution: Distribution | None = None) -> Any:
        return PEMMemory(**self.begin(setup, distribution), box=setup.box)

    def weigh(
        self, memory: PEMMemory, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, PEMMemory]:
        assert self.draws is not None
        k, profile = len(population), self.profile_weights(population)
        Y = np.asarray(self.draws(memory.box.outer(population.X), self.n_draws, rng), dtype=float)
        if Y.shape != (self.n_draws, k):
            raise ValueError(f"draws must return shape {(self.n_draws, k)}, got {Y.shape}")
        weights = expected_weights(Y.argsort(axis=1, kind="stable"), profile)
        # Negative weights cancel positive ones in the average.
        return Weights(normalised(weights) if profile[-1] < 0.0 else weights), memory
