"""RB-PEM, the paper's method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from noisewise._check import integer, one_of
from noisewise._data import data
from noisewise.adaptation.fixed import Fixed
from noisewise.core.profiles import Uniform
from noisewise.evaluation.targeted import TARGETS, Targeted
from noisewise.generation import Controls, Parts, Setup
from noisewise.methods.base import Method
from noisewise.noise.diagnostics import CHECKS
from noisewise.noise.model import NoiseModel
from noisewise.recommend import Mean
from noisewise.selection.rbpem import ResidualBootstrap


@data
@dataclass(frozen=True, kw_only=True)
class RBPEM(Method):
    """Expected rank weights from a residual bootstrap, at little more than one evaluation per
    candidate.

    k_max
        Evaluations per generation spent on second looks.
    n_bootstrap
        Bootstrap rankings per generation; costs time, not evaluations.
    centre
        What the bootstrap scatters about: ``"observed"``, ``"ridge"`` (the paper's) or
        ``"archive"`` (borrows from earlier generations; slower).
    scale
        Scale of the noise: ``"constant"``, ``"linear"`` (s0 + s1 |f|), ``"variance"`` or
        ``"spread"`` (a multiple of the spread of the generation's values). With
        ``centre="observed"`` a scale that depends on the value takes lucky draws for precise
        ones, so linear and variance are no good companions of that centre.
    clip
        Standardised residuals are clipped to [-clip, clip].
    pool_size
        Residuals kept.
    target
        Who gets a second look: ``"boundary"``, ``"instability"``, or ``"auto"`` (boundary for
        uniform weights, instability otherwise).
    diagnostics_every
        Generations between two computations of the diagnostics.
    fallback
        Names of diagnostics; while one of them fires, ranks are taken at face value.
    expected
        False: the same second looks, but ranks taken at face value; the control of a comparison.

    >>> import noisewise as nw
    >>> method = nw.methods.RBPEM(k_max=2)
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=600, method=method, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 0.1)
    (600, True)
    """

    name: ClassVar[str] = "rb-pem"
    rank_based: ClassVar[bool] = False

    k_max: int = 1
    n_bootstrap: int = 32
    centre: str = "observed"
    scale: str = "spread"
    clip: float = 10.0
    pool_size: int = 512
    target: str = "auto"
    diagnostics_every: int = 10
    fallback: tuple[str, ...] = ()
    expected: bool = True
    covariance: str = "diagonal"

    def __post_init__(self) -> None:
        super().__post_init__()
        integer("k_max", self.k_max, least=0)
        integer("n_bootstrap", self.n_bootstrap, least=1)
        integer("diagnostics_every", self.diagnostics_every, least=1)
        one_of("target", self.target, ("auto", *TARGETS))
        if isinstance(self.fallback, str):
            raise ValueError(f"fallback must be a tuple of names, got {self.fallback!r}")
        for name in self.fallback:
            one_of("fallback", name, tuple(CHECKS))
        self._model()

    def controls(self, setup: Setup) -> Controls:
        base = super().controls(setup)
        return Controls(base.population, base.c_mean, reevaluations=self.k_max)

    def parts(self, setup: Setup) -> Parts:
        model, target = self._model(), self.target
        if target == "auto":
            target = "boundary" if isinstance(self.profile, Uniform) else "instability"
        selection = ResidualBootstrap(
            model, self.n_bootstrap, self.diagnostics_every, tuple(self.fallback), self.expected
        )
        plan = Targeted(model, target, self.n_bootstrap)
        return Parts(self.profile, plan, selection, Fixed(), Mean())

    def _model(self) -> NoiseModel:
        return NoiseModel(self.centre, self.scale, self.clip, self.pool_size)
