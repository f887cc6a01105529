"""`auto`, the default: a model where evaluations are few, else an evolution strategy.

A list of options is searched by selection (`Select`). Elsewhere one rule decides which of the two
is in charge.

- The Gaussian process (`GP`) searches where the budget is at most 300 evaluations and 100 per
  parameter, of at most ten parameters. From six on it hands over to the evolution
  strategy (`Watchful`) if it stops predicting: if it orders new values hardly better than chance
  although it expected to. With fewer the strategy would not do better.
- Where there are choices, the model searches alone with up to 1000 evaluations and any number of
  choices beside at most ten numbers: to the strategy a choice is its largest coordinate only.
- In longer runs with at most five dimensions the model opens: it searches for the first 25
  evaluations per coordinate and at least 100, but for no more than half of the budget. Then the
  strategy goes on from its minimum. Where noise makes more than a tenth of the variance of the
  values, the strategy begins anew as soon as that is known, as if there had been no model.
- The model keeps such a run of at most 1000 evaluations in one or two dimensions, if there is
  noise (0.5 to 90 % of the variance) and it is about the same everywhere: if values need no
  transformation and it is not a matter of a few outliers.
- Elsewhere the strategy searches from the start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from noisewise._data import data
from noisewise.gp import search as gp
from noisewise.gp.limits import Limits
from noisewise.gp.past import UNUSED
from noisewise.measured.population import Population
from noisewise.methods.delegating import Delegating
from noisewise.methods.gp import GP, GPMemory
from noisewise.methods.method import (
    Distribution,
    Explanation,
    Info,
    Method,
    Now,
    Setup,
)
from noisewise.methods.reevaluations import WatchfulMemory
from noisewise.methods.select import Select, SelectMemory
from noisewise.methods.watchful import Watchful
from noisewise.problem.earlier import Earlier

#: Where the model is in charge: evaluations in all, at least and at most per parameter, and
#: numbers; and evaluations in all where there are choices.
_MOST, _LEAST_EACH, _MOST_EACH, _DIMENSIONS, _WITH_CHOICES = 300, 5, 100, 10, 1000
#: It opens longer runs in at most so many coordinates, for so many evaluations, at least and per
#: coordinate.
_OPENS_UP_TO, _OPENING, _OPENING_EACH = 5, 100, 25
#: There the strategy begins anew above this share of noise in the variance, which is looked at
#: after so many values, at least and per coordinate.
_NOISY, _KNOWN, _KNOWN_EACH = 0.1, 15, 5
#: It keeps a run that it opened in at most so many coordinates, with at most so many evaluations
#: (all of which it remembers), above this share of noise and this usual surprise.
_KEEPS_UP_TO, _KEPT, _SOME, _USUAL = 2, 1000, 0.005, 0.35
#: It hands over below this rank agreement, once it expected so many pairs in order, from so many
#: coordinates on, and if so many generations of the strategy are left.
_AGREEMENT, _PAIRS, _HANDS_OVER_FROM, _GENERATIONS = 0.25, 40.0, 6, 8


@data
@dataclass(slots=True, kw_only=True)
class AutoMemory:
    """The memory of the method in charge; the others are None."""

    setup: Setup
    model: GPMemory | None = None
    strategy: WatchfulMemory | None = None
    selection: SelectMemory | None = None
    #: Evaluations for which the model opens a longer run; 0: it is in charge of all of them.
    opening: int = 0
    #: Evaluations after which the model handed over; 0: it did not.
    handed_over: int = 0
    #: Why the strategy began anew then; empty: it went on from where the model was.
    anew: str = ""
    #: What had come of earlier data then.
    earlier: str = ""
    #: What it had to say then about values that it had set aside.
    outliers: list[str] = field(default_factory=list)
    #: Evaluations that the model has learnt from, earlier data not counted.
    learnt: int = 0


@data
@dataclass(frozen=True, kw_only=True)
class Auto(Delegating):
    """The default: nothing to configure. Few evaluations in few dimensions are spent by a model,
    others by an evolution strategy that watches the noise; see docs/methods.md.

    covariance, population, grow, centred, scores
        Options of `Watchful`, the evolution strategy. With a ``population`` it is in charge from
        the start.
    model
        For ablations: False leaves out the model.

    >>> import noisewise as nw
    >>> r = nw.minimize(lambda x: x @ x, [3.0] * 4, sigma0=1.0, budget=600, rng=0)
    >>> bool(r.x @ r.x < 1e-2)  # method="auto" is the default
    True
    """

    name: ClassVar[str] = "auto"
    rank_based: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    lists: ClassVar[str] = "choice"
    keeps_start: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...]] = (*Watchful.columns, "noise_share")

    covariance: str = "auto"
    population: int | None = None
    grow: bool = True
    centred: bool = True
    scores: float = 0.5
    model: bool = True
    _gp: GP = field(init=False, repr=False, compare=False)
    _watchful: Watchful = field(init=False, repr=False, compare=False)
    _select: Select = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        watchful = Watchful(
            covariance=self.covariance,
            population=self.population,
            grow=self.grow,
            centred=self.centred,
            scores=self.scores,
        )
        object.__setattr__(self, "_gp", GP())
        object.__setattr__(self, "_watchful", watchful)
        object.__setattr__(self, "_select", Select(population=self.population))

    def start(self, setup: Setup, distribution: Distribution | None = None) -> AutoMemory:
        if setup.options is not None:
            selection = self._select.start(setup, distribution)
            return AutoMemory(setup=setup, selection=selection)
        d, opening = setup.parameters, _opening(setup)
        few = _LEAST_EACH * d <= setup.budget <= _few(setup) and _numbers(setup) <= _DIMENSIONS
        if self.model and (few or opening) and self.population is None:
            model = self._gp.start(setup, distribution)
            # What the strategy takes over should not depend on a few points close to the best.
            fit = model.model.fit
            fit = replace(fit, closer=fit.closer and not opening)
            model.model = replace(model.model, fit=fit)
            return AutoMemory(setup=setup, model=model, opening=opening)
        return AutoMemory(setup=setup, strategy=self._watchful.start(setup, distribution))

    def resume(self, memory: AutoMemory, setup: Setup) -> AutoMemory:
        """The model hands over where the budget has become too long for it and at least half of
        it is left; otherwise the method in charge stays. An opening ends when it would have."""
        memory.setup = setup
        if memory.selection is not None:
            memory.selection = self._select.resume(memory.selection, setup)
        if memory.strategy is not None:
            memory.strategy = self._watchful.resume(memory.strategy, setup)
        if memory.model is None:
            return memory
        memory.model = self._gp.resume(memory.model, setup)
        left = setup.budget - memory.learnt
        long = setup.budget > max(_few(setup), _kept(setup)) and not memory.opening
        if long and 2 * left >= setup.budget:
            self._hand_over(memory, left)
        return memory

    def _charge(self, memory: AutoMemory) -> tuple[Method, Any]:
        """The method in charge and its memory."""
        if memory.model is not None:
            return self._gp, memory.model
        if memory.selection is not None:
            return self._select, memory.selection
        return self._watchful, memory.strategy

    def learn(
        self, memory: AutoMemory, population: Population, now: Now, rng: np.random.Generator
    ) -> tuple[AutoMemory, Info]:
        method, inner = self._charge(memory)
        inner, info = method.learn(inner, population, now, rng)
        if memory.selection is not None:
            memory.selection = inner
            return memory, Info((math.nan,) * len(self.columns))
        if memory.model is None:
            memory.strategy = inner
            return memory, Info((*info.row, math.nan))
        memory.model = inner
        memory.learnt += int((~np.isnan(population.samples.values)).sum())
        if memory.opening:
            over = memory.learnt >= memory.opening
            if self._keeps(memory):
                memory.opening = 0 if over else memory.opening
            elif (anew := self._why_anew(memory)) or over:
                self._hand_over(memory, now.free, anew)
        elif not memory.setup.choices and self._lost(inner, now, memory.setup.parameters):
            self._hand_over(memory, now.free)
        return memory, Info((math.nan, math.nan, math.nan, *info.row))

    def _lost(self, model: GPMemory, now: Now, dimension: int) -> bool:
        """Whether the model has stopped predicting and there is time for the strategy."""
        if dimension < _HANDS_OVER_FROM:
            return False
        rate, pairs = gp.agreement(model.model)
        least = _GENERATIONS * (4.0 + 3.0 * math.log(dimension))
        return rate < _AGREEMENT and pairs >= _PAIRS and now.free >= least

    def _why_anew(self, memory: AutoMemory) -> str:
        """Why the model is no use for the opening: too much that it does not explain, or no success
        yet; empty: it is. Its start would be worse than the first one, whose steps are longer.
        Earlier data in use are not given up."""
        assert memory.model is not None
        model, known = memory.model.model, max(_KNOWN, _KNOWN_EACH * memory.setup.parameters)
        if memory.learnt < known or (model.past is not None and model.past.use != UNUSED):
            return ""
        share = gp.noise_share(model)
        if math.isnan(share):
            return "nothing had succeeded"
        if share <= _NOISY:
            return ""
        good = model.own.y[model.own.ok]
        return "all values were equal" if np.ptp(good) == 0.0 else "a model explained too little"

    def _keeps(self, memory: AutoMemory) -> bool:
        """Whether the model does better than the strategy in the whole of a run that it opens: it
        averages noise that is the same everywhere over all that it has seen. For the strategy are
        noise that falls with the values, which a transformation shows, rare outliers among exact
        values, which ranks ignore, and functions of which the model sees nothing."""
        assert memory.model is not None
        model = memory.model.model
        good = model.measured.y[model.measured.ok]
        return (
            memory.setup.budget <= _kept(memory.setup)
            and model.fit.name == "none"
            and gp.noise_share(model) > _SOME
            and bool(np.ptp(good) > 0.0)
            and not gp.blind(model)
            and gp.usual_surprise(model) > _USUAL
        )

    def _hand_over(self, memory: AutoMemory, free: int, anew: str = "") -> None:
        """The strategy goes on from the model's minimum, its curvature and its uncertainty, or
        begins anew."""
        assert memory.model is not None
        seen, frame = memory.model.model.own, memory.model.model.frame
        memory.earlier = self._gp.absorbed(memory.model)
        memory.outliers = self._gp.explain(memory.model).warnings
        setup = replace(memory.setup, budget=max(1, free))
        distribution = None if anew else self._gp.distribution(memory.model)
        strategy = self._watchful.start(setup, distribution)
        if seen.seed is None:  # else values of different seeds have different offsets
            values = np.where(seen.ok, seen.y, np.inf)
            strategy.best = strategy.best.insert(frame.outer(seen.X)[seen.at], values)
        memory.handed_over, memory.anew = len(seen.y), anew
        memory.model, memory.strategy = None, strategy

    def limit(self, memory: AutoMemory, limits: Limits) -> AutoMemory | None:
        if memory.selection is not None:
            memory.selection = self._select.limit(memory.selection, limits)
            return memory
        if memory.model is None:
            return None
        memory.model = self._gp.limit(memory.model, limits)
        return memory

    def absorb(self, memory: AutoMemory, data: Earlier) -> AutoMemory | None:
        method, inner = self._charge(memory)
        inner = method.absorb(inner, data)
        if inner is None:
            return None
        if memory.model is not None:
            memory.model = inner
        elif memory.selection is not None:
            memory.selection = inner
        else:
            memory.strategy = inner
        return memory

    def absorbed(self, memory: AutoMemory) -> str:
        method, inner = self._charge(memory)
        return method.absorbed(inner) or memory.earlier

    def explain(self, memory: AutoMemory) -> Explanation:
        method, inner = self._charge(memory)
        told = method.explain(inner)
        if memory.handed_over:
            when = f"after {memory.handed_over} evaluations"
            said = f"a model handed over {when}"
            if memory.anew:
                said = f"{memory.anew} {when}, so a strategy began anew"
            warnings = [*memory.outliers, *told.warnings]
            told = replace(told, message=f"{said}; {told.message}", warnings=warnings)
        return told


def _opening(setup: Setup) -> int:
    """Evaluations for which the model opens a run that is too long for it; 0: none. Shared seeds
    need rounds of many candidates."""
    d, budget = setup.parameters, setup.budget
    if d > _OPENS_UP_TO or budget <= _few(setup) or setup.common:
        return 0
    return min(max(_OPENING, _OPENING_EACH * d), budget // 2)


def _numbers(setup: Setup) -> int:
    """Parameters that are no choices."""
    return setup.parameters - setup.choices


def _few(setup: Setup) -> int:
    """The longest budget that the model is in charge of."""
    return _WITH_CHOICES if setup.choices else min(_MOST, _MOST_EACH * setup.parameters)


def _kept(setup: Setup) -> int:
    """The longest budget of a run that it opens and may keep."""
    return _KEPT if setup.parameters <= _KEEPS_UP_TO else 0
