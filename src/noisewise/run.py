"""A run as data: everything that changes while it goes on. Only `search` and `final` change it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisewise._data import DataError, data
from noisewise._types import FloatArray
from noisewise.budget import Ledger
from noisewise.history import History
from noisewise.methods.method import Method, Setup
from noisewise.models.limits import Limits
from noisewise.noise.background import Background
from noisewise.noise.recent import Recent
from noisewise.population import SEARCH, Population
from noisewise.race import Race
from noisewise.result import ALL_FAILED, RUNNING, STOPPED
from noisewise.seeds import Seeds

#: More evaluations than this at a time are taken for damage.
_MOST = 10**7
#: Re-evaluations over which the measured misranking is averaged.
_RECALL = 32.0
#: Coordinates and values of the newest candidates that are kept for the report.
_KEPT = 30000
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
class Misranking:
    """Running mean of the misranking that re-evaluations showed; the newest count most."""

    total: float = 0.0
    weight: float = 0.0
    #: Re-evaluations behind it, all told.
    count: int = 0

    @property
    def value(self) -> float:
        return self.total / self.weight if self.weight else math.nan

    def add(self, measured: float, n: int) -> None:
        """``n`` more re-evaluations that showed ``measured`` on average."""
        keep = max(0.0, 1.0 - n / _RECALL) if self.weight + n > _RECALL else 1.0
        self.total = keep * self.total + n * measured
        self.weight = keep * self.weight + n
        self.count += n


@data
@dataclass(slots=True)
class Final:
    """The last phase: a race of finalists (inner coordinates), then evaluations of its winner."""

    finalists: FloatArray
    race: Race
    #: Values of the first finalist from a test whether there is any noise.
    tested: FloatArray = field(default_factory=lambda: np.empty(0))
    testing: bool = False
    #: Known standard errors of those values; None: none was given.
    tested_errors: FloatArray | None = None

    @property
    def chosen(self) -> FloatArray:
        """The point to return, as far as the race has come."""
        x: FloatArray = self.finalists[self.race.winner]
        return x

    def check(self, n: int) -> bool:
        k, errors = len(self.finalists), self.race.errors
        return (
            self.finalists.shape == (k, n)
            and bool(np.isfinite(self.finalists).all())
            and len(self.race.values) == k
            and (errors is None or errors.shape == self.race.values.shape)
            and (self.tested_errors is None or self.tested_errors.shape == self.tested.shape)
            and 0 <= self.race.winner < k
            and all(0 <= i < k for i in self.race.alive)
            and 0 <= self.race.each <= _MOST
            and self.race.left >= 0
        )


@data
@dataclass(slots=True)
class Run:
    """Everything that changes during a run."""

    setup: Setup
    ledger: Ledger
    #: All that the method remembers.
    memory: Any
    #: Random streams of the candidates and of everything else.
    search: np.random.Generator
    bootstrap: np.random.Generator
    #: The number the user gave as ``rng``, if it was one.
    seed: int | None
    history: History
    #: Whether the user's values are the negatives of those here, which are minimised.
    maximize: bool
    #: The newest candidates and their values, for the report.
    seen: Recent
    best_x: FloatArray
    best_value: float = math.inf
    #: The population under way, and candidates of the next one that are handed out already.
    current: Population | None = None
    next: Population | None = None
    next_id: int = 0
    #: With batches, the first id beyond the newest batch.
    batch_end: int = 0
    #: Completed rounds, and how many of the newest had no success.
    round: int = 0
    barren: int = 0
    #: Evaluations since the last success.
    fruitless: int = 0
    status: int = RUNNING
    #: What the values say about the noise.
    background: Background = field(default_factory=Background)
    final: Final | None = None
    #: Values of the recommendation itself that did not choose it, and their known errors.
    confirmed: FloatArray = field(default_factory=lambda: np.empty(0))
    confirmed_errors: FloatArray | None = None
    #: The point of those values, inner coordinates; empty if there are none.
    confirmed_at: FloatArray = field(default_factory=lambda: np.empty(0))
    #: Whether the budget has changed and the method does not know yet.
    regranted: bool = False
    misranking: Misranking = field(default_factory=Misranking)
    #: Rows of data measured elsewhere, and how many of them the method had no use for.
    earlier: int = 0
    unused: int = 0
    #: What decides the seeds of trials; None: the user wants none.
    seeds: Seeds | None = None
    #: What is known about measured constraints; None: there are none.
    limits: Limits | None = None

    def is_confirmed(self, x: FloatArray) -> bool:
        """Whether the values of the confirmation are those of ``x`` (inner coordinates)."""
        return np.array_equal(x, self.confirmed_at)

    @property
    def untold(self) -> int:
        """Trials that were handed out and not told."""
        return sum(len(p.pending) for p in (self.current, self.next) if p is not None)

    def check(self) -> None:
        """Raise `DataError` if the numbers contradict each other, as in a damaged file."""
        n = self.setup.dimension
        for what, fine in (
            ("setup", self._setup_fits()),
            ("ledger", self._ledger_fits()),
            ("history", self._history_fits()),
            ("archive", self.seen.fits(n)),
            ("race", self.final is None or self.final.check(n)),
            ("seeds", self._seeds_fit()),
            ("constraints", self.limits is None or self.limits.fits(n)),
        ):
            if not fine:
                raise DataError(f"its {what} does not fit together")
        for part in (self.current, self.next):
            if part is not None:
                part.check(n, self.next_id)
        both = [set(p.pending) for p in (self.current, self.next) if p is not None]
        if len(both) == 2 and (both[0] & both[1] or self._confirming()):
            raise DataError("its populations do not fit together")

    def _seeds_fit(self) -> bool:
        parts = [p for p in (self.current, self.next) if p is not None and p.pending]
        if self.seeds is None:
            return all(len(p.seeds) == 0 for p in parts)
        return self.seeds.fits() and all(len(p.seeds) > 0 for p in parts)

    def _confirming(self) -> bool:
        return self.current is not None and self.current.kind != SEARCH

    def _setup_fits(self) -> bool:
        s, n = self.setup, self.setup.dimension
        box, most = s.box, max(_MOST, self.ledger.budget)
        return (
            n >= 1
            and box.low.shape == box.high.shape == box.scale.shape == (n,)
            and self.best_x.shape == (box.dimension,)
            and bool((box.low < box.high).all() and (box.scale > 0.0).all())
            and bool(np.isfinite(box.scale).all() and np.isfinite(s.mean).all())
            and 0.0 < s.sigma < math.inf
            and 1 <= s.budget <= self.ledger.budget
            and s.workers >= 1
            and 0 <= s.lookahead <= most
            and 0 <= s.late <= most
            and 0 <= s.batch <= most
            and 0 <= s.race <= self.ledger.budget
            and 0 <= s.confirm <= self.ledger.budget
        )

    def _ledger_fits(self) -> bool:
        ledger, errors = self.ledger, self.confirmed_errors
        used = (ledger.base, ledger.reevaluation, ledger.race, ledger.confirmation)
        return (
            min(*used, ledger.reserve, ledger.failures, ledger.remaining - ledger.reserve) >= 0
            and sum(used) == ledger.charged
            and ledger.failures <= ledger.told == ledger.charged - self.untold
            and ledger.reserve <= _MOST
            and self.status in (RUNNING, STOPPED, ALL_FAILED)
            and min(self.round, self.barren, self.fruitless, self.next_id, self.misranking.count)
            >= 0
            and 0 <= self.unused <= self.earlier
            and 0 <= self.batch_end <= self.next_id
            and self.confirmed.ndim == 1
            and self.confirmed_at.shape in ((0,), (self.setup.dimension,))
            and (errors is None or errors.shape == self.confirmed.shape)
        )

    def _history_fits(self) -> bool:
        rows, n, columns = self.history.rows, self.history.n, self.history.columns
        return (
            rows.ndim == 2
            and rows.shape[1] == len(columns)
            and 0 <= n <= len(rows)
            and columns[: len(COLUMNS)] == COLUMNS
        )


def begin(
    method: Method,
    setup: Setup,
    ledger: Ledger,
    streams: tuple[np.random.Generator, np.random.Generator],
    seed: int | None = None,
    maximize: bool = False,
    seeds: str | None = None,
) -> Run:
    """The run before its first round."""
    columns = COLUMNS + method.columns
    return Run(
        setup=setup,
        ledger=ledger,
        memory=method.start(setup),
        search=streams[0],
        bootstrap=streams[1],
        seed=seed,
        history=History(columns, np.empty((0, len(columns)))),
        maximize=maximize,
        seen=Recent(_KEPT // (setup.dimension + 1)),
        best_x=setup.box.outer(setup.mean),
        seeds=None if seeds is None else Seeds.of(seeds, streams[0]),
    )
