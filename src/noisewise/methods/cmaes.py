"""CMA-ES, full and separable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from noisewise._data import data
from noisewise.adaptation.fixed import Fixed
from noisewise.evaluation.plans import Repeat
from noisewise.generation import Parts, Setup
from noisewise.methods.base import Method
from noisewise.recommend import Mean
from noisewise.selection.hard import HardRank


@data
@dataclass(frozen=True, kw_only=True)
class CMAES(Method):
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

    def parts(self, setup: Setup) -> Parts:
        return Parts(self.profile, Repeat(), HardRank(), Fixed(), Mean())
