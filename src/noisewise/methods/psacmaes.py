"""PSA-CMA-ES: population-size adaptation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from noisewise._check import integer, positive_real
from noisewise._data import data
from noisewise.adaptation.psa import PopulationSize
from noisewise.evaluation.plans import Repeat
from noisewise.generation import Parts, Setup
from noisewise.methods.base import Method
from noisewise.recommend import Mean
from noisewise.selection.hard import HardRank

#: Generations for which the budget has to last at the largest population, by default.
_GENERATIONS = 20


@data
@dataclass(frozen=True, kw_only=True)
class PSACMAES(Method):
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
        if self.largest is not None:
            integer("largest", self.largest, least=2)
        if self.profile.weights(8).min() < 0.0:
            raise ValueError(
                "profile must have no negative weights here, since the expected length of the "
                f"path is known without them only, got {self.profile!r}"
            )

    def parts(self, setup: Setup) -> Parts:
        smallest = self.controls(setup).population
        largest = self.largest or setup.budget // _GENERATIONS
        adaptation = PopulationSize(
            self.strategy(setup).covariance,
            self.profile,
            smallest,
            max(smallest, largest),
            setup.workers,
            self.alpha,
            self.beta,
        )
        return Parts(self.profile, Repeat(), HardRank(), adaptation, Mean())
