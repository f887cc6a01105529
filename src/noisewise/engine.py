"""One generation after another: sample, request, select, update.

The engine owns the run's data and moves it on. It is driven by `noisewise.Optimizer`, which is
the part that users see.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import repeat

import numpy as np

from noisewise._types import FloatArray
from noisewise.budget import Ledger
from noisewise.core.strategy import Info
from noisewise.evaluation.plans import everyone
from noisewise.generation import Generation, Setup
from noisewise.methods import Method
from noisewise.noise.archive import Archive
from noisewise.noise.samples import Samples
from noisewise.problem import Start
from noisewise.recommend import Recommendation, estimate
from noisewise.result import ALL_FAILED, RUNNING
from noisewise.run import Ahead, Run, Trial

#: Fewer evaluations than this make no generation; they measure the recommendation instead.
_LEAST = 4
#: Generations in a row without one success before a run gives up.
BARREN = 3
#: Candidates kept for the report, and the dimension above which they would be too few for it.
_KEPT, _KEPT_UP_TO = 400, 50
#: Stands for the recommendation where a candidate's index is expected.
_RECOMMENDED = -1


class Engine:
    """Runs a method on a `Run`."""

    def __init__(self, method: Method, run: Run) -> None:
        self.method, self.run = method, run
        self.strategy = method.strategy(run.setup)
        self.parts = method.parts(run.setup)
        self.waiting: list[int] = []  # ids to hand out, in order
        self.ask_again()
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
        seed: int | None = None,
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
            x0=start.box.outer(start.mean),
            sigma0=start.sigma,
            seed=seed,
            seen=Archive(min(_KEPT, setup.budget) if setup.dimension <= _KEPT_UP_TO else 0),
        )
        return cls(method, run)

    def ask_again(self) -> None:
        """Hand out every trial that is not told."""
        run = self.run
        self.waiting = list(run.pending) + (list(run.ahead.pending) if run.ahead else [])

    @property
    def done(self) -> bool:
        run = self.run
        return run.status != RUNNING or (
            not run.pending and run.ledger.remaining == 0 and run.ahead is None
        )

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
        fresh = k - (len(run.ahead.X) if run.ahead else 0)
        run.fill(self.strategy.sample(run.state, fresh, run.search))
        run.progress, run.notes = 1.0 - run.ledger.free / run.setup.budget, {}
        self._gen = self._generation()
        self._request()
        if run.setup.lookahead:
            self._look_ahead()

    def _look_ahead(self) -> None:
        """Hand out candidates of the next generation, if a whole one will follow for sure."""
        run, k = self.run, len(self.run.X)
        n = min(run.setup.lookahead, k - 1)
        if n < 1 or run.ledger.free < n + 2.0 * k * self.parts.plan.cost(run.controls):
            return
        sampled = self.strategy.sample(run.state, n, run.search)
        run.ledger.charge(base=n)
        means = np.tile(run.state.mean, (n, 1))
        run.ahead = Ahead.of(run.box.repaired(sampled), sampled, means, self._ids(n))

    def _population(self) -> int:
        """Candidates of the next generation. The last ones share what is left evenly, so that
        no evaluation is left over; 0: too few are left."""
        run = self.run
        early = len(run.ahead.X) if run.ahead else 0
        free, k = run.ledger.free + early, run.controls.population
        if free < min(_LEAST, k):
            return 0
        cost = self.parts.plan.cost(run.controls)
        generations = free / (cost * k)
        if generations < 2.0:
            share = int(free / (cost * max(1, round(generations))))
            k = min(max(share, min(_LEAST, k)), free)
        return max(k, early + 1) if early else k

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
        early = len(run.means)
        # By far the most common.
        if wanted is everyone(k) and gen.wave == 0 and k <= free and not early:
            run.samples.extend(1)
            run.ledger.charge(base=k)
            self._issue(zip(range(k), repeat(0)), k)
            return True
        if run.ahead is not None:  # whose generation needs someone to compare them with
            free -= min(_LEAST, run.controls.population)
        places = self._places(wanted.tolist())[: max(0, free)]
        if not places:
            return False
        first = sum(slot == 0 for _, slot in places)
        run.samples.extend(1 + max(slot for _, slot in places))
        run.ledger.charge(base=first, reevaluation=len(places) - first)
        self._issue(places, len(places))
        return True

    def _places(self, wanted: list[int]) -> list[tuple[int, int]]:
        """Candidate and slot of each evaluation that is wanted and not under way."""
        run, places = self.run, []
        if run.wave == 0:
            used, early = [0] * len(run.X), len(run.means)
        else:
            used, early = (~np.isnan(run.samples.values)).sum(axis=1).tolist(), 0
        for i in wanted:
            if i >= early or used[i] > 0:
                places.append((i, used[i]))
            used[i] += 1
        return places

    def _issue(self, places: Iterable[tuple[int, int]], n: int) -> None:
        ids = self._ids(n)
        self.run.pending |= zip(ids, places)  # noqa: B905

    def _ids(self, n: int) -> range:
        """New ids, to be handed out."""
        run = self.run
        ids = range(run.next_id, run.next_id + n)
        run.next_id = ids.stop
        self.waiting += ids
        return ids

    def trials(self, ids: list[int]) -> list[Trial]:
        run = self.run
        if run.confirming:
            x = self.recommend().x
            return [Trial(id, x.copy(), "confirmation") for id in ids]
        if run.ahead is not None:
            early = [id for id in ids if id in run.ahead.pending]
            if early:
                ids = [id for id in ids if id not in run.ahead.pending]
                rows = run.box.outer(run.ahead.X[[run.ahead.pending[id] for id in early]])
                ahead = [Trial(id, x, "candidate") for id, x in zip(early, rows, strict=True)]
                return self.trials(ids) + ahead if ids else ahead
        elif len(ids) == len(run.pending) and self._first_round():
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

    def settled(self) -> None:
        """A value came: go on if it was the last one that is waited for."""
        run = self.run
        if not run.pending:
            self.advance()
        elif len(run.pending) <= run.setup.late and self._may_leave():
            run.leave()
            self._gen = self._generation()
            self.advance()

    def _may_leave(self) -> bool:
        """Whether the generation can do without the candidates whose values are missing: they are
        few, nothing else is known of them, and a whole generation will follow."""
        run, k = self.run, len(self.run.X)
        missing = [i for i, slot in run.pending.values() if slot == 0]
        enough = k * self.parts.plan.cost(run.controls) + run.setup.late
        return (
            not run.confirming
            and 2 * len(run.pending) < k
            and len(missing) == len(run.pending)
            and bool(np.isnan(run.samples.values[missing]).all())
            and run.ledger.free >= enough
            and not set(run.pending).intersection(self.waiting)
        )

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
            run.note_best(self.recommend().x[None], measured[None])
            return
        run.wave += 1
        self._gen.wave = run.wave
        if not self._request():
            self._close()

    def _close(self) -> None:
        """Selection, update, adaptation."""
        run, gen, parts = self.run, self._gen, self.parts
        values = run.samples.values
        smallest = run.note_best(run.X, values, inner=True)
        run.barren = 0 if smallest < math.inf else run.barren + 1
        if run.seen.capacity:
            run.seen.insert(run.X, run.samples.mean())
        info: Info | None = None
        if smallest < math.inf:
            weights, run.selection = parts.selection.weigh(gen, run.selection)
            before = run.state
            X = run.from_mean(run.X)
            sampled = run.from_mean(run.sampled) if run.controls.centred else None
            after, info = self.strategy.update(
                before, X, weights, run.controls.c_mean, gen.mean_weights, sampled
            )
            run.adaptation, run.controls, run.state = parts.adaptation.step(
                run.adaptation, gen, before, after, info
            )
            run.recommender = parts.recommender.step(run.recommender, gen, run.state)
            run.around = run.samples.first
        run.note_misranking(gen.notes.get("misranking", math.nan))
        self._record(gen, info, smallest)
        run.generation += 1
        if run.barren >= BARREN:
            run.status = ALL_FAILED

    def _record(self, gen: Generation, info: Info | None, smallest: float) -> None:
        run, first = self.run, gen.samples.first
        total = sum(first.tolist())
        mean = total / len(first) if total < math.inf else estimate(first)[0]
        run.history.append(
            (
                # Those of this generation and before, whatever came early.
                run.ledger.charged - (len(run.ahead.X) if run.ahead else 0),
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

    def recommend(self) -> Recommendation:
        """The point to use, with an honest estimate of f there."""
        run = self.run
        x = run.box.outer(self.parts.recommender.point(run.recommender, run.state))
        return Recommendation(x, *estimate(run.around))
