"""`gp`: a Gaussian process proposes the candidates, for few evaluations in few dimensions.

The model is in `noisewise.gp`: what it proposes in `search`, what it answers in `answer`, both in
unit coordinates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from noisewise._check import integer_or_none, shown
from noisewise._data import data
from noisewise._threads import single
from noisewise._types import FloatArray, IntArray
from noisewise.gp import answer, outliers
from noisewise.gp import search as gp
from noisewise.gp.past import first_look
from noisewise.gp.tuning import GPTuning
from noisewise.measured.population import Population
from noisewise.methods.method import (
    Distribution,
    Explanation,
    Info,
    Method,
    Now,
    Predictions,
    Recommended,
    Sensitivity,
    Setup,
    Size,
)
from noisewise.problem.earlier import Earlier


@data
@dataclass(slots=True, kw_only=True)
class GPMemory:
    """What the model remembers, and how many candidates it proposes at a time."""

    model: gp.Memory
    batch: int


@dataclass(frozen=True)
class _Model(Predictions):
    model: gp.Memory

    def improvement(self) -> float:
        with single():
            return answer.improvement(self.model)

    def sensitivities(self, blocks: list[IntArray]) -> list[Sensitivity]:
        with single():
            columns = [self.model.frame.columns(block) for block in blocks]
            return answer.sensitivities(self.model, columns)


class ModelSearch(Method):
    """A method that searches with a Gaussian process; how many candidates it proposes at a time is
    in its memory (`begin_model`)."""

    rank_based: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    learns_limits: ClassVar[bool] = True
    races: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = ("noise_share",)

    def size(self, memory: GPMemory, now: Now) -> Size:
        model = memory.model
        missing = model.design - len(model.measured.y)
        if model.past is not None and model.past.looked == 0:
            missing = first_look(model.design) - len(model.own.y)
        k = memory.batch
        if missing > 0:  # the start design in one round
            k = max(k, min(missing, now.free))
        return Size(max(1, k), singly=True)

    def propose(
        self, memory: GPMemory, n: int, pending: FloatArray, now: Now, rng: np.random.Generator
    ) -> FloatArray:
        model = memory.model
        with single():
            under_way = model.frame.inner(np.reshape(pending, (-1, model.frame.dimension)))
            return model.frame.outer(gp.propose(model, n, under_way, rng))

    def learn(
        self, memory: Any, population: Population, now: Now, rng: np.random.Generator
    ) -> tuple[Any, Info]:
        model, samples = memory.model, population.samples
        if population.limits is not None:
            model = replace(model, limits=population.limits)
        i, slot = np.nonzero(~np.isnan(samples.values))
        errors = None if samples.errors is None else samples.errors[i, slot] ** 2
        seeds = population.seeds[i, slot] if population.common else None
        with single():
            X = model.frame.inner(population.X)[i]
            memory.model = gp.learn(model, X, samples.values[i, slot], errors, seeds)
            if now.free == 0:
                memory.model = answer.settled(memory.model)
            return memory, Info((gp.noise_share(memory.model),))

    def absorb(self, memory: GPMemory, data: Earlier) -> GPMemory | None:
        model = memory.model
        with single():
            model_with = gp.absorb(model, model.frame.inner(data.X), data.y, data.se**2)
        if model_with is None:
            return None
        memory.model = model_with
        return memory

    def recommend(self, memory: GPMemory) -> Recommended:
        model = memory.model
        with single():
            found = answer.recommend(model)
        return found._replace(x=model.frame.outer(found.x))

    def finalists(self, memory: GPMemory) -> FloatArray:
        with single():
            return memory.model.frame.outer(answer.finalists(memory.model))

    def distribution(self, memory: GPMemory) -> Distribution:
        return Distribution(*answer.distribution(memory.model))

    def explain(self, memory: GPMemory) -> Explanation:
        model, warnings = memory.model, []
        share = gp.noise_share(model)
        if math.isnan(share):
            message = "too few values for a model"
        elif np.ptp(model.measured.y[model.measured.ok]) == 0.0:
            message = "a Gaussian process; all values are equal"
        else:
            with single():
                size = answer.noise(model)
            noise = f"the noise at x has a standard deviation of about {size:.2g}"
            message = f"a Gaussian process; {noise}"
            warnings = outliers.said(model.own)
        earlier = "" if model.past is None else model.past.said()
        return Explanation(message, warnings=warnings, earlier=earlier, predictions=_Model(model))


@data
@dataclass(frozen=True, kw_only=True)
class GP(ModelSearch):
    """Proposes where a Gaussian process expects to learn most about the minimum; learns the noise,
    its own output transformation, and from failures. For up to a few hundred evaluations in up to
    about ten dimensions; each costs a few milliseconds. ``tuning`` has the constants of its search.

    population
        Candidates per round with one worker; None: one.

    >>> import noisewise as nw
    >>> r = nw.minimize(lambda x: x @ x, [1.0, 2.0], sigma0=1.0, budget=40, method="gp", rng=0)
    >>> r.nfev, bool(r.x @ r.x < 1e-3)
    (40, True)
    """

    name: ClassVar[str] = "gp"
    population: int | None = None
    tuning: GPTuning = GPTuning()  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        integer_or_none("population", self.population, least=1)
        if not isinstance(self.tuning, GPTuning):
            raise ValueError(f"tuning must be a GPTuning, got {shown(self.tuning)}")

    def start(self, setup: Setup, distribution: Distribution | None = None) -> GPMemory:
        return GPMemory(
            model=begin_model(setup, distribution, self.tuning), batch=self.population or 1
        )


def begin_model(setup: Setup, distribution: Distribution | None, tuning: GPTuning) -> gp.Memory:
    """The model before the first value."""
    mean, sigma = setup.mean, setup.sigma
    if distribution is not None:
        mean, sigma = distribution.mean, distribution.sigma
    box = setup.box
    low, high, budget = box.low / box.scale, box.high / box.scale, setup.evaluations
    return gp.start(low, high, mean, sigma, setup.layout, budget, tuning)
