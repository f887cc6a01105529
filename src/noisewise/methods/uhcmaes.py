"""UH-CMA-ES: uncertainty handling."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from noisewise._check import fraction, integer, one_of, positive_real
from noisewise._data import data
from noisewise.adaptation.uncertainty import TREATMENTS, Treatment
from noisewise.core.profiles import Log, Profile
from noisewise.evaluation.uncertainty import Remeasure
from noisewise.generation import Controls, Parts, Setup
from noisewise.methods.base import Method
from noisewise.recommend import Mean
from noisewise.selection.hard import AGGREGATES
from noisewise.selection.ranksum import RankSum


@data
@dataclass(frozen=True, kw_only=True)
class UHCMAES(Method):
    """Evaluates a few candidates of every generation again; where their ranks change more than
    tolerated, spends more evaluations per candidate or takes larger steps. Defaults are those
    later recommended by its first author; published were ``theta=0.2, smoothing=1, alpha_t=1.5``.

    treatment
        Of too much noise: ``"evaluations"``, ``"sigma"``, or ``"both"`` (larger steps once
        there are ``max_evaluations``).
    max_evaluations
        Most evaluations of each candidate.
    theta
        Rank changes tolerated, as a fraction of those that pure chance makes, in [0, 1].
    smoothing
        Weight of the newest measurement, in (0, 1].
    alpha_t
        Growth of the evaluations per candidate while there is too much noise, at least one;
        None: 1 + 2/(d + 10). They shrink by its fourth root otherwise.
    fraction
        Part of the candidates that is evaluated again; never fewer than two candidates.
    aggregate
        What repeated evaluations are turned into: ``"mean"``, ``"median"`` or ``"trimmed"``.

    >>> import noisewise as nw
    >>> method = nw.methods.UHCMAES(max_evaluations=5)
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=600, method=method, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 0.1)
    (600, True)
    """

    name: ClassVar[str] = "uh-cma-es"
    rank_based: ClassVar[bool] = False

    treatment: str = "both"
    max_evaluations: int = 30
    theta: float = 0.5
    smoothing: float = 0.3
    alpha_t: float | None = None
    fraction: float = 0.1
    aggregate: str = "median"
    profile: Profile = field(default_factory=lambda: Log(active=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("treatment", self.treatment, TREATMENTS)
        integer("max_evaluations", self.max_evaluations, least=1)
        fraction("theta", self.theta)
        positive_real("smoothing", self.smoothing, most=1.0)
        if self.alpha_t is not None and positive_real("alpha_t", self.alpha_t) < 1.0:
            raise ValueError(f"alpha_t must be None or at least one, got {self.alpha_t!r}")
        fraction("fraction", self.fraction)
        one_of("aggregate", self.aggregate, AGGREGATES)

    def controls(self, setup: Setup) -> Controls:
        base = super().controls(setup)
        again = max(2, round(self.fraction * base.population))
        return replace(base, reevaluations=again)

    def parts(self, setup: Setup) -> Parts:
        alpha_sigma = 1.0 + 2.0 / (setup.dimension + 10.0)
        treatment = Treatment(
            self.treatment,
            self.aggregate,
            self.theta,
            self.smoothing,
            self.alpha_t or alpha_sigma,
            alpha_sigma,
            self.max_evaluations,
            self.fraction,
        )
        return Parts(self.profile, Remeasure(), RankSum(self.aggregate), treatment, Mean())
