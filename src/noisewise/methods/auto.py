"""`auto`, the default: a model where evaluations are few, else an evolution strategy.

A list of options is searched by selection (`Select`). Elsewhere one rule decides which of the two
is in charge.

- The Gaussian process (`GP`) searches where the budget is at most 300 evaluations and 100 per
  parameter, of at most ten parameters. It needs two evaluations per parameter, or five with more
  than seven. From six parameters on it hands over to the evolution strategy (`Watchful`) after
  twelve evaluations per parameter if it stops predicting: if it orders new values hardly better
  than chance although it expected to. With fewer parameters the strategy would not do better.
- Where there are choices, the model searches alone with up to 1000 evaluations and any number of
  choices beside at most ten numbers: to the strategy a choice is its largest coordinate only.
- In longer runs with at most five dimensions the model opens: it searches for the first 25
  evaluations per coordinate and at least 100, but for no more than half of the budget. Then the
  strategy goes on from its minimum. Where noise makes more than a tenth of the variance of the
  values, the strategy begins anew as soon as that is known, as if there had been no model.
- With six to ten parameters it opens runs of at most 1000 evaluations, for half of them, and the
  strategy goes on from its minimum however strong the noise is; not with `seeds="auto"`, which
  only the strategy can compare.
- The model keeps such a run of at most 1000 evaluations in one or two dimensions, if there is
  noise (0.5 to 90 % of the variance) and it is about the same everywhere: if values need no
  transformation and it is not a matter of a few outliers.
- Elsewhere the strategy searches from the start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from noisewise._check import shown
from noisewise._data import data
from noisewise.gp import search as gp
from noisewise.gp.past import UNUSED
from noisewise.measured.population import Population
from noisewise.methods.auto_tuning import AutoTuning
from noisewise.methods.gp import GPMemory, ModelSearch, begin_model
from noisewise.methods.method import (
    Distribution,
    Handover,
    Info,
    Method,
    Now,
    Setup,
)
from noisewise.methods.select import Select
from noisewise.methods.watchful import Watchful


@data
@dataclass(slots=True, kw_only=True)
class AutoMemory(GPMemory):
    """What is remembered while the model is in charge."""

    setup: Setup
    #: Evaluations for which the model opens a longer run; 0: it is in charge of all of them.
    opening: int = 0
    #: Evaluations that the model has learnt from, earlier data not counted.
    learnt: int = 0


@data
@dataclass(frozen=True, kw_only=True)
class Auto(ModelSearch):
    """The default: nothing to configure. Few evaluations in few dimensions are spent by a model,
    others by an evolution strategy that watches the noise; see docs/methods.md. ``tuning``
    has the constants of the decision.

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
    lists: ClassVar[str] = "choice"
    keeps_start: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...]] = (*Watchful.columns, "noise_share")

    covariance: str = "auto"
    population: int | None = None
    grow: bool = True
    centred: bool = True
    scores: float = 0.5
    model: bool = True
    tuning: AutoTuning = AutoTuning()  # noqa: RUF009 - frozen
    _watchful: Watchful = field(init=False, repr=False, compare=False)
    _select: Select = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.tuning, AutoTuning):
            raise ValueError(f"tuning must be an AutoTuning, got {shown(self.tuning)}")
        watchful = Watchful(
            covariance=self.covariance,
            population=self.population,
            grow=self.grow,
            centred=self.centred,
            scores=self.scores,
        )
        object.__setattr__(self, "_watchful", watchful)
        object.__setattr__(self, "_select", Select(population=self.population))

    @property
    def successors(self) -> tuple[Method, ...]:
        return (self._watchful, self._select)

    def start(
        self, setup: Setup, distribution: Distribution | None = None
    ) -> AutoMemory | Handover:
        if setup.options is not None:
            return Handover(self._select, self._select.start(setup, distribution))
        opening = self.tuning.opening_of(setup)
        models = self.model and (opening or self.tuning.searches(setup))
        if not models or self.population is not None:
            return Handover(self._watchful, self._watchful.start(setup, distribution))
        model = begin_model(setup, distribution, self.tuning.model)
        # What the strategy takes over should not depend on a few points close to the best.
        fit = replace(model.fit, closer=model.fit.closer and not opening)
        return AutoMemory(model=replace(model, fit=fit), batch=1, setup=setup, opening=opening)

    def resume(self, memory: AutoMemory, setup: Setup) -> AutoMemory | Handover:
        """The model hands over where the budget has become too long for it and at least half of
        it is left. An opening ends when it would have."""
        memory.setup = setup
        left = setup.budget - memory.learnt
        long = not (self.tuning.short(setup) or self.tuning.keeps(setup) or memory.opening)
        return self._hand_over(memory, left) if long and 2 * left >= setup.budget else memory

    def learn(
        self, memory: AutoMemory, population: Population, now: Now, rng: np.random.Generator
    ) -> tuple[AutoMemory | Handover, Info]:
        _, info = super().learn(memory, population, now, rng)
        info = Info((math.nan, math.nan, math.nan, *info.row))
        memory.learnt += int((~np.isnan(population.samples.values)).sum())
        if memory.opening:
            over = memory.learnt >= memory.opening
            if self._keeps(memory):
                memory.opening = 0 if over else memory.opening
            elif (anew := self._why_anew(memory)) or over:
                return self._hand_over(memory, now.free, anew), info
        elif not memory.setup.choices and self._lost(memory, now, memory.setup.parameters):
            return self._hand_over(memory, now.free), info
        return memory, info

    def _lost(self, model: GPMemory, now: Now, dimension: int) -> bool:
        """Whether the model has stopped predicting and there is time for the strategy."""
        tuning, told = self.tuning, len(model.model.own.y)
        if dimension < tuning.hands_over_from or told < tuning.hands_over_each * dimension:
            return False
        rate, pairs = gp.agreement(model.model)
        least = tuning.generations * (4.0 + 3.0 * math.log(dimension))
        return rate < tuning.agreement and pairs >= tuning.pairs and now.free >= least

    def _why_anew(self, memory: AutoMemory) -> str:
        """Why the model is no use for the opening: too much that it does not explain, or no success
        yet; empty: it is. Its start would be worse than the first one, whose steps are longer.
        Earlier data in use are not given up, nor is the model of many parameters for noise."""
        model, d, tuning = memory.model, memory.setup.parameters, self.tuning
        known = max(tuning.known, tuning.known_each * d)
        if memory.learnt < known or (model.past is not None and model.past.use != UNUSED):
            return ""
        share = gp.noise_share(model)
        if math.isnan(share):
            return "nothing had succeeded"
        if share <= (tuning.noisy if d <= tuning.opens_up_to else 1.0):
            return ""
        good = model.own.y[model.own.ok]
        return "all values were equal" if np.ptp(good) == 0.0 else "a model explained too little"

    def _keeps(self, memory: AutoMemory) -> bool:
        """Whether the model does better than the strategy in the whole of a run that it opens: it
        averages noise that is the same everywhere over all that it has seen. For the strategy are
        noise that falls with the values, which a transformation shows, rare outliers among exact
        values, which ranks ignore, and functions of which the model sees nothing."""
        model = memory.model
        good = model.measured.y[model.measured.ok]
        return (
            self.tuning.keeps(memory.setup)
            and model.fit.name == "none"
            and gp.noise_share(model) > self.tuning.some_noise
            and bool(np.ptp(good) > 0.0)
            and not gp.blind(model)
            and gp.usual_surprise(model) > self.tuning.usual_surprise
        )

    def _hand_over(self, memory: AutoMemory, free: int, anew: str = "") -> Handover:
        """The strategy goes on from the model's minimum, its curvature and its uncertainty, or
        begins anew."""
        seen, frame = memory.model.own, memory.model.frame
        told = self.explain(memory)
        setup = replace(memory.setup, budget=max(1, free))
        strategy = self._watchful.start(setup, None if anew else self.distribution(memory))
        if seen.seed is None:  # else values of different seeds have different offsets
            values = np.where(seen.ok, seen.y, np.inf)
            strategy.best = strategy.best.insert(frame.outer(seen.X)[seen.at], values)
        when = f"after {len(seen.y)} evaluations"
        said = f"{anew} {when}, so a strategy began anew" if anew else f"a model handed over {when}"
        return Handover(self._watchful, strategy, said, told.warnings, told.earlier)
