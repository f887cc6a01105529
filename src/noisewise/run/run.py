"""A run as data: all that changes while it goes on, with the ledger that counts its evaluations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.gp.limits import Limits
from noisewise.measured.evidence import Evidence, History, Recent
from noisewise.measured.population import Population
from noisewise.measured.told import Told
from noisewise.methods.method import Explanation, Handover, Method, Now, Setup
from noisewise.problem.values import Value
from noisewise.run.comparison import Comparison
from noisewise.run.recheck import Final
from noisewise.run.seeds import Seeds

#: Status of a run, and of a result about it.
BUDGET_SPENT, STOPPED, ALL_FAILED, INTERRUPTED, RUNNING = 0, 1, 2, 3, 4
#: Rounds in a row without one success before a run gives up; they must have at least as many
#: candidates as so many rounds of an evolution strategy.
BARREN = 3
#: Coordinates and values of the newest candidates that are kept for the report.
_KEPT = 30000
#: Numbers that are kept of the newest evaluations, six and a point for each.
_TOLD = 60_000
_NONE: FloatArray = np.empty((0, 0))
#: Columns of the history that every method has.
COLUMNS = (
    "evaluations",
    "population",
    "mean_value",
    "best_value",
    "misranking",
    "misranking_mean",
    "reevaluations",
)


@data
@dataclass(slots=True)
class Ledger:
    """Grants evaluations and never more than the budget.

    An evaluation is charged when it is handed out: it stays charged whether it succeeds, fails
    or is lost. ``reserve`` evaluations are kept for the race of finalists
    and the confirmation of the recommendation.
    """

    budget: int
    reserve: int = 0
    #: Charged evaluations, in all and by kind.
    charged: int = 0
    base: int = 0
    reevaluation: int = 0
    race: int = 0
    confirmation: int = 0
    #: Evaluations whose value came back, and how many of those were failures.
    told: int = 0
    failures: int = 0
    #: Failures that were exceptions, not values.
    crashes: int = 0

    @property
    def remaining(self) -> int:
        """Evaluations not handed out yet, the reserve included."""
        return self.budget - self.charged

    @property
    def free(self) -> int:
        """Evaluations the search may still ask for."""
        free = self.budget - self.charged - self.reserve
        return free if free > 0 else 0

    def charge(self, base: int = 0, reevaluation: int = 0) -> None:
        """Charge evaluations of the search; asking for more than is free is a bug."""
        if base + reevaluation > self.budget - self.reserve - self.charged:
            raise AssertionError("the ledger was asked for more than is free")
        self.charged += base + reevaluation
        self.base += base
        self.reevaluation += reevaluation

    def charge_final(self, race: int = 0, confirmation: int = 0) -> None:
        """Charge evaluations of the last phase, from the reserve first."""
        n = race + confirmation
        if n > self.remaining:
            raise AssertionError("the ledger was asked for more than is left")
        self.charged += n
        self.race += race
        self.confirmation += confirmation
        self.reserve = max(0, self.reserve - n)

    def give_back(self, slot: int) -> None:
        """An evaluation of the search, the first of its candidate or a later one, is not needed and
        was never done."""
        self.charged -= 1
        self.base -= slot == 0
        self.reevaluation -= slot > 0

    def count(self, values: Sequence[Value]) -> None:
        """Evaluations that were handed out came back."""
        self.told += len(values)
        for value in values:
            if value.y == math.inf:
                self.failures += 1
                self.crashes += value.why is not None


@data
@dataclass(slots=True)
class Handed:
    """A method has handed over: the number of its successor, evaluations that it had learnt from,
    and what it said; see `Handover`."""

    successor: int
    evaluations: int
    message: str
    warnings: list[str]
    earlier: str


@data
@dataclass(slots=True)
class Run:
    """Everything that changes during a run."""

    setup: Setup
    ledger: Ledger
    #: All that the method in charge remembers.
    memory: Any
    #: Random streams of the candidates and of everything else.
    search: np.random.Generator
    bootstrap: np.random.Generator
    #: The number the user gave as ``rng``, if it was one.
    seed: int | None
    history: History
    #: Whether the user's values are the negatives of those here, which are minimised.
    maximize: bool
    #: What the values say about the noise, and the newest of them.
    evidence: Evidence
    best_x: FloatArray
    #: The newest evaluations.
    told: Told
    #: How the method in charge came to be that, if it is not the chosen one.
    handovers: list[Handed] = field(default_factory=list)
    best_value: float = math.inf
    #: Evaluations that run at the same time.
    workers: int = 1
    #: The round under way. With workers and in batches, rounds that wait for re-evaluations and
    #: candidates that gather for the next ones. Points of the last phase.
    current: Population | None = None
    rounds: list[Population] = field(default_factory=list)
    pool: list[Population] = field(default_factory=list)
    last: Population | None = None
    #: The next new id, and ids to hand out.
    next_id: int = 0
    waiting: list[int] = field(default_factory=list)
    #: Points that the user wants measured next (inner coordinates).
    wished: list[FloatArray] = field(default_factory=list)
    #: With batches, trials of the newest one that are not handed out.
    batch_left: int = 0
    #: Candidates that gathered so far, and blocks of them with common seeds.
    gathered: int = 0
    blocks: int = 0
    #: Completed rounds, and how many of the newest had no success.
    round: int = 0
    barren: int = 0
    #: Evaluations since the last success.
    fruitless: int = 0
    #: The exception with which the newest evaluation failed that raised one; empty if none did.
    failure: str = ""
    status: int = RUNNING
    #: Whether as many evaluations are kept as a function without noise needs.
    exact: bool = False
    final: Final | None = None
    #: Points that stood out by their values and were measured again (inner coordinates, rows):
    #: strange ones, and best ones whose value did not come again.
    doubted: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    #: Values of the recommendation itself that did not choose it, and their known errors.
    confirmed: FloatArray = field(default_factory=lambda: np.empty(0))
    confirmed_errors: FloatArray | None = None
    #: The point of those values, inner coordinates; empty if there are none.
    confirmed_at: FloatArray = field(default_factory=lambda: np.empty(0))
    #: Whether the budget has changed and the method does not know yet, and whether it was cut
    #: because the time was up.
    regranted: bool = False
    time_up: bool = False
    #: The newest data measured elsewhere, for the report: inner coordinates and the value.
    brought: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    #: Rows of data measured elsewhere, and how many of them the method had no use for.
    earlier: int = 0
    unused: int = 0
    #: What decides the seeds of trials; None: the user wants none.
    seeds: Seeds | None = None
    #: What is known about measured constraints; None: there are none.
    limits: Limits | None = None
    #: Today's setting and what challenges it; None: the user gave none.
    comparison: Comparison | None = None

    def hand_over(self, method: Method, to: Handover) -> None:
        """Another method goes on than ``method``."""
        successor = method.successors.index(to.method)
        said = (to.message, to.warnings, to.earlier)
        self.handovers.append(Handed(successor, self.learnt, *said))

    def in_charge(self, chosen: Method) -> Method:
        """The method to which the chosen one has handed over, or itself."""
        for handed in self.handovers:
            chosen = chosen.successors[handed.successor]
        return chosen

    def explain(self, method: Method) -> Explanation:
        """What the method in charge says, and what those before it said."""
        told = method.explain(self.memory)
        for before in reversed(self.handovers):
            messages = (before.message, told.message)
            told = replace(
                told,
                message="; ".join(filter(None, messages)),
                warnings=[*before.warnings, *told.warnings],
                earlier=told.earlier or before.earlier,
            )
        return told

    def is_confirmed(self, x: FloatArray) -> bool:
        """Whether the values of the confirmation are those of ``x`` (inner coordinates)."""
        return np.array_equal(x, self.confirmed_at)

    @property
    def flows(self) -> bool:
        """Whether candidates gather one after the other while others are under way."""
        return self.workers > 1 or self.setup.batch > 0

    @property
    def parts(self) -> list[Population]:
        """All candidates and points that were handed out and not learnt from."""
        single = (part for part in (self.current, self.last) if part is not None)
        return [*self.pool, *self.rounds, *single]

    def holder(self, id: int) -> Population | None:
        """The population that waits for this trial."""
        return next((part for part in self.parts if id in part.pending), None)

    @property
    def untold(self) -> int:
        """Trials that wait or were handed out, and are not told."""
        return sum(len(p.pending) for p in self.parts)

    @property
    def out(self) -> int:
        """Trials that were handed out and are not told."""
        return self.untold - len(self.waiting)

    @property
    def handed(self) -> int:
        """Trials that were handed out so far."""
        return self.ledger.charged - len(self.waiting)

    @property
    def now(self) -> Now:
        """Where the search stands."""
        return Now(self.ledger.free, self.setup.budget)

    @property
    def learnt(self) -> int:
        """Evaluations of the search that were learnt from, those of the current round included."""
        others = sum(part.evaluations for part in (*self.pool, *self.rounds))
        return self.ledger.base + self.ledger.reevaluation - others

    def hand_out_again(self) -> None:
        """Hand out every trial that is not told, in the order of ids."""
        if self.setup.batch:
            self.batch_left += self.out
        self.waiting = sorted(id for part in self.parts for id in part.pending)

    def under_way(self) -> FloatArray:
        """Candidates whose values are not learnt from, (n, d)."""
        parts = [*self.rounds, *self.pool]
        if self.current is not None:
            parts.append(self.current)
        if not parts:
            return _NONE
        return np.concatenate([part.X for part in parts])

    def new_ids(self, n: int) -> range:
        """New ids, to be handed out."""
        ids = range(self.next_id, self.next_id + n)
        self.next_id = ids.stop
        self.waiting += ids
        return ids


def begin(
    method: Method,
    setup: Setup,
    ledger: Ledger,
    streams: tuple[np.random.Generator, np.random.Generator],
    seed: int | None = None,
    maximize: bool = False,
    seeds: str | None = None,
    workers: int = 1,
    incumbent: FloatArray | None = None,
) -> Run:
    """The run before its first round."""
    columns = COLUMNS + method.columns
    run = Run(
        setup=setup,
        ledger=ledger,
        memory=None,
        search=streams[0],
        bootstrap=streams[1],
        seed=seed,
        history=History(columns, np.empty((0, len(columns)))),
        maximize=maximize,
        evidence=Evidence(recent=Recent(_KEPT // (setup.dimension + 1))),
        best_x=setup.box.outer(setup.mean),
        told=Told(_TOLD // (setup.dimension + 6)),
        seeds=None if seeds is None else Seeds.of(seeds, streams[0]),
        workers=workers,
        comparison=None if incumbent is None else Comparison(incumbent, paired=seeds is not None),
    )
    run.memory = method.start(setup)
    if isinstance(run.memory, Handover):
        run.hand_over(method, run.memory)
        run.memory = run.memory.memory
    return run


def in_columns(row: tuple[float, ...], method: Method, chosen: Method) -> tuple[float, ...]:
    """The row of a method that is not the chosen one, in the columns of that one."""
    found = dict(zip(method.columns, row, strict=True))
    return tuple(found.get(name, math.nan) for name in chosen.columns)
