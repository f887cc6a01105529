"""Resampling: every candidate k times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from noisewise._check import integer, one_of
from noisewise._data import data
from noisewise.adaptation.fixed import Fixed
from noisewise.evaluation.plans import Repeat
from noisewise.generation import Controls, Parts, Setup
from noisewise.methods.base import Method
from noisewise.recommend import Mean
from noisewise.selection.hard import AGGREGATES, HardRank


@data
@dataclass(frozen=True, kw_only=True)
class Resample(Method):
    """CMA-ES on an aggregate of ``k`` evaluations of every candidate.

    k
        Evaluations of each candidate.
    aggregate
        ``"mean"``, ``"median"`` or ``"trimmed"`` (the mean without the lowest and the highest
        fifth).

    >>> import noisewise as nw
    >>> method = nw.methods.Resample(k=2, aggregate="median")
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=600, method=method, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 0.1)
    (600, True)
    """

    name: ClassVar[str] = "resample"
    rank_based: ClassVar[bool] = False

    k: int = 5
    aggregate: str = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        integer("k", self.k, least=1)
        one_of("aggregate", self.aggregate, AGGREGATES)

    def controls(self, setup: Setup) -> Controls:
        return replace(super().controls(setup), repeats=self.k)

    def parts(self, setup: Setup) -> Parts:
        return Parts(self.profile, Repeat(), HardRank(self.aggregate), Fixed(), Mean())
