"""RA-CMA-ES: re-evaluation adaptation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from noisewise._check import positive_real
from noisewise._data import data
from noisewise.adaptation.reevaluation import Reevaluation
from noisewise.evaluation.plans import Repeat
from noisewise.generation import Parts, Setup
from noisewise.methods.lracmaes import LearningRateMethod
from noisewise.recommend import Mean
from noisewise.selection.hard import HardRank

#: Evaluations per candidate are never fewer than this, on average.
_FEWEST = 1.2


@data
@dataclass(frozen=True, kw_only=True)
class RACMAES(LearningRateMethod):
    """Splits the evaluations of every candidate into two halves, and evaluates so often that
    the updates of either half alone agree; adapts the learning rates on top of that.

    correlation
        Of the updates of the two halves: what to reach with two evaluations, in (0, 1]; less is
        asked for the more evaluations it takes.

    >>> import noisewise as nw
    >>> method = nw.methods.RACMAES(correlation=0.5)
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=600, method=method, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 0.1)
    (600, True)
    """

    name: ClassVar[str] = "ra-cma-es"
    rank_based: ClassVar[bool] = False

    correlation: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_real("correlation", self.correlation, most=1.0)

    def parts(self, setup: Setup) -> Parts:
        adaptation = Reevaluation(
            self.strategy(setup), self.learning(setup), self.correlation, _FEWEST
        )
        return Parts(self.profile, Repeat(), HardRank(), adaptation, Mean())
