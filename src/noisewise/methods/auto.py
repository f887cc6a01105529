"""`auto`: watches the noise while running and spends the budget accordingly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from noisewise._check import fraction, one_of
from noisewise._data import data
from noisewise.adaptation.watchful import Watchful
from noisewise.core.covariance import Covariance, Diagonal, Full
from noisewise.core.strategy import Strategy
from noisewise.evaluation.watch import Watch
from noisewise.generation import Controls, Parts, Setup
from noisewise.methods.base import Method, default_population
from noisewise.recommend import LateMean
from noisewise.selection.blended import Blended

#: Budgets below this many evaluations can afford one second look to begin with, not two.
_SMALL = 400
#: Generations that the budget pays for at least, however large the noise.
_GENERATIONS = 12
#: Evaluations per dimension from which a full covariance pays, and the largest dimension in
#: which it costs little time.
_FULL_FROM, _FULL_UP_TO = 100, 200


@data
@dataclass(frozen=True, kw_only=True)
class Auto(Method):
    """The default: nothing to configure.

    It starts as CMA-ES with a few second looks at random candidates. If they repeat exactly, it
    stays CMA-ES and looks again now and then. Otherwise the disagreement of the ranks decides,
    generation by generation, how many candidates are sampled, how far the mean moves and which
    weights move it; see docs/methods.md. It returns the mean, averaged over the last twentieth
    of the budget if there is noise.

    covariance
        ``"auto"``: full if the budget is long enough to learn it, else diagonal.
    grow, centred, scores
        For ablations: False, False and 0 leave out the growing population, the centred update
        and the normal scores (which need the centred update).

    >>> import noisewise as nw
    >>> r = nw.minimize(lambda x: x @ x, [3.0] * 4, sigma0=1.0, budget=600, rng=0)
    >>> bool(r.x @ r.x < 1e-2)  # method="auto" is the default
    True
    """

    name: ClassVar[str] = "auto"

    covariance: str = "auto"
    grow: bool = True
    centred: bool = True
    scores: float = 0.5

    def __post_init__(self) -> None:
        one_of("covariance", self.covariance, ("auto", "full", "diagonal"))
        fraction("scores", self.scores)
        if self.covariance == "auto":
            replace(self, covariance="diagonal")  # checks the other options
        else:
            super().__post_init__()

    def strategy(self, setup: Setup) -> Strategy:
        full = self.covariance == "full" or (self.covariance == "auto" and _worth_full(setup))
        model: Covariance = Full() if full else Diagonal()
        return Strategy(setup.dimension, model, recombination=self.recombination)

    def controls(self, setup: Setup) -> Controls:
        looks = 2 if setup.budget >= _SMALL else 1
        return Controls(self.population or default_population(setup), reevaluations=looks)

    def parts(self, setup: Setup) -> Parts:
        smallest = self.controls(setup).population
        largest = max(_largest(setup) if self.grow else 0.0, 1.001 * smallest)
        adaptation = Watchful(smallest, largest, setup.workers, self.centred)
        return Parts(self.profile, Watch(), Blended(self.scores), adaptation, LateMean())


def _largest(setup: Setup) -> float:
    """Population where ranks are nothing but noise. A short budget still has to pay for a few
    generations, without which nothing is learnt at all."""
    d, budget = setup.dimension, setup.budget
    best = 3.0 * (d + 5.0) * (budget / (200.0 * d)) ** 0.25
    return float(min(best, budget / _GENERATIONS))


def _worth_full(setup: Setup) -> bool:
    """Whether the budget is long enough to learn a full covariance. Under noise its caution is
    worth more than the speed of the diagonal model; see docs/findings/auto.md."""
    return setup.dimension <= _FULL_UP_TO and setup.budget >= _FULL_FROM * setup.dimension
