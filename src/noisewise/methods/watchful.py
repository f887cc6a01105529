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
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from noisewise._check import fraction, integer_or_none, one_of
from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.cma.covariance import MODELS, FullState
from noisewise.cma.evolution import (
    FEW_COMMON,
    EvolutionStrategy,
    Weights,
    first_state,
    mean_and_error,
)
from noisewise.cma.strategy import State, Strategy, Update
from noisewise.cma.weights import Log, normal_scores, rank_weights
from noisewise.measured.population import Population
from noisewise.measured.samples import merged_order, reevaluated, reliability
from noisewise.methods.kept import Best, finalists
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
from noisewise.methods.reevaluations import WatchfulMemory

CALM, WILD = 0.4, 0.8
GROW, SHRINK = 1.3, 1.1
#: Re-evaluations of the first generation if the objective turns out to be noisy, and the
#: evaluations of the budget for each.
_FIRST, _PER_FIRST = 6, 50
#: Budgets below this many evaluations can afford one re-evaluation to begin with, not two.
_SMALL = 400
#: The budget pays for at least this many generations per square root of the dimension.
_GENERATIONS_PER_ROOT = 4.0
#: Limits of that number of generations.
_GENERATIONS = (12.0, 75.0)
#: Evaluations per dimension from which a full covariance pays.
_FULL_FROM = 100
#: The largest dimension in which it costs little time.
_FULL_UP_TO = 200
#: Part of the budget at whose end means are averaged if there is noise.
_LATE = 0.05
#: The step size is halved up to this time that the search goes back.
_HALVED = 4
_PROFILE = Log()


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
        integer_or_none("population", self.population, least=2)
        fraction("scores", self.scores)

    def start(self, setup: Setup, distribution: Distribution | None = None) -> WatchfulMemory:
        d, budget = setup.dimension, setup.budget
        model = MODELS["full" if self._full(setup) else "diagonal"]
        k = self.population or default_population(d)
        return WatchfulMemory(
            state=first_state(Strategy(d, model), setup, distribution),
            population=k,
            reevaluations=2 if budget >= _SMALL else 1,
            smallest=k,
            largest=self._largest(k, setup),
            first=max(1, min(_FIRST, budget // _PER_FIRST)),
            budget=budget,
            best=Best.empty(budget, d),
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

    def size(self, memory: WatchfulMemory, now: Now) -> Size:
        return Size(memory.population, 1.0 + memory.reevaluations / memory.population)

    # -- which candidates are evaluated

    def request(
        self, memory: WatchfulMemory, population: Population, rng: np.random.Generator
    ) -> IntArray:
        """Everyone once and, in the same wave, a few random candidates once more. Where one of
        them surprises although little noise was expected, more follow at once, so that noise that
        sets in is seen in time."""
        k, again, share = len(population.X), memory.reevaluations, population.gathered
        least = FEW_COMMON if population.common else 0
        if population.wave == 0:
            if again == 0 or (share and least):
                return everyone(k)
            if share:  # of the re-evaluations of a whole round
                again = math.floor(again * k / memory.population + rng.random())
            return np.concatenate((everyone(k), rng.permutation(k)[: max(again, least)]))
        if population.wave == 1 and share and least and again:  # now that all of them are there
            return rng.permutation(k)[: max(again, least)]
        more = memory.more(population.comparable())
        if more <= 0:
            return NOTHING
        seen = population.samples.values
        once = np.flatnonzero(np.isnan(seen[:, 1])) if seen.shape[1] > 1 else everyone(k)
        return rng.permutation(once)[:more]

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
        new.measure(population)
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
        new.population = round(target)
        new.peak = max(new.peak, new.population)
        new.reevaluations = new.next_reevaluations(population, psi)
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
        `noisewise.methods.kept`."""
        mean, state = self._mean(memory), memory.state
        if memory.deterministic:
            return mean[None]
        C = state.covariance.C
        deviations = state.sigma * np.sqrt(C if C.ndim == 1 else np.diagonal(C))
        return finalists(mean, deviations, memory.best, memory.budget)

    def recommend(self, memory: WatchfulMemory) -> Recommended:
        return Recommended(self.finalists(memory)[0], *mean_and_error(memory.around))

    def explain(self, memory: WatchfulMemory) -> Explanation:
        told = super().explain(memory)
        if memory.seen == 0.0:
            said = "no candidate could be evaluated twice: plain CMA-ES"
            return replace(told, message=said if memory.generation else "")
        if memory.deterministic:
            if memory.plain:
                said = "re-evaluations agreed, but so do different points: plain CMA-ES"
                return replace(told, message=said)
            said = "re-evaluations agreed exactly: plain CMA-ES"
            return replace(told, message=said, deterministic=True)
        now = round(memory.wanted)
        if memory.peak <= memory.smallest:
            said = f"population {memory.smallest} throughout"
        else:
            said = f"population {memory.smallest} -> {now}, at most {memory.peak}"
        if times := memory.averages.times:
            often = "once" if times == 1 else f"{times} times"
            said += f"; ranks led to worse averages, so it went back {often} and follows values"
        return replace(told, message=said, deterministic=False)


def _as_steep(values: FloatArray, profile: FloatArray, scores: FloatArray) -> FloatArray:
    """``values`` stretched to the length of t."""
    length = math.sqrt(float(values.dot(values)) * float(scores.dot(scores)))
    return np.asarray(values * (float(profile.dot(scores)) / max(1e-300, length)))
