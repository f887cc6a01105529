"""A run of ask and tell that is rebuilt from the values on record.

A run is a function of its settings and of the value of each trial. With one worker the order in
which values came leaves no trace; with several it is on record, too (see `steps`). So whoever reads
the records can go on with the run.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from noisewise._types import FloatArray, Rng
from noisewise.answer.recommendation import Recommendation
from noisewise.answer.result import Result
from noisewise.loop.optimizer import Optimizer
from noisewise.methods import Method
from noisewise.problem.space import Space
from noisewise.run.comparison import SMALLEST

#: First budget of a run without a budget: this many evaluations, and this many per coordinate.
_FIRST, _FIRST_PER_COORDINATE = 100, 20
#: Step size of a stage that starts from an earlier recommendation, relative to the first.
_LATER_SIGMA = 0.5
#: Trials that measure a point which nobody else may have sampled elsewhere.
_FIXED = ("confirmation", "comparison")


@dataclass(frozen=True)
class Settings:
    """What a run is made of. ``budgets`` are those of its stages, each of which starts from the
    recommendation of the one before; None: stages without end, each twice as long. ``data`` are
    points and values that were known before."""

    x0: FloatArray
    sigma0: float
    method: Method
    seed: int
    workers: int
    budgets: tuple[int, ...] | None
    data: tuple[FloatArray, FloatArray] | None = None
    #: What the coordinates are; None: numbers.
    space: Space | None = None
    #: Today's setting, which every stage compares with what it finds.
    incumbent: FloatArray | None = None


@dataclass(frozen=True)
class Offer:
    """An evaluation that the run waits for. ``row`` is the candidate as it was sampled, in inner
    coordinates; None where the recommendation is measured. ``placeable``: another point may take
    its place."""

    id: int
    x: FloatArray
    kind: str
    row: FloatArray | None
    placeable: bool


@final
class Replay:
    """The run: what it waits for, and what it recommends."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._stage = 0
        self._offset = 0
        self._earlier: Recommendation | None = None
        #: How often the run has learnt and was asked for more, with several workers.
        self.steps = 0
        #: Names of the constraints; None: not known yet.
        self._limits: tuple[str, ...] | None = None
        self._opt = self._optimizer(settings.x0, settings.sigma0, settings.seed)
        #: What the run waits for now, by id.
        self.open: dict[int, Offer] = {}
        self._ask()

    def _optimizer(self, x0: FloatArray, sigma0: float, rng: Rng) -> Optimizer:
        s = self.settings
        if s.budgets is None:
            first = max(_FIRST, _FIRST_PER_COORDINATE * len(x0))
            budget = first * 2**self._stage
        else:
            budget = s.budgets[self._stage]
        today = s.incumbent if budget >= SMALLEST else None
        bounds = (np.zeros(len(x0)), np.ones(len(x0)))
        return Optimizer(
            x0,
            budget=budget,
            bounds=bounds if s.space is None else None,
            space=s.space,
            sigma0=sigma0,
            method=s.method,
            rng=rng,
            workers=s.workers,
            confirm=0 if today is None else "auto",
            incumbent=today,
            data=s.data if self._stage == 0 else None,
        )

    @property
    def flows(self) -> bool:
        """Whether the order in which values come matters, so that the run goes on in steps."""
        return self.settings.workers > 1

    def step(self) -> None:
        """The values of a step are told: ask for more."""
        self.steps += 1
        self._ask()

    @property
    def gave_up(self) -> bool:
        """Whether nothing but failures made the run end."""
        return self._opt.gave_up

    def answer(
        self,
        id: int,
        value: float,
        row: FloatArray | None = None,
        limits: Mapping[str, float] | None = None,
    ) -> None:
        """The value of an open evaluation; nan: it failed. ``row`` is where it was evaluated:
        another machine may have sampled another point for the same id. ``limits`` are constraints
        by name."""
        offer = self.open.pop(id)
        local = id - self._offset
        if row is not None and offer.kind == "candidate":
            self._opt.move(local, row)
        value, told = self._limited(value, limits or {})
        self._opt.tell(local, value, constraints=told)
        if not self.flows:
            self._ask()

    def _limited(
        self, value: float, limits: Mapping[str, float]
    ) -> tuple[float, list[float] | None]:
        """The value, nan where constraints are missing that others have, and these in the order of
        the first trial that had some. Where trials without any came before, there are none."""
        ledger = self._opt.state.ledger
        if limits and self._limits is None and ledger.told > ledger.failures:
            warnings.warn(
                "constraints are left out: the first trials of this search had none", stacklevel=2
            )
            self._limits = ()
        if self._limits is None:
            if not limits:
                return value, None
            self._limits = tuple(limits)
        told = [limits.get(name, math.nan) for name in self._limits]
        if not told or math.isnan(value):
            return value, None
        return (math.nan, None) if np.isnan(told).any() else (value, told)

    def place(
        self,
        id: int,
        value: float,
        x: FloatArray,
        limits: Mapping[str, float] | None = None,
    ) -> None:
        """The value of a point that the run did not ask for, in the place of a candidate."""
        self.answer(id, value, self._injected(x), limits)

    def _injected(self, x: FloatArray) -> FloatArray:
        """Where a foreign point counts: an evolution strategy takes it for a sample of its own, so
        one that is farther away than samples are is moved towards the mean (Hansen 2011, Injecting
        external solutions into CMA-ES)."""
        opt, n = self._opt, len(x)
        search = opt.in_charge.distribution(opt.state.memory) if opt.in_charge.sampled else None
        if search is None:
            return x
        length = float(np.linalg.norm(search.whiten((x - search.mean)[None]))) / search.sigma
        most = math.sqrt(n) + 2.0 * n / (n + 2.0)
        return x if length <= most else search.mean + (x - search.mean) * (most / length)

    def extend(self, budgets: tuple[int, ...]) -> None:
        """Go on with further stages."""
        self.settings = replace(self.settings, budgets=budgets)
        if self._opt.done or not self.flows:
            self._ask()

    def recommend(self) -> Recommendation:
        """The point to use, with an honest estimate of f there; that of the stage before until
        the present one has come halfway."""
        if self._earlier is not None and 2 * self._opt.spent < self._opt.budget:
            return self._earlier
        return self._opt.recommend()

    def result(self) -> Result:
        """What the present stage has come to."""
        return self._opt.result()

    def _ask(self) -> None:
        """Open all that can be evaluated now, as far as it is not open yet."""
        s = self.settings
        while self._opt.done and not self.gave_up:
            if s.budgets is not None and self._stage + 1 >= len(s.budgets):
                return
            self._earlier = self._opt.recommend()
            self._stage += 1
            self._offset += self._opt.budget
            rng = np.random.SeedSequence([s.seed, self._stage])
            self._opt = self._optimizer(self._earlier.x, _LATER_SIGMA * s.sigma0, rng)
        for trial in self._opt.ask():
            row = None if trial.kind in _FIXED else self._opt.candidate(trial.id)
            # Not where other evaluations of the same candidate are under way.
            placeable = trial.kind == "candidate" and self._opt.is_only_value(trial.id)
            id = self._offset + trial.id
            self.open[id] = Offer(id, trial.x, trial.kind, row, placeable)
