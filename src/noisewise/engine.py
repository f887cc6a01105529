"""One generation after another: sample, request, select, update.

The engine owns the run's data and moves it on. It is driven by `noisewise.Optimizer`, which is
the part that users see.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.budget import Ledger
from noisewise.core.box import Box
from noisewise.core.strategy import Info, State
from noisewise.evaluation.plans import everyone
from noisewise.generation import Controls, Generation, Setup
from noisewise.history import History
from noisewise.methods import Method
from noisewise.noise.archive import Archive
from noisewise.noise.samples import Samples
from noisewise.problem import Start
from noisewise.recommend import Recommendation, estimate
from noisewise.result import ALL_FAILED, RUNNING

#: Fewer evaluations than this make no generation; they measure the recommendation instead.
_LEAST = 4
#: Generations in a row without one success before a run gives up.
BARREN = 3
#: Generations over which the measured misranking is averaged.
_RECALL = 16
#: Candidates kept for the report, and the dimension above which they would be too few for it.
_KEPT, _KEPT_UP_TO = 400, 50
#: Stands for the recommendation where a candidate's index is expected.
_RECOMMENDED = -1


class Trial:
    """One evaluation to do: ``x`` is the point, ``id`` is what `Optimizer.tell` wants back.

    ``kind`` is "candidate", "reevaluation" or "confirmation".

    >>> import noisewise as nw
    >>> opt = nw.Optimizer([0.0, 0.0], sigma0=1.0, budget=100, rng=0)
    >>> trial = opt.ask(1)[0]
    >>> trial.id, trial.kind, trial.x.shape
    (0, 'candidate', (2,))
    """

    __slots__ = ("id", "kind", "x")

    def __init__(self, id: int, x: FloatArray, kind: str) -> None:
        self.id = id
        self.x = x
        self.kind = kind

    def __repr__(self) -> str:
        return f"Trial(id={self.id}, x={self.x!r}, kind={self.kind!r})"


@data
@dataclass(slots=True)
class Run:
    """Everything that changes during a run, as data."""

    setup: Setup
    box: Box
    ledger: Ledger
    state: State
    controls: Controls
    selection: Any
    adaptation: Any
    recommender: Any
    search: np.random.Generator
    bootstrap: np.random.Generator
    best_x: FloatArray
    sigma0: float
    #: The newest candidates and their values: what the report looks at, and nobody else.
    seen: Archive
    best_value: float = math.inf
    generation: int = 0
    barren: int = 0
    status: int = RUNNING
    #: The generation under way: candidates (inner coordinates), values, wave.
    X: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    #: The same candidates as they were sampled, before repair.
    sampled: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    samples: Samples = field(default_factory=lambda: Samples.empty(0))
    wave: int = 0
    #: Spent fraction of the budget when it began, and what its parts noted so far.
    progress: float = 0.0
    notes: dict[str, float] = field(default_factory=dict)
    #: Trials not told yet: id -> (candidate, slot).
    pending: dict[int, tuple[int, int]] = field(default_factory=dict)
    next_id: int = 0
    confirming: bool = False
    #: Values around (last generation) or at (confirmation) the recommendation.
    around: FloatArray = field(default_factory=lambda: np.empty(0))
    history: History = field(default_factory=History)
    misranking: float = math.nan
    #: Generations in which misranking was measured.
    measured: int = 0


class Engine:
    """Runs a method on a `Run`."""

    def __init__(self, method: Method, run: Run) -> None:
        self.method, self.run = method, run
        self.strategy = method.strategy(run.setup)
        self.parts = method.parts(run.setup)
        self.waiting: list[int] = list(run.pending)  # ids to hand out, in order
        if run.pending and not run.confirming:
            self._gen = self._generation()

    @classmethod
    def begin(
        cls,
        method: Method,
        setup: Setup,
        ledger: Ledger,
        start: Start,
        streams: tuple[np.random.Generator, np.random.Generator],
    ) -> Engine:
        """The engine before the first generation."""
        parts = method.parts(setup)
        run = Run(
            setup=setup,
            box=start.box,
            ledger=ledger,
            state=method.strategy(setup).start(start.mean, start.sigma),
            controls=method.controls(setup),
            selection=parts.selection.start(setup),
            adaptation=parts.adaptation.start(setup),
            recommender=parts.recommender.start(setup),
            search=streams[0],
            bootstrap=streams[1],
            best_x=start.box.outer(start.mean),
            sigma0=start.sigma,
            seen=Archive(min(_KEPT, setup.budget) if setup.dimension <= _KEPT_UP_TO else 0),
        )
        return cls(method, run)

    @property
    def done(self) -> bool:
        run = self.run
        return run.status != RUNNING or (not run.pending and run.ledger.remaining == 0)

    def open(self) -> None:
        """Sample a generation, or turn to the confirmation when too little is left for one."""
        run = self.run
        k = self._population()
        if k == 0:
            run.confirming = True
            run.samples = Samples(np.full((1, run.ledger.remaining), np.nan))
            n = run.ledger.charge_confirmation()
            self._issue(zip(repeat(_RECOMMENDED), range(n)), n)
            return
        run.sampled = self.strategy.sample(run.state, k, run.search)
        run.X = run.box.repaired(run.sampled)
        run.samples, run.wave = Samples.empty(k), 0
        run.progress, run.notes = 1.0 - run.ledger.free / run.setup.budget, {}
        self._gen = self._generation()
        self._request()

    def _population(self) -> int:
        """Candidates of the next generation. The last ones share what is left evenly, so that
        no evaluation is left over; 0: too few are left."""
        run = self.run
        free, k = run.ledger.free, run.controls.population
        if free < min(_LEAST, k):
            return 0
        cost = self.parts.plan.cost(run.controls)
        generations = free / (cost * k)
        if generations >= 2.0:
            return k
        share = int(free / (cost * max(1, round(generations))))
        return min(max(share, min(_LEAST, k)), free)

    def _generation(self) -> Generation:
        run, covariance = self.run, self.strategy.covariance
        state = run.state

        def standardise(X: FloatArray) -> FloatArray:
            return covariance.whiten(state.covariance, (X - state.mean) / state.sigma)

        return Generation(
            run.generation,
            run.X,
            run.samples,
            run.controls,
            self.parts.profile.weights(len(run.X), run.progress),
            run.progress,
            run.bootstrap,
            standardise,
            run.box.outer,
            run.wave,
            run.notes,
        )

    def _request(self) -> bool:
        """Hand out what the plan asks for, as far as the ledger allows."""
        run, gen = self.run, self._gen
        wanted = self.parts.plan.request(gen, run.selection)
        if len(wanted) == 0:
            return False
        k, free = len(run.X), run.ledger.free
        if wanted is everyone(k) and gen.wave == 0 and k <= free:  # by far the most common
            run.samples.extend(1)
            run.ledger.charge(base=k)
            self._issue(zip(range(k), repeat(0)), k)
            return True
        places = self._places(wanted[:free].tolist())
        if not places:
            return False
        first = sum(slot == 0 for _, slot in places)
        run.samples.extend(1 + max(slot for _, slot in places))
        run.ledger.charge(base=first, reevaluation=len(places) - first)
        self._issue(places, len(places))
        return True

    def _places(self, wanted: list[int]) -> list[tuple[int, int]]:
        """Candidate and slot of each evaluation that is wanted."""
        values, places = self.run.samples.values, []
        used = (~np.isnan(values)).sum(axis=1).tolist()
        for i in wanted:
            places.append((i, used[i]))
            used[i] += 1
        return places

    def _issue(self, places: Iterable[tuple[int, int]], n: int) -> None:
        run = self.run
        ids = range(run.next_id, run.next_id + n)
        run.next_id = ids.stop
        run.pending = dict(zip(ids, places))  # noqa: B905
        self.waiting = list(ids)

    def trials(self, ids: list[int]) -> list[Trial]:
        run = self.run
        if run.confirming:
            x = self.recommend().x
            return [Trial(id, x.copy(), "confirmation") for id in ids]
        if len(ids) == len(run.pending) and self._first_round():
            rows = run.box.outer(run.X)
            return [Trial(id, x, "candidate") for id, x in zip(ids, rows, strict=True)]
        places = [run.pending[id] for id in ids]
        rows = run.box.outer(run.X[[i for i, _ in places]])
        kinds = ("candidate", "reevaluation")
        return [
            Trial(id, x, kinds[slot > 0])
            for id, x, (_, slot) in zip(ids, rows, places, strict=True)
        ]

    def _first_round(self) -> bool:
        """Whether the pending trials are every candidate once, in order, for the first time."""
        run = self.run
        return len(run.pending) == len(run.X) and run.samples.values.shape == (len(run.X), 1)

    def tell_wave(self, values: FloatArray) -> None:
        """The finite values of all pending trials, in order."""
        run = self.run
        if self._first_round():
            run.samples.put_first(values)
        else:
            for place, value in zip(run.pending.values(), values.tolist(), strict=True):
                run.samples.put(*place, value, None)
        run.pending = {}
        run.ledger.told += len(values)
        self.advance()

    def advance(self) -> None:
        """All trials of a wave are told: ask for more, or close the generation."""
        run = self.run
        if run.confirming:
            measured = run.samples.values[0]
            # One value left over says less about f than the last generation does, and nothing of
            # its error; one that was asked for is what was asked for.
            asked_for = run.ledger.budget > run.setup.budget
            if asked_for or len(measured) >= 2 or len(run.around) == 0:
                run.around = measured
            self.note_best(self.recommend().x[None], measured[None])
            return
        run.wave += 1
        self._gen.wave = run.wave
        if not self._request():
            self._close()

    def _close(self) -> None:
        """Selection, update, adaptation."""
        run, gen, parts = self.run, self._gen, self.parts
        values = run.samples.values
        smallest = self.note_best(run.X, values, inner=True)
        run.barren = 0 if smallest < math.inf else run.barren + 1
        if run.seen.capacity:
            run.seen.insert(run.X, run.samples.mean())
        info: Info | None = None
        if smallest < math.inf:
            weights, run.selection = parts.selection.weigh(gen, run.selection)
            before = run.state
            sampled = run.sampled if run.controls.centred else None
            after, info = self.strategy.update(
                before, run.X, weights, run.controls.c_mean, gen.mean_weights, sampled
            )
            run.adaptation, run.controls, run.state = parts.adaptation.step(
                run.adaptation, gen, before, after, info
            )
            run.recommender = parts.recommender.step(run.recommender, gen, run.state)
            run.around = run.samples.first
        self._note_misranking(gen.notes.get("misranking", math.nan))
        self._record(gen, info, smallest)
        run.generation += 1
        if run.barren >= BARREN:
            run.status = ALL_FAILED

    def _note_misranking(self, measured: float) -> None:
        """Running mean of what is measured; the first measurements count equally."""
        run = self.run
        if not math.isnan(measured):
            run.measured += 1
            old = 0.0 if run.measured == 1 else run.misranking
            run.misranking = old + (measured - old) / min(run.measured, _RECALL)

    def _record(self, gen: Generation, info: Info | None, smallest: float) -> None:
        run, first = self.run, gen.samples.first
        total = sum(first.tolist())
        mean = total / len(first) if total < math.inf else estimate(first)[0]
        run.history.append(
            (
                run.ledger.told,
                len(run.X),
                gen.controls.c_mean,
                run.state.sigma,
                info.mu_eff if info else math.nan,
                mean,
                smallest,
                gen.notes.get("misranking", math.nan),
                run.ledger.reevaluation,
            )
        )

    def note_best(self, X: FloatArray, values: FloatArray, inner: bool = False) -> float:
        """Remember the luckiest draw; returns the smallest of ``values``."""
        run = self.run
        by_candidate = values[:, 0] if values.shape[1] == 1 else np.fmin.reduce(values, axis=1)
        i = int(by_candidate.argmin())
        smallest = float(by_candidate[i])
        if smallest < run.best_value:
            run.best_value = smallest
            run.best_x = run.box.outer(X[i]) if inner else X[i].copy()
        return smallest

    def recommend(self) -> Recommendation:
        """The point to use, with an honest estimate of f there."""
        run = self.run
        x = run.box.outer(self.parts.recommender.point(run.recommender, run.state))
        return Recommendation(x, *estimate(run.around))
