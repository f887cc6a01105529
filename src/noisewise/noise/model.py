"""The noise model of RB-PEM: centre, scale and residual pool (App. B, steps 1-5).

| symbol | meaning | shape |
|---|---|---|
| c, s | centre and scale of each candidate | (k,) |
| z | residuals drawn from the pool | (b, k) |
| y~ | synthetic values, c + s z (Eq. synthetic_y) | (b, k) |
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from noisewise._check import integer, one_of, positive_real
from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.generation import Generation
from noisewise.noise import centres, scales
from noisewise.noise.archive import Archive
from noisewise.noise.diagnostics import Diagnostics
from noisewise.noise.pool import Pool, residuals
from noisewise.noise.ring import places

#: Recent residuals from which the scale is fitted.
_SCALE_WINDOW = 128


@data
@dataclass(slots=True)
class NoiseMemory:
    """What is known of the noise."""

    pool: Pool
    #: Newest raw residuals, from which the scale is fitted: x (see `scales`), residual.
    recent: FloatArray = field(default_factory=lambda: np.zeros((2, _SCALE_WINDOW)))
    #: Residuals ever seen; the next one goes to ``seen % _SCALE_WINDOW``.
    seen: int = 0
    scale: tuple[float, float] = (0.0, 0.0)
    archive: Archive | None = None
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    #: Generations weighed by the bootstrap, and without it for want of residuals.
    bootstrapped: int = 0
    unpooled: int = 0


@dataclass(frozen=True)
class NoiseModel:
    """Options of the noise model; see `noisewise.methods.RBPEM`."""

    centre: str = "observed"
    scale: str = "spread"
    clip: float = 10.0
    pool_size: int = 512
    archive_size: int = 600

    def __post_init__(self) -> None:
        one_of("centre", self.centre, centres.CENTRES)
        one_of("scale", self.scale, scales.MODELS)
        positive_real("clip", self.clip)
        integer("pool_size", self.pool_size, least=2)
        integer("archive_size", self.archive_size, least=2)

    def start(self) -> NoiseMemory:
        kept = Archive(self.archive_size) if self.centre == "archive" else None
        return NoiseMemory(Pool(self.pool_size), archive=kept)

    def learn(self, gen: Generation, memory: NoiseMemory) -> None:
        """Put this generation's residuals into the pool and refit the scale (steps 1, 3, 4)."""
        who, eps, medians = residuals(gen.samples)
        if len(who):
            x = self._regressor(gen, medians)
            expected = scales.evaluate(self.scale, memory.scale, x)
            self._fit_scale(memory, x, eps)
            z = eps / scales.evaluate(self.scale, memory.scale, x)
            np.minimum(np.maximum(z, -self.clip, out=z), self.clip, out=z)
            memory.pool.insert(z, medians, gen.index)
            memory.diagnostics.observe(gen.samples, gen.spread, eps, expected)
        if memory.archive is not None:
            good = np.isfinite(gen.samples.values).any(axis=1)
            memory.archive.insert(gen.X[good], gen.samples.median()[good])

    def _fit_scale(self, memory: NoiseMemory, x: FloatArray, eps: FloatArray) -> None:
        for place, part in places(memory.seen, _SCALE_WINDOW, len(x)):
            memory.recent[0, place], memory.recent[1, place] = x[part], eps[part]
        memory.seen += len(x)
        known = memory.recent[:, : memory.seen]
        memory.scale = scales.fit(self.scale, known[0], known[1])

    def centre_and_scale(
        self, gen: Generation, memory: NoiseMemory
    ) -> tuple[FloatArray, FloatArray]:
        """c and s of every candidate (steps 2 and 3); c is +inf where all evaluations failed."""
        y = gen.samples.median()
        good = y < np.inf
        s = self._scale(gen, memory, np.where(good, y, 0.0))
        if self.centre == "observed":
            return y, s
        c = y.copy()
        if self.centre == "ridge" and good.sum() >= 2:
            c[good] = centres.ridge(gen.standardise(gen.X[good]), y[good])
        elif memory.archive is not None and memory.archive.size >= 2 * len(y) and good.any():
            X, past = memory.archive.points()
            Z = gen.standardise(gen.X[good])
            noise = s[good] * np.sqrt(np.mean(memory.pool.z**2)) if memory.pool.size else s[good]
            c[good] = centres.archive(Z, y[good], gen.standardise(X), past, noise)
        return c, self._scale(gen, memory, np.where(good, c, 0.0))

    def rankings(self, gen: Generation, memory: NoiseMemory, b: int) -> IntArray:
        """``b`` bootstrap rankings: the candidates from best to worst, (b, k) (step 5)."""
        c, s = self.centre_and_scale(gen, memory)
        pool = memory.pool.z
        # Several times faster than whole random numbers; the pool is far too small for rounding.
        drawn = pool[(gen.rng.random((b, len(c))) * len(pool)).astype(np.intp)]
        drawn *= s
        drawn += c
        return drawn.argsort(axis=1, kind="stable")

    def typical_residual(self, gen: Generation, memory: NoiseMemory, y: FloatArray) -> float:
        """Mean size of a residual at values ``y``; 0 while there is no pool."""
        if memory.pool.size == 0:
            return 0.0
        return float(self._scale(gen, memory, y).mean() * np.abs(memory.pool.z).mean())

    def _scale(self, gen: Generation, memory: NoiseMemory, centre: FloatArray) -> FloatArray:
        if self.scale == "spread":  # the same for all
            return np.full(len(centre), max(memory.scale[1] * gen.spread, scales.LEAST))
        return scales.evaluate(self.scale, memory.scale, self._regressor(gen, centre))

    def _regressor(self, gen: Generation, centre: FloatArray) -> FloatArray:
        """What the scale is a function of."""
        if self.scale != "spread":
            return centre
        return np.full(len(centre), gen.spread)
