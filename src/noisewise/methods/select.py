"""`select`: which of a list of options is best (ranking and selection with a fixed budget).

The rule, which option to measure next and which to choose, is in `noisewise.select.allocation`; the
race of finalists follows it as well. Here is what surrounds it:

- First look: every option as often as 40 % of the budget allows, at least twice, so that a good
  one that is unlucky at first is not left out for good; once where the budget is less than five
  evaluations each; a part of the options, drawn at random, where it is less than one each.
- An option that failed is measured again, until it has failed three times more often than it
  succeeded.
- Where options share seeds, a round is a block: its options are measured under the same seed.
- With measured constraints, options that probably meet them are measured, and one that almost
  certainly does is chosen.
- Earlier data count as values of the options as long as the run's own values agree with them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from noisewise._check import integer_or_none
from noisewise._data import data
from noisewise._types import BoolArray, FloatArray, IntArray
from noisewise.gp.limits import LIKELY, SURE, Limits
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
    Standings,
)
from noisewise.problem.earlier import Earlier
from noisewise.problem.options import MOST, Options
from noisewise.select import allocation
from noisewise.select.tally import OptionValues, Tally

#: Part of the budget for the first look, evaluations of each option in it at least, and the budget
#: per option below which it is one.
_LOOKING, _LOOKS, _LOOKS_FROM = 0.4, 2, 5
#: Part of a budget of less than one evaluation each that is spent on different options.
_OPENED = 2.0 / 3.0
#: Failures beyond the successes after which an option is given up.
_TRIES = 3
#: Options of a block after the first look, as a part of all of them, and at least.
_BLOCK, _BLOCK_LEAST = 0.25, 2
#: Earlier data are left out where their distance from the run's own values has a smaller chance.
_DOUBT = 0.01
#: Options that are confirmed in turn where the chosen one fails.
_NEXT = 10


@data
@dataclass(slots=True, kw_only=True)
class SelectMemory:
    """What was measured of each option."""

    options: Options
    #: The option to begin with.
    first: int
    #: Whether options of a block share their seed, and whether medians are compared.
    common: bool = False
    median: bool = False
    log: OptionValues = field(default_factory=OptionValues)
    #: What was measured elsewhere.
    past: OptionValues = field(default_factory=OptionValues)
    #: Evaluations at the end of the first look; 0 before.
    looked: int = 0
    #: Measured constraints; None without any.
    limits: Limits | None = None

    def feasible(self) -> FloatArray:
        """The logarithm of the chance of each option to meet the constraints."""
        k = len(self.options)
        if self.limits is None:
            return np.zeros(k)
        return self.limits.log_chance(self.options.points(np.arange(k)))


@data
@dataclass(frozen=True, kw_only=True)
class Select(Method):
    """Finds the best of a list of options: measures again and again those that may be the best.

    For a space of parameters that are lists or whole numbers, with up to 1000 combinations; `auto`
    uses it for a single list.

    population
        Options measured in a round with one worker; None: one.

    >>> import numpy as np, noisewise as nw
    >>> rng, loss = np.random.default_rng(0), {"a": 1.0, "b": 0.0, "c": 2.0}
    >>> def measure(p):
    ...     return loss[p["option"]] + rng.normal()
    >>> r = nw.minimize(measure, space={"option": ["a", "b", "c"]}, budget=60, rng=0)
    >>> r.params["option"], r.options["option"], r.options["n"]
    ('b', ['b', 'a', 'c'], [24, 23, 7])
    """

    name: ClassVar[str] = "select"
    rank_based: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    learns_limits: ClassVar[bool] = True
    races: ClassVar[bool] = False
    lists: ClassVar[str] = "all"

    population: int | None = None

    def __post_init__(self) -> None:
        integer_or_none("population", self.population, least=1)

    def start(self, setup: Setup, distribution: Distribution | None = None) -> SelectMemory:
        if setup.options is None:
            raise ValueError(
                "method 'select' needs a space of lists or whole numbers with at most "
                f"{MOST} combinations, such as {{'option': ['a', 'b', 'c']}}"
            )
        first = int(setup.options.index(setup.mean[None])[0])
        median = setup.target == "median"
        return SelectMemory(options=setup.options, first=first, common=setup.common, median=median)

    def size(self, memory: SelectMemory, now: Now) -> Size:
        k = len(memory.options)
        if memory.common:
            block = max(_BLOCK_LEAST, math.ceil(_BLOCK * k)) if memory.looked else k
            return Size(min(block, k))
        first = looks(k, now.budget) * _opened(k, now.budget)
        missing = 0 if memory.looked else first - len(memory.log)
        # One value of each option at a time, so that those that fail are given up in time, and at
        # most half of what is left.
        return Size(max(1, self.population or 1, min(missing, k, now.free // 2)), singly=True)

    def propose(
        self, memory: SelectMemory, n: int, pending: FloatArray, now: Now, rng: np.random.Generator
    ) -> FloatArray:
        k = len(memory.options)
        tally = _tally(memory)
        under_way = np.bincount(memory.options.index(pending), minlength=k) if len(pending) else 0
        p = np.zeros(k, dtype=np.intp) + under_way
        block = np.zeros(k, dtype=bool)
        chosen = []
        for _ in range(n):
            if block.all():
                block[:] = False
            i = _next(memory, tally, p, ~block, now, rng)
            p[i] += 1
            block[i] = memory.common
            chosen.append(i)
        return memory.options.points(chosen)

    def learn(
        self, memory: SelectMemory, population: Population, now: Now, rng: np.random.Generator
    ) -> tuple[SelectMemory, Info]:
        samples = population.samples
        i, slot = np.nonzero(~np.isnan(samples.values))
        errors = None if samples.errors is None else samples.errors[i, slot]
        seeds = population.seeds[i, slot] if population.common and len(population.seeds) else None
        option = memory.options.index(population.X)[i]
        if population.limits is not None:
            memory.limits = population.limits
        memory.log = memory.log.add(option, samples.values[i, slot], errors, seeds)
        if not memory.looked and not _unlooked(memory, _tally(memory), 0, now.budget).any():
            memory.looked = len(memory.log)
        return memory, Info(repeated=_repeated(memory.log, len(i)))

    def absorb(self, memory: SelectMemory, data: Earlier) -> SelectMemory:
        memory.past = memory.past.add(memory.options.index(data.X), data.y, data.se)
        return memory

    def recommend(self, memory: SelectMemory) -> Recommended:
        tally = _tally(memory)
        if not tally.n.any():
            return Recommended(memory.options.points([memory.first])[0])
        best = int(_order(memory, tally)[0])
        return Recommended(memory.options.points([best])[0], float(tally.e[best]))

    def finalists(self, memory: SelectMemory) -> FloatArray:
        tally = _tally(memory)
        if not tally.n.any():
            return self.recommend(memory).x[None]
        return memory.options.points(_order(memory, tally)[:_NEXT])

    def explain(self, memory: SelectMemory) -> Explanation:
        own = _own(memory)
        n, k = own.n, len(own.n)
        failing, never = own.given_up(_TRIES), own.n + own.failed == 0
        message = f"{k} options"
        if n.any():
            message += f", measured {_range(n[n > 0])} each"
        warnings = []
        if memory.looked and never.any():
            said = f"{never.sum()} of {k} options were not measured"
            warnings.append(f"{said}: the budget is too small for all of them")
        if failing.any():
            warnings.append(f"{failing.sum()} of {k} options were given up because they failed")
        return Explanation(
            message, warnings=warnings, earlier=_earlier(memory), standings=_standings(memory)
        )


def _standings(memory: SelectMemory) -> Standings:
    tally = _tally(memory)
    order, own = _order(memory, tally), _own(memory)
    out = tally.given_up(_TRIES) | (memory.feasible() < np.log(LIKELY))
    return Standings(
        memory.options.points(order),
        own.n[order],
        own.failed[order],
        np.where(own.n > 0, own.m, np.nan)[order],
        np.where(tally.n > 0, tally.e, np.nan)[order],
        allocation.chances(np.where(out, np.inf, tally.e), tally.q)[order],
    )


def _earlier(memory: SelectMemory) -> str:
    """What came of earlier data."""
    if len(memory.past) == 0:
        return ""
    if _agrees(memory):
        return f"{len(memory.past)} rows of earlier data were used"
    return f"{len(memory.past)} rows of earlier data were left out: own values differ"


def _repeated(log: OptionValues, new: int) -> FloatArray:
    """The newest values beside the ones before them of the same options."""
    rows = []
    for at in range(len(log) - new, len(log)):
        before = np.flatnonzero(log.option[:at] == log.option[at])
        if len(before):
            rows.append((log.value[before[-1]], log.value[at]))
    return np.array(rows).reshape(-1, 2)


def _range(n: IntArray) -> str:
    low, high = int(n.min()), int(n.max())
    return f"{low} to {high} times" if low < high else f"{low} times" if low > 1 else "once"


def _own(memory: SelectMemory) -> Tally:
    """What the run's own values say."""
    return Tally.of(memory.log, len(memory.options), memory.median)


def _tally(memory: SelectMemory) -> Tally:
    """What all values say that may be used."""
    if len(memory.past) == 0 or not _agrees(memory):
        return _own(memory)
    past, log = memory.past, memory.log
    both = past.add(log.option, log.value, log.error, log.seed)
    return Tally.of(both, len(memory.options), memory.median)


def _agrees(memory: SelectMemory) -> bool:
    """Whether earlier values of options differ from the run's own ones by no more than noise."""
    from scipy.special import chdtrc  # takes long to import

    own = _own(memory)
    past = Tally.of(memory.past, len(memory.options), memory.median)
    both = (own.n > 0) & (past.n > 0)
    if not both.any():
        return True
    count = int((np.maximum(own.n - 1, 0) + np.maximum(past.n - 1, 0)).sum())
    v = own.v if np.maximum(own.n - 1, 0).sum() * 2 >= count else past.v
    error = v[both] / own.n[both] + v[both] / past.n[both]
    gap = own.m[both] - past.m[both]
    if not (error > 0.0).all():
        return bool((gap == 0.0).all())
    return bool(chdtrc(int(both.sum()), float((gap * gap / error).sum())) >= _DOUBT)


def _order(memory: SelectMemory, tally: Tally) -> IntArray:
    """Options from the best to the worst: by expected value, of equal ones those with more values
    first; before those that may miss the constraints, by their chance to do so; those that were
    given up and those without a value last."""
    feasible = memory.feasible()
    doubt = np.where(feasible >= np.log(SURE), 0.0, -feasible)
    return np.lexsort((-tally.n, tally.e, doubt, tally.given_up(_TRIES) | (tally.n == 0)))


def looks(options: int, budget: int) -> int:
    """How often each option is measured in the first look."""
    each = budget / options
    return max(_LOOKS, int(_LOOKING * each)) if each >= _LOOKS_FROM else 1


def _opened(options: int, budget: int) -> int:
    """How many options are measured at all."""
    return options if budget >= options else max(1, math.ceil(_OPENED * budget))


def _unlooked(memory: SelectMemory, tally: Tally, p: IntArray | int, budget: int) -> BoolArray:
    """Options that still need values before the first look at them is over."""
    k = len(memory.options)
    missing = (tally.n + p < looks(k, budget)) & ~tally.given_up(_TRIES)
    begun = tally.n + tally.failed + p > 0
    if begun.sum() >= _opened(k, budget):
        missing &= begun
    return np.asarray(missing)


def _next(
    memory: SelectMemory,
    tally: Tally,
    p: IntArray,
    among: BoolArray,
    now: Now,
    rng: np.random.Generator,
) -> int:
    """The option to measure next; ties are broken at random."""
    n, k = tally.n, len(memory.options)
    count = n + tally.failed + p
    if count[memory.first] == 0 and among[memory.first]:
        return memory.first
    missing = _unlooked(memory, tally, p, now.budget) & among
    if missing.any():
        return _one_of(np.where(missing, -count, -math.inf), rng)
    left = now.free / max(1, now.budget - memory.looked) if memory.looked else 1.0
    fit = _fit(memory, tally)
    live = among & fit
    tied = allocation.first_of_ties(n, tally.m, allocation.still_in(k, left))
    if (live & tied & (n > 0)).any():
        live &= tied & (n > 0)
    elif not live.any():
        live = among
    w = tally.weights(fit)
    return _one_of(allocation.urgency(n, p, w, live), rng)


def _fit(memory: SelectMemory, tally: Tally) -> BoolArray:
    """Options that are worth measuring: those that succeed and probably meet the constraints, or
    that with the best chance to meet them."""
    succeeds = ~tally.given_up(_TRIES)
    feasible = np.where(succeeds, memory.feasible(), -np.inf)
    likely = feasible >= np.log(LIKELY)
    best = succeeds & (feasible == feasible.max())
    return np.asarray(likely if likely.any() else best)


def _one_of(score: FloatArray, rng: np.random.Generator) -> int:
    """One of those with the largest score, at random."""
    best = np.flatnonzero(score >= score.max())
    return int(best[0] if len(best) == 1 else rng.choice(best))
