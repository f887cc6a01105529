"""RB-PEM: expected rank weights from a residual bootstrap, after App. B of the paper.

`RBPEM.printed` has every choice as the text of the paper prints it, `RBPEM.published` what made
its numbers; the defaults of `RBPEM` differ from both (docs/theory.md, section 7, says why).

| symbol | meaning | shape |
|---|---|---|
| y_i | median of the values of candidate i | (k,) |
| eps | residuals of re-evaluated candidates about their medians | |
| c, s | centre and scale of the noise at each candidate | (k,) |
| z | clip(eps / s), kept in a pool over generations; drawn from it with replacement | (b, k) |
| y~ | synthetic values, c + s z (Eq. (35)) | (b, k) |
| w | mean of the profile over the b rankings of y~ (Eq. (36)) | (k,) |

A generation: every candidate is evaluated once, ``k_max`` of them once more (`request`); their
residuals go into the pool (steps 1, 3, 4); centres, scales and pool give b synthetic rankings
(steps 2 and 5), whose mean weights move the distribution (`weigh`).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import InitVar, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from noisewise._check import flag, integer, one_of, shown
from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.cma.evolution import FEW_COMMON, CMAOptions, EvolutionMemory, Weights
from noisewise.cma.weights import (
    PowerLift,
    Uniform,
    expected_weights,
    normalised,
    rank_weights,
    weight_variance,
)
from noisewise.measured import centres
from noisewise.measured import noise as residual
from noisewise.measured.diagnostics import CHECKS, Diagnostics, near_ties
from noisewise.measured.noise import Archive, NoiseModel, Pool, Running
from noisewise.measured.population import Population
from noisewise.measured.samples import ranks
from noisewise.methods.method import NOTHING, Distribution, Explanation, Now, Setup, Size, everyone

NO_POOL = (
    "no residual was ever observed (no candidate was evaluated twice), so nothing was "
    "bootstrapped: the weights were those of hard ranks"
)
TARGETS = ("boundary", "instability")
#: Recent residuals from which the scale is fitted.
_SCALE_WINDOW = 128


@data
@dataclass(slots=True, kw_only=True)
class RBPEMMemory(EvolutionMemory):
    """What is known of the noise. The rings are updated in place."""

    pool: Pool
    #: Newest raw residuals, from which the scale is fitted: x (see `noise`), residual.
    recent: FloatArray = field(default_factory=lambda: np.zeros((2, _SCALE_WINDOW)))
    #: Residuals ever seen; the next one goes to ``seen % _SCALE_WINDOW``.
    seen: int = 0
    scale: tuple[float, float] = (0.0, 0.0)
    archive: Archive | None = None
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    running: Running = field(default_factory=Running)
    #: Generations weighed by the bootstrap, and without it for want of residuals.
    bootstrapped: int = 0
    unpooled: int = 0


@data
@dataclass(frozen=True, kw_only=True)
class RBPEM(CMAOptions):
    """Expected rank weights from a residual bootstrap about the observed values, with log weights
    and a diagonal covariance; "rb-pem-printed" is the method of the paper's text, and
    "rb-pem-published" what made its numbers.

    k_max
        Evaluations per generation spent on re-evaluations.
    n_bootstrap
        Bootstrap rankings per generation; costs time, not evaluations.
    noise
        The `NoiseModel`: what the bootstrap scatters about, and how far.
    target
        Which candidates are re-evaluated: ``"boundary"`` (ranks nearest to mu, right for uniform
        weights; with ``k_max=3`` mu - 1, mu and mu + 1), ``"instability"`` (those whose weight
        varies most over bootstrap rankings), or ``"auto"`` (boundary for uniform weights,
        instability otherwise).
    diagnostics_every
        Generations between two computations of the diagnostics.
    fallback
        Names of diagnostics; while one of them fires, ranks are taken at face value.
    expected
        False: the same re-evaluations, but ranks taken at face value; the control of a comparison.
    strict
        Whether ``k_max`` holds under common seeds, too. By default three candidates are
        re-evaluated there, because a single one has nothing to be compared with.

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
    noise: NoiseModel = field(default_factory=NoiseModel)
    target: str = "auto"
    diagnostics_every: int = 10
    fallback: tuple[str, ...] = ()
    expected: bool = True
    strict: bool = False
    covariance: str = "diagonal"
    #: Deprecated spellings of 0.1, now options of `NoiseModel`.
    centre: InitVar[str | None] = None
    scale: InitVar[str | None] = None
    clip: InitVar[float | None] = None
    pool_size: InitVar[int | None] = None

    def __post_init__(self, centre: Any, scale: Any, clip: Any, pool_size: Any) -> None:
        super().__post_init__()
        old = {"centre": centre, "scale": scale, "clip": clip, "pool_size": pool_size}
        old = {name: value for name, value in old.items() if value is not None}
        if old:
            given = ", ".join(f"{name}={value!r}" for name, value in old.items())
            said = f"RBPEM({given}) is deprecated: write RBPEM(noise=NoiseModel({given}))"
            warnings.warn(said, DeprecationWarning, stacklevel=3)
            object.__setattr__(self, "noise", replace(self.noise, **old))
        if not isinstance(self.noise, NoiseModel):
            raise ValueError(f"noise must be a NoiseModel, got {shown(self.noise)}")
        integer("k_max", self.k_max, least=0)
        integer("n_bootstrap", self.n_bootstrap, least=1)
        integer("diagnostics_every", self.diagnostics_every, least=1)
        one_of("target", self.target, ("auto", *TARGETS))
        flag("strict", self.strict)
        if not isinstance(self.fallback, (tuple, list)):
            raise ValueError(f"fallback must be a tuple of names, got {shown(self.fallback)}")
        for name in self.fallback:
            one_of("fallback", name, tuple(CHECKS))
        object.__setattr__(self, "fallback", tuple(self.fallback))

    @classmethod
    def printed(cls, **options: Any) -> RBPEM:
        """RB-PEM with every choice as the paper's text prints it (Appendices A and B).

        ``options`` change it, as those of the class do.
        """
        noise = NoiseModel(centre="cross-fitted", scale="linear", pool_size=None, widen=False)
        given: dict[str, Any] = {"covariance": "full", "profile": PowerLift(), "noise": noise}
        return cls(**(given | {"strict": True} | options))

    @classmethod
    def published(cls, **options: Any) -> RBPEM:
        """RB-PEM with the parts that made the paper's numbers, on the engine of this library.

        ``options`` change it, as those of the class do.
        """
        given: dict[str, Any] = {
            "covariance": "slow-diagonal",
            "recombination": "weiszfeld",
            "profile": PowerLift(),
            "noise": NoiseModel(scale="linear", widen=False),
            "target": "boundary",
            "k_max": 4,
            "strict": True,
        }
        return cls(**(given | options))

    def start(self, setup: Setup, distribution: Distribution | None = None) -> Any:
        kept = Archive(self.noise.archive_size) if self.noise.centre == "archive" else None
        return RBPEMMemory(
            **self.begin(setup, distribution),
            reevaluations=self.k_max,
            pool=Pool(self.noise.pool_size),
            archive=kept,
        )

    def size(self, memory: RBPEMMemory, now: Now) -> Size:
        k = memory.population
        return Size(k, 1.0 + min(memory.reevaluations, k) / k)

    # -- which candidates are evaluated

    def request(
        self, memory: RBPEMMemory, population: Population, rng: np.random.Generator
    ) -> IntArray:
        """Everyone once, then ``k_max`` candidates once more."""
        k = len(population.X)
        if population.wave == 0:
            return everyone(k)
        again = min(memory.reevaluations, k)
        if population.wave > 1 or again == 0:
            return NOTHING
        if population.common and not self.strict:
            again = max(again, FEW_COMMON)
        profile, population = self.profile.weights(k, population.began), population.comparable()
        if self._target() == "boundary" or memory.pool.inserted == 0:
            mu, rank = int((profile > 0.0).sum()), ranks(population.samples.values[:, 0])
            # Ranks mu - 1 and mu (0-based) lie on either side of the boundary.
            distance = np.abs(rank - (mu - 0.5))
            # Without a pool nothing is known of the band's width: ties by index.
            tie = rank if self._target() == "boundary" else np.arange(len(rank))
            return np.asarray(np.lexsort((tie, distance))[:again])
        first = population.samples.values[:, 0]
        order = self.rankings(memory, population, rng, residual.spread_of(first))
        return (-weight_variance(order, profile)).argsort(kind="stable")[:again]  # Eq. (47)

    def _target(self) -> str:
        if self.target != "auto":
            return self.target
        return "boundary" if isinstance(self.profile, Uniform) else "instability"

    # -- which weights they earn

    def weigh(
        self, memory: RBPEMMemory, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, RBPEMMemory]:
        samples, spread = population.samples, self.observe(memory, population)
        profile = self.profile.weights(len(population.X), population.began)
        if memory.generation % self.diagnostics_every == 0:
            self._diagnose(memory, population, spread)
        if not self.expected:
            return Weights(rank_weights(samples.mean(), profile)), memory
        alarmed = bool(self.fallback) and set(self.fallback) & set(memory.diagnostics.firing())
        if memory.pool.inserted == 0 or alarmed:
            memory.unpooled += memory.pool.inserted == 0
            return Weights(rank_weights(samples.median(), profile)), memory
        memory.bootstrapped += 1
        weights = expected_weights(self.rankings(memory, population, rng, spread), profile)
        if samples.values[:, 0].max() == np.inf:
            failed = np.fmin.reduce(samples.values, axis=1) == np.inf
            weights[failed & (weights > 0.0)] = 0.0
        elif profile[-1] >= 0.0:
            return Weights(weights), memory
        return Weights(normalised(weights)), memory  # negative weights cancel in the average

    def observe(self, memory: RBPEMMemory, population: Population) -> float:
        """Put this generation's residuals into the pool and refit the scale (steps 1, 3, 4).
        Returns the spread of the first values."""
        samples, model = population.samples, self.noise
        spread = residual.spread_of(samples.values[:, 0])
        who, eps, medians = residual.residuals(samples, model.widen)
        if len(who):
            x = medians if model.scale != "spread" else np.full(len(medians), spread)
            if model.centre == "cross-fitted" and model.scale != "spread":
                x = self._cross_fitted(memory, population)[who]
            expected = residual.scale_at(model.scale, memory.scale, x)
            for place, part in residual.places(memory.seen, _SCALE_WINDOW, len(x)):
                memory.recent[0, place], memory.recent[1, place] = x[part], eps[part]
            memory.seen += len(x)
            known = memory.recent[:, : memory.seen]
            memory.scale = residual.fit_scale(model.scale, known[0], known[1])
            z = eps / residual.scale_at(model.scale, memory.scale, x)
            np.minimum(np.maximum(z, -model.clip, out=z), model.clip, out=z)
            memory.pool.insert(z, medians, memory.generation)
            memory.running.observe(samples, spread, eps, expected)
        if memory.archive is not None:
            good = np.isfinite(samples.values).any(axis=1)
            memory.archive.insert(population.X[good], samples.median()[good])
        return spread

    def rankings(
        self, memory: RBPEMMemory, population: Population, rng: np.random.Generator, spread: float
    ) -> IntArray:
        """Bootstrap rankings: the candidates from best to worst, (b, k) (step 5)."""
        c, s = self.centre_and_scale(memory, population, spread)
        pool = memory.pool.z
        # Several times faster than whole random numbers; the pool is far too small for rounding.
        place = rng.random((self.n_bootstrap, len(c)))
        place *= float(len(pool))
        drawn = pool[place.astype(np.intp)]
        drawn *= s
        drawn += c
        return drawn.argsort(axis=1, kind="stable")

    def centre_and_scale(
        self, memory: RBPEMMemory, population: Population, spread: float
    ) -> tuple[FloatArray, FloatArray]:
        """c and s of every candidate (steps 2 and 3); c is +inf where all evaluations failed."""
        y, centre = population.samples.median(), self.noise.centre
        if centre == "observed" and self.noise.scale == "spread":  # by far the most common
            return y, self._scale(memory, spread, y)
        good = y < np.inf
        s = self._scale(memory, spread, np.where(good, y, 0.0))
        if centre == "observed":
            return y, s
        if centre == "cross-fitted":
            c = self._cross_fitted(memory, population)
            return c, self._scale(memory, spread, np.where(good, c, 0.0))
        c, strategy = y.copy(), self.strategy(memory)
        Z = strategy.standardise(memory.state, population.X[good])
        if centre == "ridge" and good.sum() >= 2:
            c[good] = centres.ridge(Z, y[good])
        elif memory.archive is not None and memory.archive.size >= 2 * len(y) and good.any():
            X, past = memory.archive.points()
            noise = s[good] * np.sqrt(np.mean(memory.pool.z**2)) if memory.pool.size else s[good]
            past_Z = strategy.standardise(memory.state, X)
            c[good] = centres.archive(Z, y[good], past_Z, past, noise)
        return c, self._scale(memory, spread, np.where(good, c, 0.0))

    def _cross_fitted(self, memory: RBPEMMemory, population: Population) -> FloatArray:
        """c of the paper's text: a ridge regression on (x - m) / sigma that does not use the
        candidate's own values."""
        state = memory.state
        c: FloatArray = population.samples.median().copy()
        good = c < np.inf
        if good.sum() >= 2:
            Z = (population.X[good] - state.mean) / state.sigma
            c[good] = centres.ridge(Z, c[good], shared_level=False)
        return c

    def _scale(self, memory: RBPEMMemory, spread: float, centre: FloatArray) -> FloatArray:
        """s at these centres."""
        if self.noise.scale == "spread":  # the same for all
            s = np.empty(len(centre))
            s.fill(max(memory.scale[1] * spread, residual.LEAST_SCALE))
            return s
        return residual.scale_at(self.noise.scale, memory.scale, centre)

    # -- whether its assumptions hold

    def _diagnose(self, memory: RBPEMMemory, population: Population, spread: float) -> None:
        y = np.sort(population.samples.median())
        y = y[np.isfinite(y)]
        ties, pool, running = math.nan, memory.pool, memory.running
        if pool.size:
            typical = float(self._scale(memory, spread, y).mean() * np.abs(pool.z).mean())
            ties = near_ties(y, typical) if typical > 0.0 else math.nan
        memory.diagnostics.compute(memory.generation, pool, running, self.noise.clip, ties)

    def explain(self, memory: RBPEMMemory) -> Explanation:
        said = [CHECKS[name][2] for name in memory.diagnostics.firing() if memory.pool.size]
        if memory.bootstrapped == 0 and memory.unpooled > 0:
            said.insert(0, NO_POOL)
        return replace(
            super().explain(memory),
            diagnostics=memory.diagnostics.table.as_dict(),
            warnings=said,
            residuals=memory.pool.z.copy(),
        )
