"""Racing: sequential re-evaluation at the elite boundary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from noisewise._check import integer, positive_real
from noisewise._data import data
from noisewise.adaptation.fixed import Fixed
from noisewise.evaluation.racing import Race
from noisewise.generation import Controls, Parts, Setup
from noisewise.methods.base import Method
from noisewise.recommend import Mean
from noisewise.selection.scored import MeanScore


@data
@dataclass(frozen=True, kw_only=True)
class Racing(Method):
    """Evaluates again, up to a cap per generation, the candidates of which it is least certain
    whether they belong to the better half.

    cap
        Most re-evaluations per generation; None: half the population.
    confidence
        A candidate is settled when it is this many standard errors away from the boundary.

    >>> import noisewise as nw
    >>> method = nw.methods.Racing(cap=2)
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=600, method=method, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 0.1)
    (600, True)
    """

    name: ClassVar[str] = "racing"

    cap: int | None = None
    confidence: float = 0.7

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cap is not None:
            integer("cap", self.cap, least=1)
        positive_real("confidence", self.confidence)

    def controls(self, setup: Setup) -> Controls:
        base = super().controls(setup)
        return replace(base, reevaluations=self.cap or base.population // 2)

    def parts(self, setup: Setup) -> Parts:
        return Parts(self.profile, Race(self.confidence), MeanScore(), Fixed(), Mean())
