"""CMA-ES, full and separable (Hansen's tutorial, arXiv 1604.00772; Ros and Hansen 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from noisewise._data import data
from noisewise.cma.evolution import CMAOptions, EvolutionMemory, Weights
from noisewise.measured.population import Population


@data
@dataclass(frozen=True, kw_only=True)
class CMAES(CMAOptions):
    """CMA-ES as it is: one evaluation per candidate, ranks taken at face value.

    ``covariance="diagonal"`` makes it separable CMA-ES, ``profile=Log(active=True)`` lets the
    worse half push the covariance away.

    >>> import noisewise as nw
    >>> method = nw.methods.CMAES(population=12)
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=600, method=method, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 0.1)
    (600, True)
    """

    name: ClassVar[str] = "cma-es"
    constrained: ClassVar[bool] = True

    def weigh(
        self, memory: EvolutionMemory, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, EvolutionMemory]:
        return self.ranked(population.samples.mean(), population), memory
