"""`pairs`: mirrored pairs under shared seeds, for simulators that draw their chance from a seed.

| symbol | meaning | shape |
|---|---|---|
| m, sigma | point around which candidates are sampled, and the step size | (d,), scalar |
| z_i | standard normal direction of pair i, whose candidates are m +- sigma z_i | (d,) |
| delta_i | value of the first candidate of pair i minus that of the second | scalar |
| s_i | -sign(delta_i) times the rank of abs(delta_i), over the sum of all ranks | scalar |
| g | sum of s_i z_i, divided by its length: the direction of the step | (d,) |
| v | velocity, m <- m + v | (d,) |

Both candidates of a pair meet the same random numbers where the objective takes a seed, so that
delta_i is free of what the seed adds to both of them. Every pair has a seed of its own, so that no
single draw decides about a step. A rare huge difference counts no more than the largest rank. The
velocity is v <- 0.9 v + 0.5 sigma sqrt(d) g, cut to a length of 0.5 sigma sqrt(d): momentum and
clipping are those of ClipUp (Toklu, Liskowski, Srivastava 2020, arXiv 2008.02387).

Three things happen beside the steps:

- While all values of a generation are equal, sigma doubles, up to eight times its start.
- While no value is better than those of points drawn at random (``baseline``), nor a generation
  better on average, the search begins anew after five generations, elsewhere and with wider steps.
- Long runs begin with several short searches, the best of which goes on.

The last tenth of the budget is a race between the mean of the best generation, the average of the
means of the second half, and the last mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from noisewise._check import integer, integer_or_none
from noisewise._data import data
from noisewise._types import BoolArray, FloatArray
from noisewise.cma.evolution import mean_and_error, mean_of
from noisewise.measured.population import Population
from noisewise.methods.method import (
    Distribution,
    Explanation,
    Info,
    Method,
    Now,
    Recommended,
    Setup,
    Size,
)

#: Pairs per generation in short runs, up to `_SHORT` evaluations, and in longer ones.
_FEW_PAIRS, _PAIRS, _SHORT = 4, 8, 300
#: Part of the velocity that stays; length of a step, and of the velocity at most, in sigma sqrt(d).
_MOMENTUM, _STEP, _FASTEST = 0.9, 0.5, 0.5
#: By how much the step size grows where the search sees nothing, and up to which multiple.
_WIDER, _WIDEST = 2.0, 8.0
#: Generations after which a search that is no better than random points begins anew, and by how
#: many standard errors it must be better.
_FLAT, _BETTER = 5, 3.0


@data
@dataclass(slots=True, kw_only=True)
class PairsMemory:
    """Where the search is, and the means among which the last evaluations decide."""

    mean: FloatArray
    velocity: FloatArray
    #: Step size now, and at the start.
    sigma: float
    sigma0: float
    pairs: int
    #: Evaluations that the search may spend, and those that it learnt from.
    budget: int
    learnt: int = 0
    #: Where the run began.
    origin: FloatArray
    #: Mean values of the generations of the present search.
    values: list[float] = field(default_factory=list)
    #: Candidates that were sampled before so many rounds belong to an earlier search.
    since: int = 0
    #: Whether the search does better than random points, generations without a value better than
    #: all of theirs, and how often it began anew.
    risen: bool = True
    idle: int = 0
    anew: int = 0
    #: Last means of the short searches, and the value of each.
    tried: list[FloatArray] = field(default_factory=list)
    worth: list[float] = field(default_factory=list)
    #: Mean of the best generation and its value.
    best: FloatArray
    best_value: float = math.inf
    #: Sum of the means of the second half of the run, and their number.
    sum: FloatArray
    summed: int = 0
    #: First values of the newest generation.
    around: FloatArray = field(default_factory=lambda: np.empty(0))


@data
@dataclass(frozen=True, kw_only=True)
class Pairs(Method):
    """Steps along the differences of mirrored pairs, both members of which share a seed. For
    simulators that take ``seed``, policies above all, in any dimension.

    population
        Candidates per generation, rounded up to an even number; None: 8 up to 300 evaluations,
        else 16.
    searches
        Short searches in the first half of the run, the best of which goes on; 1: a single search.
    baseline
        Values of points that were drawn at random, as the run minimises them. A search that does
        no better within five generations begins anew elsewhere.

    >>> import numpy as np, noisewise as nw
    >>> def fun(x, seed):
    ...     goal = np.random.default_rng(seed).normal(size=3)
    ...     return float(np.sum((x - goal) ** 2))
    >>> options = {"sigma0": 0.3, "budget": 800, "seeds": "independent", "rng": 0}
    >>> r = nw.minimize(fun, [4.0] * 3, method="pairs", **options)
    >>> bool(np.abs(r.x).max() < 0.5)
    True
    """

    name: ClassVar[str] = "pairs"
    rank_based: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = ("sigma",)
    sampled: ClassVar[bool] = True
    together: ClassVar[int] = 2
    race_part: ClassVar[float] = 0.1

    population: int | None = None
    searches: int = 1
    baseline: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        integer_or_none("population", self.population, least=2)
        integer("searches", self.searches, least=1)
        if not all(math.isfinite(value) for value in self.baseline):
            raise ValueError(f"baseline must be finite numbers, got {self.baseline}")

    def start(self, setup: Setup, distribution: Distribution | None = None) -> PairsMemory:
        mean, sigma = setup.mean, setup.sigma
        if distribution is not None:
            mean, sigma = distribution.mean, distribution.sigma
        pairs = _FEW_PAIRS if setup.budget <= _SHORT else _PAIRS
        if self.population is not None:
            pairs = (self.population + 1) // 2
        return PairsMemory(
            mean=mean,
            velocity=np.zeros(len(mean)),
            sigma=sigma,
            sigma0=sigma,
            pairs=pairs,
            budget=setup.budget,
            origin=mean,
            risen=len(self.baseline) < 2,
            best=mean,
            sum=np.zeros(len(mean)),
        )

    def resume(self, memory: PairsMemory, setup: Setup) -> PairsMemory:
        memory.budget = setup.budget
        if 2 * memory.learnt < memory.budget:
            memory.sum, memory.summed = np.zeros(len(memory.mean)), 0
        return memory

    def size(self, memory: PairsMemory, now: Now) -> Size:
        return Size(2 * memory.pairs)

    def propose(
        self, memory: PairsMemory, n: int, pending: FloatArray, now: Now, rng: np.random.Generator
    ) -> FloatArray:
        Z = rng.standard_normal(((n + 1) // 2, len(memory.mean)))
        steps = np.stack((Z, -Z), axis=1).reshape(-1, Z.shape[1])[:n]
        return np.asarray(memory.mean + memory.sigma * steps)

    def learn(
        self, memory: PairsMemory, population: Population, now: Now, rng: np.random.Generator
    ) -> tuple[PairsMemory, Info]:
        memory.around = (population.told or population.samples).first
        memory.learnt += len(population)
        fresh = _of_this_search(memory, population)
        values = population.comparable().samples.mean()
        if fresh.any() and not population.failed:
            self._note(memory, values[fresh])
            _step(memory, population.X, np.where(fresh, values, np.nan))
        self._begin_anew(memory, population.version + 1, rng)
        if 2 * memory.learnt >= memory.budget:
            memory.sum, memory.summed = memory.sum + memory.mean, memory.summed + 1
        return memory, Info((memory.sigma,))

    def _note(self, memory: PairsMemory, values: FloatArray) -> None:
        """Take note of the values of a generation."""
        now, random = values[np.isfinite(values)], np.array(self.baseline)
        value = mean_of(now)
        memory.values.append(value)
        if value < memory.best_value:
            memory.best, memory.best_value = memory.mean, value
        if memory.risen or len(now) < 2:
            return
        error = math.hypot(*(float(a.std(ddof=1)) / math.sqrt(len(a)) for a in (random, now)))
        memory.idle = 0 if now.min() < random.min() else memory.idle + 1
        if float(random.mean()) - value > _BETTER * error:
            memory.risen, memory.sigma = True, memory.sigma0

    def _begin_anew(self, memory: PairsMemory, since: int, rng: np.random.Generator) -> None:
        """Begin a search elsewhere where this one is flat or was a short one among several."""
        flat = not memory.risen and memory.idle >= _FLAT
        if flat:
            memory.anew += 1
            memory.sigma = min(_WIDER * memory.sigma, _WIDEST * memory.sigma0)
        elif len(memory.tried) < self.searches > 1:
            end = (len(memory.tried) + 1) * memory.budget / (2 * self.searches)
            if memory.learnt < end:
                return
            few = memory.values[-max(1, len(memory.values) // 4) :]
            memory.tried.append(memory.mean)
            value = mean_of(np.array(few))
            memory.worth.append(value if math.isfinite(value) else math.inf)
        else:
            return
        memory.mean = memory.origin + memory.sigma * rng.standard_normal(len(memory.mean))
        if not flat and len(memory.tried) == self.searches:
            memory.mean = memory.tried[int(np.argmin(memory.worth))]
        memory.velocity = np.zeros(len(memory.mean))
        memory.values, memory.idle, memory.since = [], 0, since

    def recommend(self, memory: PairsMemory) -> Recommended:
        return Recommended(memory.best, *mean_and_error(memory.around))

    def finalists(self, memory: PairsMemory) -> FloatArray:
        points = [memory.best, memory.mean]
        if memory.summed:
            points.insert(1, memory.sum / memory.summed)
        return np.array(points)

    def distribution(self, memory: PairsMemory) -> Distribution:
        return Distribution(memory.mean, memory.sigma, np.ones(len(memory.mean)))

    def explain(self, memory: PairsMemory) -> Explanation:
        said = []
        if memory.anew:
            times = "once" if memory.anew == 1 else f"{memory.anew} times"
            said.append(
                f"the start was flat: the search was no better than random points and began anew "
                f"{times}, with wider steps"
            )
        warnings = []
        if memory.anew and not memory.risen:
            warnings.append("the search never did better than points drawn at random")
        return Explanation("; ".join(said), warnings=warnings)


def signed_ranks(pairs: FloatArray) -> FloatArray:
    """s for the values (n, 2) of n pairs: the sizes sum to one; equal or unknown values have 0."""
    first, second = pairs.T
    known = ~np.isnan(first) & ~np.isnan(second) & (first != second)
    delta = np.zeros(len(pairs))
    delta[known] = first[known] - second[known]
    size = np.abs(delta)
    below = (size[:, None] > size).sum(axis=1)
    ranks = below + 0.5 * ((size[:, None] == size).sum(axis=1) + 1.0)
    s = -np.sign(delta) * ranks
    return np.asarray(s / max(float(np.abs(s).sum()), 1.0))


def _of_this_search(memory: PairsMemory, population: Population) -> BoolArray:
    """Which candidates were not sampled before the search began anew."""
    if population.origins is None:
        return np.ones(len(population), dtype=bool)
    fresh: BoolArray = population.origins.versions >= memory.since
    return fresh


def _step(memory: PairsMemory, X: FloatArray, values: FloatArray) -> None:
    """Move the mean; ``values`` that do not count are nan. A last candidate without a second one is
    left out."""
    n = len(X) // 2
    s = signed_ranks(values[: 2 * n].reshape(n, 2))
    g = s @ (X[0 : 2 * n : 2] - X[1 : 2 * n : 2])
    size = float(np.linalg.norm(g))
    if not size > 0.0:
        memory.sigma = min(_WIDER * memory.sigma, _WIDEST * memory.sigma0)
        return
    if memory.risen:
        memory.sigma = memory.sigma0
    length = memory.sigma * math.sqrt(len(memory.mean))
    v = _MOMENTUM * memory.velocity + _STEP * length / size * g
    fastest = _FASTEST * length
    memory.velocity = v / max(1.0, float(np.linalg.norm(v)) / fastest)
    memory.mean = memory.mean + memory.velocity
