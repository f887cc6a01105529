"""`gp`: a Gaussian process proposes the candidates, for few evaluations in few dimensions.

The model is in `noisewise.models`, what it proposes in `_gp_search`, what it answers in
`_gp_answer`; all of them work in unit coordinates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from noisewise._check import integer_or_none
from noisewise._data import data
from noisewise._threads import single
from noisewise._types import FloatArray, IntArray
from noisewise.gp import answer, outliers
from noisewise.gp import search as gp
from noisewise.gp.limits import Limits
from noisewise.gp.past import first_look
from noisewise.measured.population import Population
from noisewise.methods.method import (
    Distribution,
    Explanation,
    Info,
    Method,
    Now,
    Recommended,
    Sensitivity,
    Setup,
    Size,
)
from noisewise.problem.earlier import Earlier


@data
@dataclass(slots=True)
class GPMemory:
    """What the model remembers, and how many candidates it proposes at a time."""

    model: gp.Memory
    batch: int


@data
@dataclass(frozen=True, kw_only=True)
class GP(Method):
    """Proposes where a Gaussian process expects to learn most about the minimum; learns the noise,
    its own output transformation, and from failures. For up to a few hundred evaluations in up to
    about ten dimensions; each costs a few milliseconds.

    population
        Candidates per round with one worker; None: one.

    >>> import noisewise as nw
    >>> r = nw.minimize(lambda x: x @ x, [1.0, 2.0], sigma0=1.0, budget=40, method="gp", rng=0)
    >>> r.nfev, bool(r.x @ r.x < 1e-3)
    (40, True)
    """

    name: ClassVar[str] = "gp"
    rank_based: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...]] = ("noise_share",)

    population: int | None = None

    def __post_init__(self) -> None:
        integer_or_none("population", self.population, least=1)

    def start(self, setup: Setup, distribution: Distribution | None = None) -> GPMemory:
        mean, sigma = setup.mean, setup.sigma
        if distribution is not None:
            mean, sigma = distribution.mean, distribution.sigma
        box = setup.box
        model = gp.start(box.low / box.scale, box.high / box.scale, mean, sigma, setup.layout)
        return GPMemory(model, self.population or 1)

    def size(self, memory: GPMemory, now: Now) -> Size:
        model, d = memory.model, len(memory.model.x0)
        missing = gp.start_size(d) - len(model.measured.y)
        if model.past is not None and model.past.looked == 0:
            missing = first_look(gp.start_size(d), d) - len(model.own.y)
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
        self, memory: GPMemory, population: Population, now: Now, rng: np.random.Generator
    ) -> tuple[GPMemory, Info]:
        model, samples = memory.model, population.samples
        i, slot = np.nonzero(~np.isnan(samples.values))
        errors = None if samples.errors is None else samples.errors[i, slot] ** 2
        seeds = population.seeds[i, slot] if population.common else None
        with single():
            X = model.frame.inner(population.X)[i]
            memory.model = gp.learn(model, X, samples.values[i, slot], errors, seeds)
            return memory, Info((gp.noise_share(memory.model),))

    def limit(self, memory: GPMemory, limits: Limits) -> GPMemory:
        memory.model = replace(memory.model, limits=limits)
        return memory

    def absorb(self, memory: GPMemory, data: Earlier) -> GPMemory | None:
        model = memory.model
        with single():
            model_with = gp.absorb(model, model.frame.inner(data.X), data.y, data.se**2)
        if model_with is None:
            return None
        memory.model = model_with
        return memory

    def absorbed(self, memory: GPMemory) -> str:
        return "" if memory.model.past is None else memory.model.past.said()

    def recommend(self, memory: GPMemory) -> Recommended:
        model = memory.model
        with single():
            x, value = answer.recommend(model)
        return Recommended(model.frame.outer(x), value)

    def finalists(self, memory: GPMemory) -> FloatArray:
        with single():
            return memory.model.frame.outer(answer.finalists(memory.model))

    def sensitivities(self, memory: GPMemory, blocks: list[IntArray]) -> list[Sensitivity]:
        with single():
            columns = [memory.model.frame.columns(block) for block in blocks]
            return answer.sensitivities(memory.model, columns)

    def races(self, memory: GPMemory) -> bool:
        return False

    def improvement(self, memory: GPMemory) -> float:
        with single():
            return answer.improvement(memory.model)

    def distribution(self, memory: GPMemory) -> Distribution:
        return Distribution(*answer.distribution(memory.model))

    def explain(self, memory: GPMemory) -> Explanation:
        model = memory.model
        share = gp.noise_share(model)
        if math.isnan(share):
            return Explanation("too few values for a model")
        if np.ptp(model.measured.y[model.measured.ok]) == 0.0:
            return Explanation("a Gaussian process; all values are equal")
        message = f"a Gaussian process; noise makes {share:.0%} of the variance of all values"
        return Explanation(message, warnings=outliers.said(model.own))
