"""Population-size adaptation: as many candidates as it takes for the updates to agree
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

import numpy as np
from scipy.special import ndtri

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.adaptation.movement import mean_movement, shape_movement
from noisewise.core.covariance import Covariance
from noisewise.core.profiles import Profile
from noisewise.core.strategy import Info, State, safe_sigma
from noisewise.generation import Adaptation, Controls, Generation, Setup


@data
@dataclass(slots=True)
class Path:
    """The path of the movements and the population size it led to."""

    mean: FloatArray
    shape: FloatArray
    population: float
    filled: float = 0.0  # gamma_p
    filled_c: float = 0.0  # gamma_c


@dataclass(frozen=True)
class PopulationSize(Adaptation):
    """Grows the population while successive updates look like a random walk, shrinks it while
    they agree; between ``smallest`` and ``largest``, in multiples of ``unit``."""

    covariance: Covariance
    profile: Profile
    smallest: int
    largest: int
    unit: int = 1
    alpha: float = 1.4
    beta: float = 0.4

    def start(self, setup: Setup) -> Path:
        n = setup.dimension
        like_C = np.zeros_like(self.covariance.start(n).C)
        return Path(np.zeros(n), like_C, float(self.smallest))

    def step(
        self, memory: Path, gen: Generation, before: State, after: State, info: Info
    ) -> tuple[Path, Controls, State]:
        path = self._walk(memory, gen, before, after, info)
        rounded = max(self.smallest, self.unit * round(path.population / self.unit))
        old, progress = gen.controls.population, gen.progress
        if rounded == old:
            return path, gen.controls, after
        controls = replace(gen.controls, population=rounded)
        ratio = self._best_step(rounded, progress, before) / self._best_step(old, progress, before)
        return path, controls, replace(after, sigma=safe_sigma(after.sigma * ratio))

    def _walk(self, memory: Path, gen: Generation, before: State, after: State, info: Info) -> Path:
        keep, c_c, cov = 1.0 - self.beta, info.rates.c_c, self.covariance
        filled_c = (1.0 - c_c) ** 2 * memory.filled_c + info.moving * c_c * (2.0 - c_c)
        expected = expected_movement(cov.scatter(len(before.mean)), gen, after, info, filled_c)
        gain = math.sqrt(self.beta * (2.0 - self.beta) / expected)
        mean = keep * memory.mean + gain * mean_movement(cov, before, after)
        shape = keep * memory.shape + gain * shape_movement(cov, before, after)
        filled = keep**2 * memory.filled + self.beta * (2.0 - self.beta)
        square = float(np.vdot(mean, mean) + np.vdot(shape, shape))
        change = math.exp(max(self.beta * (filled - square / self.alpha), -700.0))
        population = min(max(memory.population * change, self.smallest), self.largest)
        return Path(mean, shape, population, filled, filled_c)

    def _best_step(self, population: int, progress: float, state: State) -> float:
        """The best step size on the sphere with this population, up to a common factor."""
        n = len(state.mean)
        w = np.maximum(self.profile.weights(population, progress), 0.0)
        mu_eff = 1.0 / float(w @ w)
        # Blom's approximation of the expected normal order statistics.
        order = ndtri((np.arange(1, population + 1) - 0.375) / (population + 0.25))
        c = -float(w @ order)
        return c * n * mu_eff / (n - 1.0 + c * c * mu_eff)


def expected_movement(
    a: float, gen: Generation, after: State, info: Info, filled_c: float
) -> float:
    """E |Delta|^2 of one update when ranks are random, in the stationary state of the paths."""
    n, mu_eff, rates = len(after.mean), info.mu_eff, info.rates
    chi_2 = n * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)) ** 2
    filled_sigma = 1.0 - after.unfilled
    # Variance of the logarithm of the step-size change.
    wobble = filled_sigma * (n - chi_2) / chi_2 * (rates.c_sigma / rates.d_sigma) ** 2
    w = np.maximum(gen.profile, 0.0)
    c_c = rates.c_c
    rank_mu = rates.c_mu**2 * a / mu_eff
    rank_one = rates.c_1**2 * (filled_c**2 * (a + n) - 2.0 * filled_c * n + n)
    both = 2.0 * rates.c_1 * rates.c_mu * c_c * (2.0 - c_c) * mu_eff * float(np.sum(w**3)) * a
    mean = n * gen.controls.c_mean**2 / mu_eff
    return mean + 2.0 * n * wobble + 0.5 * (1.0 + 8.0 * wobble) * (rank_mu + both + rank_one)
