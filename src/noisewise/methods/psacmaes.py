"""PSA-CMA-ES: population-size adaptation, as many candidates as it takes for the updates to agree
(Nishida and Akimoto, GECCO 2018).

| symbol | meaning | shape |
|---|---|---|
| Delta | movement of mean and covariance in one update | (n,), as C |
| p | path: decaying sum of Delta / sqrt(E |Delta|^2 under random selection) | as Delta |
| beta | how fast the path forgets | |
| gamma_p, gamma_sigma, gamma_c | what the paths p, p_sigma, p_c reached of their lengths | [0, 1] |
| alpha | squared length of the path, over gamma_p, at which the population stays | |
| lambda_r | population size before rounding | |
| a | E |z z^T - I|^2 for a standard normal z, as far as the model learns it | |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from noisewise._check import integer_or_none, positive_real
from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.cma.evolution import CMAOptions, EvolutionMemory, Weights
from noisewise.cma.learning_rate import mean_movement, shape_movement
from noisewise.cma.strategy import State, Update, safe_sigma
from noisewise.measured.population import Population
from noisewise.methods.method import Distribution, Setup

#: Generations for which the budget has to last at the largest population, by default.
_GENERATIONS = 20


@data
@dataclass(slots=True, kw_only=True)
class PSAMemory(EvolutionMemory):
    """The path of the movements and the population size it led to."""

    smallest: int
    largest: int
    mean: FloatArray
    shape: FloatArray
    wanted: float  # lambda_r
    filled: float = 0.0  # gamma_p
    filled_c: float = 0.0  # gamma_c


@data
@dataclass(frozen=True, kw_only=True)
class PSACMAES(CMAOptions):
    """Grows the population while successive updates look like a random walk and shrinks it
    while they agree. ``population`` is the first and smallest size.

    alpha
        Squared length of the normalised path of updates at which the population stays; larger:
        larger populations.
    beta
        How fast that path forgets, in (0, 1]; also the speed of the population size.
    largest
        Largest population; None: a twentieth of the budget.

    >>> import noisewise as nw
    >>> method = "psa-cma-es"
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=600, method=method, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 0.1)
    (600, True)
    """

    name: ClassVar[str] = "psa-cma-es"

    alpha: float = 1.4
    beta: float = 0.4
    largest: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_real("alpha", self.alpha)
        positive_real("beta", self.beta, most=1.0)
        integer_or_none("largest", self.largest, least=2)
        if self.profile.weights(8).min() < 0.0:
            raise ValueError(
                "profile must have no negative weights here, since the expected length of the "
                f"path is known without them only, got {self.profile!r}"
            )

    def resume(self, memory: PSAMemory, setup: Setup) -> PSAMemory:
        memory.largest = self._largest(memory.smallest, setup)
        return memory

    def start(self, setup: Setup, distribution: Distribution | None = None) -> Any:
        base = self.begin(setup, distribution)
        k = base["population"]
        return PSAMemory(
            **base,
            smallest=k,
            largest=self._largest(k, setup),
            mean=np.zeros(setup.dimension),
            shape=np.zeros_like(base["state"].covariance.C),
            wanted=float(k),
        )

    def _largest(self, smallest: int, setup: Setup) -> int:
        return max(smallest, self.largest or setup.budget // _GENERATIONS)

    def weigh(
        self, memory: PSAMemory, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, PSAMemory]:
        return self.ranked(population.samples.mean(), population), memory

    def adapt(
        self,
        memory: PSAMemory,
        population: Population,
        before: State,
        after: State,
        update: Update,
        rng: np.random.Generator,
    ) -> PSAMemory:
        memory = self.walk(memory, population, before, after, update)
        new = max(memory.smallest, round(memory.wanted))
        old = memory.population
        if new != old:
            # The best step size depends on the population.
            n, began = len(before.mean), population.began
            ratio = self._best_step(new, began, n) / self._best_step(old, began, n)
            after = replace(after, sigma=safe_sigma(after.sigma * ratio))
        return replace(memory, state=after, population=new)

    def walk(
        self,
        memory: PSAMemory,
        population: Population,
        before: State,
        after: State,
        update: Update,
    ) -> PSAMemory:
        """The path after one more movement, and the population it calls for."""
        keep, c_c = 1.0 - self.beta, update.rates.c_c
        cov = self.strategy(memory).covariance
        filled_c = (1.0 - c_c) ** 2 * memory.filled_c + update.moving * c_c * (2.0 - c_c)
        expected = expected_movement(
            cov.scatter(len(before.mean)),
            self.profile_weights(population),
            self.c_mean,
            after,
            update,
            filled_c,
        )
        gain = math.sqrt(self.beta * (2.0 - self.beta) / expected)
        mean = keep * memory.mean + gain * mean_movement(cov, before, after)
        shape = keep * memory.shape + gain * shape_movement(cov, before, after)
        filled = keep**2 * memory.filled + self.beta * (2.0 - self.beta)
        square = float(np.vdot(mean, mean) + np.vdot(shape, shape))
        change = math.exp(max(self.beta * (filled - square / self.alpha), -700.0))
        wanted = min(max(memory.wanted * change, memory.smallest), memory.largest)
        return replace(
            memory, mean=mean, shape=shape, wanted=wanted, filled=filled, filled_c=filled_c
        )

    def _best_step(self, population: int, progress: float, n: int) -> float:
        """The best step size on the sphere with this population, up to a common factor."""
        from scipy.special import ndtri  # takes long to import

        w = np.maximum(self.profile.weights(population, progress), 0.0)
        mu_eff = 1.0 / float(w @ w)
        # Blom's approximation of the expected normal order statistics.
        order = ndtri((np.arange(1, population + 1) - 0.375) / (population + 0.25))
        c = -float(w @ order)
        return c * n * mu_eff / (n - 1.0 + c * c * mu_eff)


def expected_movement(
    a: float, profile: FloatArray, c_mean: float, after: State, update: Update, filled_c: float
) -> float:
    """E |Delta|^2 of one update when ranks are random, in the stationary state of the paths."""
    n, mu_eff, rates = len(after.mean), update.mu_eff, update.rates
    chi_2 = n * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)) ** 2
    filled_sigma = 1.0 - after.unfilled
    # Variance of the logarithm of the step-size change.
    wobble = filled_sigma * (n - chi_2) / chi_2 * (rates.c_sigma / rates.d_sigma) ** 2
    w = np.maximum(profile, 0.0)
    c_c = rates.c_c
    rank_mu = rates.c_mu**2 * a / mu_eff
    rank_one = rates.c_1**2 * (filled_c**2 * (a + n) - 2.0 * filled_c * n + n)
    both = 2.0 * rates.c_1 * rates.c_mu * c_c * (2.0 - c_c) * mu_eff * float(np.sum(w**3)) * a
    mean = n * c_mean**2 / mu_eff
    return mean + 2.0 * n * wobble + 0.5 * (1.0 + 8.0 * wobble) * (rank_mu + both + rank_one)
