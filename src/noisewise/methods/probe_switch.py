"""Probe-and-switch: measure the misranking first, then choose between two methods (Section 4.3,
App. D).

| symbol | meaning |
|---|---|
| P | disagreement of the ranks of two evaluations of the same candidates (Eq. (56)) |
| threshold | tau: P >= tau calls for ``high``, else ``low`` |
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from noisewise._check import fraction, integer, one_of, shown
from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.cma.covariance import MODELS
from noisewise.cma.evolution import EvolutionStrategy
from noisewise.cma.strategy import State
from noisewise.measured.population import Population
from noisewise.measured.samples import displacement
from noisewise.methods.cmaes import CMAES
from noisewise.methods.method import (
    NOTHING,
    Distribution,
    Explanation,
    Info,
    Method,
    Now,
    Recommended,
    Setup,
    Size,
    default_population,
    everyone,
)
from noisewise.methods.rbpem import RBPEM
from noisewise.problem.earlier import Earlier

PROBE, LOW, HIGH = "probe", "low", "high"
#: Candidates evaluated again before the rest is.
FEW = 4


@data
@dataclass(slots=True, kw_only=True)
class SwitchMemory:
    """The one search that goes on in either method, and both methods' memories."""

    #: Which of the two is in charge, or "probe" while the next generation decides.
    branch: str
    low: Any
    high: Any
    state: State
    population: int
    generation: int = 0
    probes: int = 0
    around: FloatArray


@data
@dataclass(frozen=True, kw_only=True)
class ProbeSwitch(Method):
    """Evaluate the first generation twice; if its ranks disagree by P >= threshold run ``high``,
    else ``low``, both on one search distribution, which the probe has updated; in
    "probe-switch-printed", the method of the paper's text, the probe is thrown away.

    threshold
        0.12 switches readily, 0.22 only on strong evidence.
    warm_start
        The probed generation counts as a generation of the chosen method, and a deterministic
        objective is recognised after four re-evaluations. Without it the probe is thrown away.
    covariance
        ``"diagonal"``, ``"slow-diagonal"`` or ``"full"``: that of both methods.
    population
        Candidates per generation, of the probe and of both methods; None: their own.
    low, high
        The two evolution strategies; None: `CMAES` and `RBPEM`. They must have this method's
        covariance and, like each other, recombination and rates, because one search goes on in
        either of them.
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
    columns: ClassVar[tuple[str, ...]] = EvolutionStrategy.columns
    sampled: ClassVar[bool] = True

    threshold: float = 0.12
    warm_start: bool = True
    covariance: str = "diagonal"
    population: int | None = None
    low: EvolutionStrategy | None = None
    high: EvolutionStrategy | None = None
    reprobe: tuple[float, ...] = ()
    _methods: tuple[EvolutionStrategy, EvolutionStrategy] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        fraction("threshold", self.threshold)
        one_of("covariance", self.covariance, tuple(MODELS))
        if self.population is not None:
            integer("population", self.population, least=2)
        low, high = self._branches()
        for name, branch in (("low", low), ("high", high)):
            if not isinstance(branch, EvolutionStrategy):
                raise ValueError(f"{name} must be an evolution strategy or None, got {branch!r}")
            theirs = getattr(branch, "covariance", self.covariance)
            if theirs != self.covariance:
                raise ValueError(
                    f"{name} must have covariance={self.covariance!r} as here, got {theirs!r}"
                )
        for option in ("recombination", "rates"):
            pair = [getattr(m, option, None) for m in (low, high)]
            if None not in pair and pair[0] != pair[1]:
                raise ValueError(
                    f"low and high must have the same {option}, got {pair[0]!r} and {pair[1]!r}"
                )
        if self.population:
            population: dict[str, Any] = {"population": self.population}
            low, high = replace(low, **population), replace(high, **population)  # type: ignore[type-var]
        object.__setattr__(self, "_methods", (low, high))
        if not isinstance(self.reprobe, (tuple, list)):
            raise ValueError(f"reprobe must be a tuple of fractions, got {shown(self.reprobe)}")
        for entry in self.reprobe:
            fraction("reprobe", entry)
        if list(self.reprobe) != sorted(self.reprobe):
            raise ValueError(f"reprobe must be increasing fractions, got {self.reprobe!r}")
        object.__setattr__(self, "reprobe", tuple(self.reprobe))

    def _branches(self) -> tuple[EvolutionStrategy, EvolutionStrategy]:
        """Low and high. One that is left out shares the options of the one that is given."""
        given = self.low or self.high
        shared = {n: getattr(given, n) for n in ("recombination", "rates") if hasattr(given, n)}
        options: dict[str, Any] = {"covariance": self.covariance} | shared
        return self.low or CMAES(**options), self.high or RBPEM(**options)

    @classmethod
    def printed(cls, covariance: str = "full", **options: Any) -> ProbeSwitch:
        """Probe-and-switch with every choice as the paper's text prints it (Appendix D): the probe
        is thrown away, and CMA-ES or `RBPEM.printed` has what is left of the budget.

        ``options`` change it, as those of the class do.
        """
        given: dict[str, Any] = {
            "warm_start": False,
            "low": CMAES(covariance=covariance),
            "high": RBPEM.printed(covariance=covariance),
        }
        return cls(covariance=covariance, **(given | options))

    def start(self, setup: Setup, distribution: Distribution | None = None) -> SwitchMemory:
        low, high = (method.start(setup, distribution) for method in self._methods)
        k = self.population or default_population(setup.dimension)
        return SwitchMemory(
            branch=PROBE, low=low, high=high, state=low.state, population=k, around=low.around
        )

    def resume(self, memory: SwitchMemory, setup: Setup) -> SwitchMemory:
        low, high = self._methods
        return replace(
            memory, low=low.resume(memory.low, setup), high=high.resume(memory.high, setup)
        )

    def _charge(self, memory: SwitchMemory, branch: str) -> tuple[EvolutionStrategy, Any]:
        """The method of that branch, and its memory brought up to date."""
        low, high = self._methods
        method, remembered = (low, memory.low) if branch != HIGH else (high, memory.high)
        return method, replace(remembered, state=memory.state, generation=memory.generation)

    def size(self, memory: SwitchMemory, now: Now) -> Size:
        if memory.branch == PROBE:
            return Size(memory.population, 2.0)
        method, inner = self._charge(memory, memory.branch)
        return method.size(inner, now)

    def propose(
        self, memory: SwitchMemory, n: int, pending: FloatArray, now: Now, rng: np.random.Generator
    ) -> FloatArray:
        method, inner = self._charge(memory, memory.branch)
        return method.propose(inner, n, pending, now, rng)

    def request(
        self, memory: SwitchMemory, population: Population, rng: np.random.Generator
    ) -> IntArray:
        if memory.branch == PROBE:
            return self._probe(memory, population)
        method, inner = self._charge(memory, memory.branch)
        return method.request(inner, population, rng)

    def _probe(self, memory: SwitchMemory, population: Population) -> IntArray:
        """Everyone twice. With a warm start the `FEW` candidates farthest from the mean are
        re-evaluated first; if all of them agree exactly, the objective is taken for deterministic
        and the others are spared."""
        k, wave = len(population), population.wave
        if wave == 0:
            return everyone(k)
        method, inner = self._charge(memory, LOW)
        Z = method.strategy(inner).standardise(memory.state, population.X)
        farthest = (-(Z * Z).sum(axis=1)).argsort(kind="stable")
        few = farthest[: FEW if self.warm_start else 0]
        if wave == 1 and self.warm_start:
            return np.asarray(few)
        if wave == 1 + self.warm_start and not agree_exactly(population):
            return np.setdiff1d(np.arange(k), few)
        return NOTHING

    def learn(
        self, memory: SwitchMemory, population: Population, now: Now, rng: np.random.Generator
    ) -> tuple[SwitchMemory, Info]:
        branch, probed = memory.branch, memory.branch == PROBE
        failed = population.failed
        if probed and not failed:
            branch = HIGH if misranking(population) >= self.threshold else LOW
            memory = replace(memory, probes=memory.probes + 1)
        if probed and (failed or not self.warm_start):
            # Probe again, or leave the distribution as it is.
            _, inner = self._charge(memory, branch)
            memory = replace(
                memory,
                branch=branch,
                population=memory.population if failed else inner.population,
                generation=memory.generation + 1,
                around=memory.around if failed else population.samples.first,
            )
            return memory, Info((memory.state.sigma, np.nan, 1.0))
        method, inner = self._charge(memory, branch)
        inner, info = method.learn(inner, population, now, rng)
        due = (
            not failed
            and memory.probes - 1 < len(self.reprobe)
            and population.began >= self.reprobe[memory.probes - 1]
        )
        memory = replace(
            memory,
            branch=PROBE if due else branch,
            low=inner if branch == LOW else replace(memory.low, warm=inner.warm),
            high=inner if branch == HIGH else replace(memory.high, warm=inner.warm),
            state=inner.state,
            population=inner.population,
            generation=memory.generation + 1,
            around=inner.around,
        )
        return memory, info

    def absorb(self, memory: SwitchMemory, data: Earlier) -> SwitchMemory | None:
        low, high = self._methods
        inner = (self._charge(memory, branch)[1] for branch in (LOW, HIGH))
        new_low, new_high = low.absorb(next(inner), data), high.absorb(next(inner), data)
        if new_low is None or new_high is None:
            return None
        return replace(memory, low=new_low, high=new_high)

    def recommend(self, memory: SwitchMemory) -> Recommended:
        method, inner = self._charge(memory, memory.branch)
        return method.recommend(replace(inner, around=memory.around))

    def explain(self, memory: SwitchMemory) -> Explanation:
        _, high = self._methods
        told = high.explain(memory.high)
        method, inner = self._charge(memory, memory.branch)
        chosen = {PROBE: "probing", LOW: "low", HIGH: "high"}[memory.branch]
        said = f"branch {chosen} after {_times(memory.probes, 'probe')}"
        return replace(told, message=said, earlier=method.explain(inner).earlier)

    def distribution(self, memory: SwitchMemory) -> Distribution:
        state = memory.state
        return Distribution(state.mean, state.sigma, state.covariance.C)


def misranking(population: Population) -> float:
    """P of a probed generation; 0 where the probe found nothing to repeat."""
    P, again = displacement(population.samples)
    return P if again else 0.0


def agree_exactly(population: Population) -> bool:
    """Whether every candidate evaluated twice had the same value both times. Failing twice is no
    evidence, failing once is."""
    values = population.samples.values
    if values.shape[1] < 2:
        return False
    pair = values[~np.isnan(values[:, 1]), :2]
    return bool(np.isfinite(pair).any() and (pair[:, 0] == pair[:, 1]).all())


def _times(n: int, what: str) -> str:
    return f"1 {what}" if n == 1 else f"{n} {what}s"
