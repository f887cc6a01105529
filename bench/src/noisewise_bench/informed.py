"""RB-PEM that is told a part of the truth without paying for it: for studies, never for real use.

| symbol | meaning | shape |
|---|---|---|
| f | noise-free value of each candidate (up to a constant) | (k,) |
| eps | fresh draws of y - f at each candidate | (b, k) |
| s | scale of the noise at each candidate as pairs show it, E abs(y - y') / sqrt 2 | (k,) |
| c | centre: what synthetic values scatter about | (k,) |

Synthetic values are c + s z. What is not known is estimated as RB-PEM does: c is the observed
value (or the prediction of a model), s a multiple of the generation's spread, z a residual of the
pool.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np

from noisewise.cma.weights import expected_weights, rank_weights
from noisewise.methods import NoiseModel
from noisewise.methods.rbpem import RBPEM, RBPEMMemory
from noisewise.plugin import CMAOptions, Distribution, Now, Population, Setup, Size, Weights, data
from noisewise.problem.box import Box
from noisewise_bench.methods import search
from noisewise_bench.names import BenchError
from noisewise_bench.problem import FloatArray, Oracle

#: What can be told. ``ranks``: the true ranks, without any smoothing.
PARTS: Final = ("centre", "scale", "law", "ranks")
#: Synthetic rankings, and fresh draws from which a known law is found, per generation.
DRAWS: Final = 64


@data
@dataclass(slots=True, kw_only=True)
class InformedMemory(RBPEMMemory):
    """The box, because the truth takes points as the problem knows them."""

    box: Box


@dataclass(frozen=True, kw_only=True)
class Informed(CMAOptions):
    """`RBPEM` with some of centre, scale and law of the noise known exactly.

    know
        Which of `PARTS` are known.
    copies
        The centre is f with an error as large as that of the median of so many evaluations,
        without its bias; 0: it is not.
    shrink
        Centres are drawn towards their mean as the noise demands, and scatter as much less.
    """

    name: ClassVar[str] = "informed"
    rank_based: ClassVar[bool] = False

    truth: Callable[[FloatArray], FloatArray]
    draws: Callable[[FloatArray, int, np.random.Generator], FloatArray]
    know: frozenset[str] = frozenset()
    copies: int = 0
    shrink: bool = False
    rbpem: RBPEM = field(default_factory=RBPEM)
    covariance: str = "diagonal"

    def start(self, setup: Setup, distribution: Distribution | None = None) -> Any:
        memory = self.rbpem.start(setup, distribution)
        parts = {f.name: getattr(memory, f.name) for f in dataclasses.fields(memory)}
        return InformedMemory(**parts, box=setup.box)

    def size(self, memory: InformedMemory, now: Now) -> Size:
        return self.rbpem.size(memory, now)

    def request(self, memory: Any, population: Population, rng: np.random.Generator) -> Any:
        return self.rbpem.request(memory, population, rng)

    def weigh(
        self, memory: InformedMemory, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, InformedMemory]:
        profile, X = self.profile_weights(population), memory.box.outer(population.X)
        spread = self.rbpem.observe(memory, population)
        if "ranks" in self.know:
            return Weights(rank_weights(self.truth(X), profile)), memory
        c, s = self.rbpem.centre_and_scale(memory, population, spread)
        z = self._from_pool(memory, len(X), rng)
        if self.know & {"scale", "law"}:
            eps = self.draws(X, DRAWS, rng) - self.truth(X)
            known = np.maximum(pair_scale(eps), 1e-200)
            s = known if "scale" in self.know else s
            z = eps / known if "law" in self.know else z
        if "centre" in self.know:
            c = self.truth(X)
        elif self.copies:
            a, b = (np.median(self.draws(X, self.copies, rng), axis=0) for _ in range(2))
            c = self.truth(X) + (a - b) / math.sqrt(2.0)
        if self.shrink:
            c, s = shrunk(c, s, float(np.mean(z * z)))
        weights = expected_weights((c + s * z).argsort(axis=1, kind="stable"), profile)
        return Weights(weights), memory

    def _from_pool(self, memory: InformedMemory, k: int, rng: np.random.Generator) -> FloatArray:
        pool = memory.pool.z if memory.pool.size else np.zeros(1)
        return np.asarray(rng.choice(pool, size=(DRAWS, k)))


def pair_scale(eps: FloatArray) -> FloatArray:
    """E |eps - eps'| / sqrt 2 of each column, over all pairs of rows.

    >>> pair_scale(np.array([[0.0, 1.0], [2.0, 1.0]])).round(3).tolist()
    [1.414, 0.0]
    """
    b = len(eps)
    # Sum over pairs of the sorted column: the i-th value is the larger one i times.
    factor = 2.0 * np.arange(b) - (b - 1.0)
    pairs = b * (b - 1.0) / 2.0
    return np.asarray(factor @ np.sort(eps, axis=0) / (pairs * math.sqrt(2.0)))


def shrunk(c: FloatArray, s: FloatArray, square: float) -> tuple[FloatArray, FloatArray]:
    """Centre and scale of f given one noisy value each, if f is Gaussian over the candidates;
    ``square`` is the mean of z^2."""
    noise = float(np.mean(s * s)) * square
    # Not zero: candidates that are all alike get equal weights, not those of their indices.
    reliability = max(1e-6, 1.0 - noise / max(float(np.var(c)), 1e-300))
    middle = float(np.mean(c))
    return middle + reliability * (c - middle), s * math.sqrt(reliability)


def rb_pem(
    oracle: Oracle,
    budget: int,
    seed: int,
    *,
    know: str = "",
    copies: int = 0,
    shrink: bool = False,
    k_max: int = 1,
    centre: str = "observed",
    population: int | None = None,
) -> Any:
    """A run of `Informed` for the bench; ``know`` is such as ``centre+scale``."""
    parts = frozenset(filter(None, know.split("+")))
    if not parts <= set(PARTS):
        raise BenchError(f"know takes {', '.join(PARTS)}, joined by +, got {know!r}")
    inner = RBPEM(k_max=k_max, noise=NoiseModel(centre=centre), population=population)
    method = Informed(
        truth=oracle._truth,
        draws=oracle.draws,
        know=parts,
        copies=copies,
        shrink=shrink,
        rbpem=inner,
        population=population,
    )
    return search(oracle, budget, seed, method)
