"""The evolution strategy of `auto`: watches the noise while running and spends accordingly.

| symbol | meaning | shape |
|---|---|---|
| q | mean move of re-evaluated candidates: 0 no noise, 1 ranks are pure noise | |
| psi | (q - CALM) / (WILD - CALM), clipped to [0, 1] | |
| k0, k1 | population without noise, and with nothing but noise | |
| k | k0 (k1 / k0)^psi, growing by at most GROW and shrinking by at most SHRINK a generation | |
| nu | log(k / k0) / log(k1 / k0): what the method takes the noise for, 0 to 1 | |
| w | log weights, positive for the better half | (k,) |
| s | normal scores of the ranks, best positive | (k,) |
| t | s sum(w s) / sum(s^2): as steep as w is | (k,) |

k1 = min(3 (d + 5) (B / 200 d)^(1/4), B / g), g = 4 sqrt d, but at least 12 and at most 75. On a
sphere with strong noise the best population over the mean learning rate grows like d, whatever the
budget; longer runs can afford a little more, short ones still need a dozen generations, and more
where there is much to learn. (A smaller mean learning rate does the same as a larger population,
but fills fewer workers.)

When values are mostly noise the worse half says as much about where to go as the better half;
when they are not, what matters is what the best have in common. So the mean moves by
(1 - b)(w - 1/k) + b t with b = nu / 2, and variances learn from (1 - nu) w + nu t: the half that
had luck would make them grow where the noise is largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from noisewise._check import fraction, integer, one_of
from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.core.covariance import MODELS, FullState
from noisewise.core.profiles import Log
from noisewise.core.strategy import State, Strategy, Update
from noisewise.methods.astray import Averages
from noisewise.methods.evolution import (
    FEW_COMMON,
    EvolutionMemory,
    EvolutionStrategy,
    Weights,
    early,
    first_state,
    mean_of,
)
from noisewise.methods.finalists import Best, finalists
from noisewise.methods.method import (
    NOTHING,
    Distribution,
    Explanation,
    Now,
    Recommended,
    Setup,
    Size,
    default_population,
    everyone,
)
from noisewise.noise.misranking import merged_order, moves, reevaluated, reliability
from noisewise.noise.samples import Samples
from noisewise.noise.weights import normal_scores, rank_weights
from noisewise.population import Population

CALM, WILD = 0.4, 0.8
GROW, SHRINK = 1.3, 1.1
#: Re-evaluations over which the misranking is averaged.
_RECALL = 10.0
#: Share of a generation that is re-evaluated, without noise and with nothing but noise.
_SHARE = (0.02, 0.03)
#: Evaluations between two re-evaluations while the objective looks deterministic.
_REST = 200
#: Re-evaluations that agree mean that there is no noise if different points would agree as often
#: with at most this chance.
_LUCK = 0.05
#: Re-evaluations of the first generation if the objective turns out to be noisy, and the
#: evaluations of the budget for each.
_FIRST, _PER_FIRST = 6, 50
#: A re-evaluation that moves by more than this surprises where little noise was expected; so many
#: more follow for each surprising one.
_SURPRISE, _BURST = 0.4, 3
#: Budgets below this many evaluations can afford one re-evaluation to begin with, not two.
_SMALL = 400
#: Generations that the budget pays for, however large the noise: per square root of the dimension,
#: and the limits of that.
_GENERATIONS_PER_ROOT, _GENERATIONS = 4.0, (12.0, 75.0)
#: Evaluations per dimension from which a full covariance pays, and the largest dimension in
#: which it costs little time.
_FULL_FROM, _FULL_UP_TO = 100, 200
#: Part of the budget at whose end means are averaged if there is noise.
_LATE = 0.05
#: The step size is halved up to this time that the search goes back.
_HALVED = 4
_PROFILE = Log()


@data
@dataclass(slots=True, kw_only=True)
class WatchfulMemory(EvolutionMemory):
    """What was measured, where the population stands, and the mean of the late means."""

    smallest: int
    largest: float
    unit: int  # the population is a multiple of this
    wanted: float  # k before rounding
    first: int  # re-evaluations of the first generation, under noise
    budget: int
    #: The measured points with the smallest values.
    best: Best
    #: Weighted sum and weight of the moves seen.
    moved: float = 0.0
    seen: float = 0.0
    deterministic: bool = True
    #: Chance that as many pairs of different points have equal values as re-evaluations agreed:
    #: wins and losses are equal half of the time.
    luck: float = 1.0
    noise: float = 0.0  # nu
    #: Fractions of re-evaluations saved up; evaluations until the next one.
    credit: float = 0.0
    rest: int = _REST
    peak: int = 0
    #: Sum of late means, weighted by the evaluations behind each.
    late_sum: FloatArray = field(default_factory=lambda: np.empty(0))
    late_weight: float = 0.0
    late_noise: bool = False
    #: Whether ranks lead astray, so that values decide.
    averages: Averages = field(default_factory=Averages)

    @property
    def q(self) -> float:
        return self.moved / self.seen if self.seen else 0.0


@data
@dataclass(frozen=True, kw_only=True)
class Watchful(EvolutionStrategy):
    """CMA-ES that watches the noise and adapts its population and its weights.

    It starts as CMA-ES with a few re-evaluations of random candidates. If they agree exactly, it
    stays CMA-ES and checks again now and then. Otherwise the disagreement of the ranks decides,
    generation by generation, how many candidates are sampled and which weights move the mean; see
    docs/methods.md. Where the average of the values rises all the same, it goes back and follows
    values instead of ranks. Under noise it returns a point between the mean, averaged over the
    last twentieth of the budget, and the average of the best tenth of all candidates.

    covariance
        ``"auto"``: full if the budget is long enough to learn it, else diagonal.
    population
        Candidates of the first generations; None: see `default_population`.
    grow, centred, scores
        For ablations: False, False and 0 leave out the growing population, the centred update
        and the normal scores (which need the centred update).

    >>> import noisewise as nw
    >>> method = "watchful"
    >>> r = nw.minimize(lambda x: x @ x, [3.0] * 4, sigma0=1.0, budget=600, method=method, rng=0)
    >>> bool(r.x @ r.x < 1e-2)
    True
    """

    name: ClassVar[str] = "watchful"
    rank_based: ClassVar[bool] = False  # averages of values can call it back
    constrained: ClassVar[bool] = True

    covariance: str = "auto"
    population: int | None = None
    grow: bool = True
    centred: bool = True
    scores: float = 0.5

    def __post_init__(self) -> None:
        one_of("covariance", self.covariance, ("auto", "full", "diagonal"))
        if self.population is not None:
            integer("population", self.population, least=2)
        fraction("scores", self.scores)

    def start(self, setup: Setup, distribution: Distribution | None = None) -> WatchfulMemory:
        d, budget = setup.dimension, setup.budget
        model = MODELS["full" if self._full(setup) else "diagonal"]
        k = self.population or default_population(d, budget, setup.workers)
        return WatchfulMemory(
            state=first_state(Strategy(d, model), setup, distribution),
            population=k,
            reevaluations=2 if budget >= _SMALL else 1,
            smallest=k,
            largest=self._largest(k, setup),
            first=max(1, min(_FIRST, budget // _PER_FIRST)),
            budget=budget,
            best=Best.empty(budget, d),
            unit=setup.workers,
            wanted=float(k),
            peak=k,
        )

    def _full(self, setup: Setup) -> bool:
        """Whether the budget is long enough for a full covariance."""
        if self.covariance != "auto":
            return self.covariance == "full"
        # Under noise its caution is worth more than the speed of the diagonal model.
        d = setup.dimension
        return d <= _FULL_UP_TO and setup.budget >= _FULL_FROM * d

    def _largest(self, smallest: int, setup: Setup) -> float:
        """k1."""
        d, budget = setup.dimension, setup.budget
        least, most = _GENERATIONS
        generations = min(max(least, _GENERATIONS_PER_ROOT * math.sqrt(d)), most)
        useful = 3.0 * (d + 5.0) * (budget / (200.0 * d)) ** 0.25 if self.grow else 0.0
        return max(min(useful, budget / generations), 1.001 * smallest)

    def resume(self, memory: WatchfulMemory, setup: Setup) -> WatchfulMemory:
        """The largest population, the kept points and, where it has become long enough, the
        covariance follow the budget; the smallest population stays."""
        memory.budget, memory.largest = setup.budget, self._largest(memory.smallest, setup)
        memory.wanted = min(memory.wanted, memory.largest)
        memory.best = memory.best.resized(setup.budget)
        if self._full(setup) and not isinstance(memory.state.covariance, FullState):
            strategy = Strategy(setup.dimension, MODELS["full"])
            memory.state = first_state(strategy, setup, self.distribution(memory))
        return memory

    def strategy(self, memory: WatchfulMemory) -> Strategy:
        full = isinstance(memory.state.covariance, FullState)
        return Strategy(len(memory.state.mean), MODELS["full" if full else "diagonal"])

    def profile_weights(self, population: Population) -> FloatArray:
        return _PROFILE.weights(len(population.X))

    def lookahead(self, memory: WatchfulMemory, workers: int) -> int:
        return early(self.population, memory, workers)

    def size(self, memory: WatchfulMemory, now: Now) -> Size:
        k, again = memory.population, memory.reevaluations
        if now.batch and again < k - 1:  # they share a batch
            k -= again
        return Size(k, 1.0 + again / k)

    # -- which candidates are evaluated

    def request(
        self, memory: WatchfulMemory, population: Population, rng: np.random.Generator
    ) -> IntArray:
        """Everyone once and, in the same wave, a few random candidates once more. Where one of
        them surprises although little noise was expected, more follow at once, so that noise that
        sets in is seen in time."""
        k = len(population.X)
        if population.wave == 0:
            if memory.reevaluations == 0:
                return everyone(k)
            least = FEW_COMMON if population.common else 0
            again = rng.permutation(k)[: max(memory.reevaluations, least)]
            return np.concatenate((everyone(k), again))
        more = self._more(memory, population.comparable())
        if more <= 0:
            return NOTHING
        seen = population.samples.values
        once = np.flatnonzero(np.isnan(seen[:, 1])) if seen.shape[1] > 1 else everyone(k)
        return rng.permutation(once)[:more]

    def _more(self, memory: WatchfulMemory, population: Population) -> int:
        """How many more re-evaluations this generation deserves."""
        who = reevaluated(population.samples)
        if len(who) == 0:
            return 0
        k, values = len(population.X), population.samples.values
        noisy = population.shifted or bool((values[who, 0] != values[who, 1]).any())
        if memory.generation == 0:
            return min(memory.first, k) - len(who) if noisy and population.wave == 1 else 0
        if memory.noise >= 0.5 or not noisy:
            return 0
        surprises = int((_moves(population, who) > _SURPRISE).sum())
        return min(memory.reevaluations + _BURST * surprises, k // 2) - len(who)

    # -- which weights they earn

    def weigh(
        self, memory: WatchfulMemory, population: Population, rng: np.random.Generator
    ) -> tuple[Weights, WatchfulMemory]:
        samples, k = population.samples, len(population.X)
        profile = self.profile_weights(population)
        centred = reliability(memory.q) if self.centred and not memory.deterministic else None
        order = merged_order(samples, reevaluated(samples))
        if not math.isfinite(samples.values[order[-1], 0]):  # failures are no evidence of noise
            return Weights(rank_weights(samples.mean(), profile), centred=centred), memory
        weights = np.empty(k)
        weights[order] = profile
        s = normal_scores(k)
        if memory.averages.times:
            values = samples.mean()
            mean = _as_steep(values.mean() - values, profile, s)
            return Weights(weights, mean, still=True), memory
        blend = self.scores * memory.noise
        if blend == 0.0 or centred is None:
            return Weights(weights, centred=centred), memory
        t = s * (float(profile.dot(s)) / float(s.dot(s)))
        mean = np.empty(k)
        mean[order] = (1.0 - blend) * (profile - 1.0 / k) + blend * t
        if isinstance(memory.state.covariance, FullState):  # it learns slowly by itself
            return Weights(weights, mean, centred), memory
        shape = np.empty(k)
        shape[order] = (1.0 - memory.noise) * profile + memory.noise * t
        return Weights(weights, mean, centred, shape), memory

    # -- what changes before the next generation

    def adapt(
        self,
        memory: WatchfulMemory,
        population: Population,
        before: State,
        after: State,
        update: Update,
        rng: np.random.Generator,
    ) -> WatchfulMemory:
        new = memory
        noisy, new.state = memory.noise > 0.0, after
        if population.shifted:
            new.deterministic = False
        self._measure(new, population)
        self._go_back(new, population)
        if not population.common:  # else values of different generations have different offsets
            new.best = new.best.insert(population.X, population.samples.mean())
        psi = min(1.0, max(0.0, (new.q - CALM) / (WILD - CALM)))
        target = new.smallest * (new.largest / new.smallest) ** psi
        if new.generation > 0:
            target = min(max(target, new.wanted / SHRINK), new.wanted * GROW)
        new.wanted = target
        way = math.log(target / new.smallest) / math.log(new.largest / new.smallest)
        self._average(new, population, noisy)
        new.noise = min(1.0, max(0.0, way))
        new.population = new.unit * math.ceil(round(target) / new.unit)
        new.peak = max(new.peak, new.population)
        new.reevaluations = self._next_reevaluations(new, population, psi)
        return new

    def _go_back(self, memory: WatchfulMemory, population: Population) -> None:
        """Return to where values were lowest on average if the search went astray. The step size
        is halved at the second to fourth time; lucky values from astray are forgotten."""
        if memory.deterministic or population.common:  # the latter: other seeds, other offsets
            return
        values, averages = population.samples.first, memory.averages
        values = values[np.isfinite(values)]
        if len(values) == 0 or not averages.astray(values, memory.state, memory.budget):
            return
        assert averages.state is not None
        sigma = averages.state.sigma * (0.5 if 1 < averages.times <= _HALVED else 1.0)
        zero = np.zeros_like(averages.state.mean)
        memory.state = averages.state = replace(
            averages.state, sigma=sigma, p_sigma=zero, p_c=zero, unfilled=1.0
        )
        memory.best = Best.empty(memory.budget, len(zero))
        memory.late_weight = 0.0

    def _measure(self, memory: WatchfulMemory, population: Population) -> None:
        """Take note of how far re-evaluated candidates moved."""
        samples = population.samples
        who = reevaluated(samples)
        if len(who) == 0:
            return
        if population.shifted or (samples.values[who, 0] != samples.values[who, 1]).any():
            memory.deterministic = False
        if memory.deterministic:
            _, counts = np.unique(samples.first, return_counts=True)
            k = len(samples.first)
            memory.luck *= float(counts @ (counts - 1) / max(1, k * (k - 1))) ** len(who)
        for move in _moves(population, who).tolist():
            fade = 1.0 if memory.seen < _RECALL - 0.5 else 1.0 - 1.0 / _RECALL
            memory.moved = fade * memory.moved + move
            memory.seen = fade * memory.seen + 1.0

    def _next_reevaluations(
        self, memory: WatchfulMemory, population: Population, psi: float
    ) -> int:
        """Re-evaluations of the next generation. Under common seeds they are saved up until
        there are enough to be compared with each other."""
        if memory.seen == 0.0:  # they failed, or none was affordable: nothing is known yet
            return memory.reevaluations
        if memory.deterministic and memory.luck > _LUCK:
            return 1
        if memory.deterministic:
            memory.rest -= len(population)
            if memory.rest > 0:
                return 0
            memory.rest = _REST
            return 1
        memory.credit += memory.population * (_SHARE[0] + (_SHARE[1] - _SHARE[0]) * psi)
        again = int(memory.credit)
        if population.common and again < FEW_COMMON:
            return 0
        memory.credit -= again
        return again

    # -- what is returned

    def _average(self, memory: WatchfulMemory, population: Population, noisy: bool) -> None:
        """Sum up the means of the last part of the budget; until then the newest is all there
        is. What noise did to each of them cancels out in part."""
        mean, k = memory.state.mean, float(len(population.X))
        memory.late_noise = noisy
        if population.began < 1.0 - _LATE:
            memory.late_sum, memory.late_weight = mean.copy(), 1.0
        elif memory.late_weight <= 1.0:
            memory.late_sum, memory.late_weight = mean * k, k
        else:
            memory.late_sum = memory.late_sum + mean * k
            memory.late_weight += k

    def _mean(self, memory: WatchfulMemory) -> FloatArray:
        if memory.late_noise and memory.late_weight > 0.0:
            return np.asarray(memory.late_sum / memory.late_weight)
        return memory.state.mean

    def finalists(self, memory: WatchfulMemory) -> FloatArray:
        """Under noise: the preferred point, the best measured one and the mean; see
        `noisewise.methods.finalists`."""
        mean, state = self._mean(memory), memory.state
        if memory.deterministic:
            return mean[None]
        C = state.covariance.C
        deviations = state.sigma * np.sqrt(C if C.ndim == 1 else np.diagonal(C))
        return finalists(mean, deviations, memory.best, memory.budget)

    def recommend(self, memory: WatchfulMemory) -> Recommended:
        return Recommended(self.finalists(memory)[0], mean_of(memory.around))

    def explain(self, memory: WatchfulMemory) -> Explanation:
        if memory.seen == 0.0:
            said = "no candidate could be evaluated twice: plain CMA-ES"
            return Explanation(said if memory.generation else "")
        if memory.deterministic:
            if memory.luck > _LUCK:
                said = "re-evaluations agreed, but so do different points: plain CMA-ES"
                return Explanation(said)
            said = "re-evaluations agreed exactly: plain CMA-ES"
            return Explanation(said, deterministic=True)
        now = round(memory.wanted)
        if memory.peak <= memory.smallest:
            said = f"population {memory.smallest} throughout"
        else:
            said = f"population {memory.smallest} -> {now}, at most {memory.peak}"
        if times := memory.averages.times:
            often = "once" if times == 1 else f"{times} times"
            said += f"; ranks led to worse averages, so it went back {often} and follows values"
        return Explanation(said, deterministic=False)


def _as_steep(values: FloatArray, profile: FloatArray, scores: FloatArray) -> FloatArray:
    """``values`` stretched to the length of t."""
    length = math.sqrt(float(values.dot(values)) * float(scores.dot(scores)))
    out: FloatArray = values * (float(profile.dot(scores)) / max(1e-300, length))
    return out


def _moves(population: Population, who: IntArray) -> FloatArray:
    """q of the candidates ``who``: among all candidates or, under common seeds, among themselves,
    so that values of one seed are compared."""
    if not population.common:
        return moves(population.samples, who)
    both = Samples(population.samples.values[who, :2])
    return moves(both, np.arange(len(who))) if len(who) > 1 else np.empty(0)
