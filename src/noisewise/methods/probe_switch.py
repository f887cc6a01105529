"""Probe-and-switch: measure the misranking first, then choose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from noisewise._check import fraction
from noisewise._data import data
from noisewise.adaptation.switch import Switch
from noisewise.evaluation.probe import Probe
from noisewise.generation import Controls, Parts, Setup
from noisewise.methods.base import Method
from noisewise.methods.cmaes import CMAES
from noisewise.methods.rbpem import RBPEM
from noisewise.recommend import Mean
from noisewise.selection.switch import PROBE, SwitchPlan, SwitchSelection


@data
@dataclass(frozen=True, kw_only=True)
class ProbeSwitch(Method):
    """Evaluate the first generation twice; if its ranks disagree by P >= threshold run ``high``,
    else ``low``, both on one engine.

    threshold
        0.12 switches readily, 0.22 only on strong evidence.
    warm_start
        The probed generation counts as a generation of the chosen method, and a deterministic
        objective is recognised after four repeats. Without it the probe is thrown away.
    low, high
        The two methods; None: `CMAES` and `RBPEM` with this method's engine. They bring their
        selection, re-evaluations, adaptation, population and profile, and must have this method's
        covariance, recombination and rates, because one search goes on in either of them. The
        population of the probe is this method's.
    reprobe
        Spent fractions of the budget at which to probe again, increasing.

    >>> import noisewise as nw
    >>> method = "probe-switch"
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=600, method=method, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 0.1)
    (600, True)
    """

    name: ClassVar[str] = "probe-switch"
    rank_based: ClassVar[bool] = False

    threshold: float = 0.12
    warm_start: bool = True
    low: Method | None = None
    high: Method | None = None
    reprobe: tuple[float, ...] = ()
    covariance: str = "diagonal"

    def __post_init__(self) -> None:
        super().__post_init__()
        fraction("threshold", self.threshold)
        for name in ("low", "high"):
            self._check_branch(name, getattr(self, name))
        if list(self.reprobe) != sorted(self.reprobe):
            raise ValueError(f"reprobe must be increasing fractions, got {self.reprobe!r}")
        for entry in self.reprobe:
            fraction("reprobe", entry)

    def _check_branch(self, name: str, branch: object) -> None:
        if branch is not None and not isinstance(branch, Method):
            raise ValueError(f"{name} must be a method object or None, got {branch!r}")
        for option, ours in self._engine().items():
            theirs = getattr(branch, option, ours)
            if theirs != ours:
                raise ValueError(f"{name} must have {option}={ours!r} as here, got {theirs!r}")

    def _engine(self) -> dict[str, str]:
        """The options that both branches share."""
        return {name: getattr(self, name) for name in ("covariance", "recombination", "rates")}

    def controls(self, setup: Setup) -> Controls:
        return replace(super().controls(setup), branch=PROBE)

    def parts(self, setup: Setup) -> Parts:
        engine: dict[str, Any] = dict(self._engine())
        below, above = self.low or CMAES(**engine), self.high or RBPEM(**engine)
        low, high = below.parts(setup), above.parts(setup)
        adaptation = Switch(
            self.threshold,
            self.warm_start,
            tuple(self.reprobe),
            low,
            high,
            self._of(below, setup),
            self._of(above, setup),
        )
        plan = SwitchPlan(Probe(early_exit=self.warm_start), low, high)
        selection = SwitchSelection(self.threshold, self.warm_start, low, high)
        return Parts(self.profile, plan, selection, adaptation, Mean())

    def _of(self, method: Method, setup: Setup) -> Controls:
        """The method's controls, with this method's population if it was given one."""
        controls = method.controls(setup)
        return replace(controls, population=self.population) if self.population else controls
