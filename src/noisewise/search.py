"""Moves a run on, round by round: propose, hand out, collect, learn.

The last phase is decided in `final`; nothing else changes a `Run`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import repeat

import numpy as np

from noisewise import constrained, final, seeding
from noisewise._types import FloatArray
from noisewise.methods.evolution import mean_of
from noisewise.methods.method import Earlier, Method, Now, default_population, everyone
from noisewise.noise.estimate import Estimate
from noisewise.noise.misranking import displacement
from noisewise.population import CONFIRMATION, RACE, SEARCH, Population, once
from noisewise.result import ALL_FAILED, BARREN, RUNNING, STOPPED
from noisewise.run import Run
from noisewise.trial import Trial

#: Fewer evaluations than this make no round; they measure the recommendation instead.
_LEAST = 4
#: Parts of the initial step size by which a measurement of the recommended point may be off.
_SAME_POINT = 0.05
#: A run gives up after so many failures in a row at least, and one part in so many of the budget.
_TRIED, _PART = 40, 10
_KINDS = {RACE: "finalist", CONFIRMATION: "confirmation"}
_NONE: FloatArray = np.empty((0, 0))


class Search:
    """A method at work on a run."""

    def __init__(self, method: Method, run: Run) -> None:
        self.method, self.run = method, run
        #: Ids to hand out, in order.
        self.waiting: list[int] = []
        self.hand_out_again()

    def hand_out_again(self) -> None:
        """Hand out every trial that is not told."""
        parts = (self.run.current, self.run.next)
        self.waiting = [id for part in parts if part is not None for id in part.pending]

    @property
    def done(self) -> bool:
        run = self.run
        if run.status != RUNNING:
            return True
        return run.current is None and run.next is None and run.ledger.remaining == 0

    # -- ask

    def ask(self, n: int | None) -> list[Trial]:
        """All trials that can be evaluated now, at most ``n``."""
        if self.done:
            return []
        if self.run.setup.batch:
            ids = self._batch()[:n]
        else:
            if self.run.current is None:
                self._open()
            ids = self.waiting[:n]
        self.waiting = self.waiting[len(ids) :]
        return self._trials(ids) if ids else []

    def _batch(self) -> list[int]:
        """Trials of the newest batch that are not handed out; once all of it is told, a new one.
        Ids are handed out in order, so a batch is known by where it ends."""
        run, n = self.run, self.run.setup.batch
        parts = [part for part in (run.current, run.next) if part is not None]
        if all(id >= run.batch_end for part in parts for id in part.pending):
            self._fill(n)
            run.batch_end = min(run.batch_end + n, run.next_id)
        return [id for id in self.waiting if id < run.batch_end]

    def _fill(self, n: int) -> None:
        """Have at least ``n`` trials wait, as long as there are any: those of the round under way,
        then candidates of the next one."""
        run = self.run
        while len(self.waiting) < n and not self.done:
            if run.current is None:
                self._open()
                continue
            missing = min(n - len(self.waiting), run.ledger.free)
            if run.current.kind == SEARCH and missing > 0:
                self._look_ahead(missing, self._now())
            return

    def _open(self) -> None:
        """Begin a round, or turn to the confirmation when too little is left for one."""
        run, early = self.run, self.run.next
        if run.regranted:
            self._take_note_of_budget()
        if run.final is not None:
            self._finish()
            return
        k, cost, now = self._size(early)
        if k == 0:
            self._finish()
            return
        run.next = None
        if early is None:
            population = self._sampled(k, _NONE, now)
        elif len(early) == k:  # the last of a run in batches
            population = early
        else:
            population = early.join(self._sampled(k - len(early), early.X, now))
        population.began = 1.0 - now.free / now.budget
        population.common = seeding.shares(self.method, run, k, run.round)
        run.current = population
        self._request(population)
        lookahead = min(run.setup.lookahead, k - 1)
        enough = run.ledger.free >= lookahead + 2.0 * k * cost
        if lookahead > 0 and enough and self.method.overlaps(run.memory):
            self._look_ahead(lookahead, now)
        if not population.pending:  # all of it was evaluated early
            self._settle()

    def _look_ahead(self, n: int, now: Now) -> None:
        """Hand out ``n`` more candidates of the next round."""
        run = self.run
        parts = [part.X for part in (run.current, run.next) if part is not None]
        ahead = self._sampled(n, np.concatenate(parts), now)
        ahead.origins = np.tile(self._origin(), (n, 1))
        run.ledger.charge(base=n)
        assert run.current is not None
        ahead.common = seeding.shares(self.method, run, len(run.current), run.round + 1)
        self._issue(ahead, [(i, 0) for i in range(n)], run.round + 1)
        run.next = ahead if run.next is None else run.next.join(ahead)

    def _now(self) -> Now:
        setup = self.run.setup
        return Now(self.run.ledger.free, setup.budget, setup.workers, setup.batch)

    def _origin(self) -> FloatArray:
        """The point around which candidates are sampled now; nan if there is none."""
        origin = self.method.origin(self.run.memory)
        return origin if len(origin) else np.full(self.run.setup.dimension, math.nan)

    def _take_note_of_budget(self) -> None:
        """The budget has changed: tell the method, and leave the last phase if there is enough
        for a round."""
        run = self.run
        run.regranted = False
        run.memory = self.method.resume(run.memory, run.setup)
        if run.final is not None and self._size(run.next)[0] > 0:
            run.final = None

    def _size(self, early: Population | None) -> tuple[int, float, Now]:
        """Candidates of the next round and what each costs. The last rounds share what is left
        evenly, so that no evaluation is left over; 0: too few are left."""
        run = self.run
        setup, free = run.setup, run.ledger.free
        now = self._now()
        k, cost = self.method.size(run.memory, now)
        ahead = 0 if early is None else len(early)
        free += ahead
        if free < min(_LEAST, k):
            return 0, cost, now
        rounds = free / (cost * k)
        if setup.batch:
            # Fresh candidates fill whole batches, whatever came early.
            if rounds < 2.0:
                share = int(free / max(1, round(rounds)))
                k = max(setup.batch, share - share % setup.batch)
            fresh = max(0, k - ahead + ahead % setup.batch)
            return ahead + min(fresh, run.ledger.free), cost, now
        if rounds < 2.0:
            share = int(free / (cost * max(1, round(rounds))))
            k = min(max(share, min(_LEAST, k)), free)
        return max(k, ahead + 1) if ahead else k, cost, now

    def _sampled(self, n: int, under_way: FloatArray, now: Now) -> Population:
        run = self.run
        sampled = self.method.propose(run.memory, n, under_way, now, run.search)
        return Population.of(run.setup.box.repaired(sampled), sampled)

    def _request(self, population: Population) -> bool:
        """Hand out what the method asks for, as far as the ledger allows."""
        run, k = self.run, len(population.X)
        wanted = self.method.request(run.memory, population, run.bootstrap)
        if len(wanted) == 0:
            return False
        if population.wave == 0 and seeding.compares(self.method, run, k, run.round):
            wanted = seeding.twice(wanted, k)
        free = run.ledger.free
        fresh = population.wave == 0 and len(population.origins) == 0 and run.seeds is None
        if fresh and wanted is everyone(k) and k <= free:  # by far the most common
            run.ledger.charge(base=k)
            population.issue(self._ids(k), once(k))
            return True
        if run.next is not None:  # whose round needs someone to compare them with
            free -= min(_LEAST, self.method.size(run.memory, self._now()).candidates)
        places = population.places(wanted.tolist())[: max(0, free)]
        if not places:
            return False
        slots = [slot for _, slot in places]
        first = slots.count(0)
        population.samples.extend(1 + max(slots))
        run.ledger.charge(base=first, reevaluation=len(places) - first)
        self._issue(population, places, run.round)
        return True

    def _issue(self, population: Population, places: list[tuple[int, int]], round: int) -> None:
        """Hand out trials for these candidates and slots; their seeds are those of ``round``."""
        ids = self._ids(len(places))
        population.issue(ids, places)
        number = seeding.number(self.method, self.run, round)
        seeding.seed(self.run, population, ids, places, number)

    def _finish(self) -> None:
        """The search is over: hand out evaluations of points that are no candidates."""
        run = self.run
        if run.next is not None and not run.next.pending:  # too few for a round
            self._note_best(run.next)
            run.next = None
            if self.done:
                return
        X, wanted, kind = final.request(self.method, run)
        population = Population.of(X, X)
        population.kind = kind
        places = population.places(wanted.tolist())
        n = len(places)
        population.samples.extend(1 + max((slot for _, slot in places), default=0))
        race = n if kind == RACE else 0
        run.ledger.charge_final(race=race, confirmation=n - race)
        self._issue(population, places, run.round)
        run.current = population

    def _ids(self, n: int) -> range:
        """New ids, to be handed out."""
        ids = range(self.run.next_id, self.run.next_id + n)
        self.run.next_id = ids.stop
        self.waiting += ids
        return ids

    def _trials(self, ids: list[int]) -> list[Trial]:
        run, box = self.run, self.run.setup.box
        current = run.current
        if current is not None and run.seeds is None and current.is_whole(ids):
            return list(map(Trial, ids, box.outer(current.X), repeat("candidate")))
        found = []
        for part in (current, run.next):
            if part is None:
                continue
            mine = [id for id in ids if id in part.pending]
            places = [part.pending[id] for id in mine]
            rows = box.outer(part.X[[i for i, _ in places]]) if mine else _NONE
            for id, x, (i, slot) in zip(mine, rows, places, strict=True):
                kind = "candidate" if slot == 0 else "reevaluation"
                seed = int(part.seeds[i, slot]) if len(part.seeds) else None
                found.append(Trial(id, x, _KINDS.get(part.kind, kind), seed=seed))
        return found

    # -- tell

    def holder(self, id: int) -> Population | None:
        """The population that waits for this trial."""
        for part in (self.run.current, self.run.next):
            if part is not None and id in part.pending:
                return part
        return None

    def tell(
        self,
        ids: list[int],
        values: Sequence[float],
        errors: Sequence[float | None] | None = None,
        constraints: Sequence[FloatArray | None] | None = None,
    ) -> bool:
        """Values of trials that are waited for, within the range of `as_value`; +inf: failed.
        ``constraints`` were measured with them, always as many.
        Those that come after the end are counted and change nothing else. Returns whether there
        may be new trials to ask for."""
        run, current = self.run, self.run.current
        if self.waiting:  # told before it was asked for
            told = set(ids)
            self.waiting = [id for id in self.waiting if id not in told]
        run.ledger.told += len(ids)
        if math.inf in values:
            run.ledger.failures += sum(value == math.inf for value in values)
        plain = errors is None and constraints is None
        if plain and current is not None and ids == list(current.pending):
            current.put_all(values)
            self._settle()
            self._learn_the_rest()
            return True
        for i, id in enumerate(ids):
            part = run.current
            if part is None or id not in part.pending:
                part = run.next
            assert part is not None
            place = part.pending.pop(id)
            if errors is None:
                part.samples.values[place] = values[i]
            else:
                part.samples.put(*place, values[i], errors[i])
            limits = None if constraints is None else constraints[i]
            if limits is not None:
                if run.limits is None:
                    run.limits = constrained.begin(run.setup, len(limits))
                part.samples.put_limits(*place, limits)
            if part is run.current and (run.setup.late or not part.pending):
                self._settle()
        self._learn_the_rest()
        return bool(self.waiting) or run.current is None or run.status != RUNNING

    def _learn_the_rest(self) -> None:
        """At the end of a run in batches: a round of candidates that filled up the last one."""
        run = self.run
        left = run.next is not None and not run.next.pending and run.ledger.remaining == 0
        if left and run.current is None and run.status == RUNNING:
            self._open()

    def _settle(self) -> None:
        """Go on if the last value that is waited for has come."""
        run, current = self.run, self.run.current
        if current is None or run.status != RUNNING:
            return
        if not current.pending:
            self._advance(current)
        elif len(current.pending) <= run.setup.late and self._may_leave(current):
            current, late = current.split(self._origin())
            run.next = late if run.next is None else late.join(run.next)
            run.current = current
            self._advance(current)

    def _may_leave(self, population: Population) -> bool:
        """Whether the round can do without the candidates whose values are missing: they are few,
        nothing else is known of them, and a whole round will follow."""
        run, k, pending = self.run, len(population), population.pending
        missing = [i for i, slot in pending.values() if slot == 0]
        free = run.ledger.free
        size = self.method.size(run.memory, self._now())
        return (
            population.kind == SEARCH
            and 2 * len(pending) < k
            and len(missing) == len(pending)
            and bool(np.isnan(population.samples.values[missing]).all())
            and free >= k * size.cost + run.setup.late
            and not set(pending).intersection(self.waiting)
        )

    def _advance(self, population: Population) -> None:
        """All trials of a wave are told: ask for more, or close the round."""
        if population.kind != SEARCH:
            self._note_best(population)
            if self.run.limits is not None:
                constrained.learn(self.run, population)
            final.settle(self.run, population)
            return
        population.wave += 1
        if not self._request(population):
            self._close(population)

    def _close(self, population: Population) -> None:
        """Learn from the round and record it."""
        run, samples = self.run, population.samples
        smallest = self._note_best(population)
        run.barren, run.fruitless = run.barren + 1, run.fruitless + len(population)
        if smallest < math.inf or np.isfinite(samples.values).any():  # the latter: not feasible
            run.barren = run.fruitless = 0
        else:
            population.failed = True
        run.seen.add(population.X, samples.values)
        ledger = run.ledger
        seeding.compare(self.method, run, population)
        shown = population
        if run.limits is not None:
            constrained.learn(run, population)
            shown = constrained.seen_by(self.method, run, population)
        run.memory, info = self.method.learn(run.memory, shown, self._now(), run.bootstrap)
        misranking = math.nan
        if samples.values.shape[1] > 1:
            misranking, again = displacement(samples, population.common)
            if again:
                run.misranking.add(misranking, again)
        first = samples.first.tolist()
        total = sum(first)
        mean = total / len(first) if total < math.inf else mean_of(samples.first)
        # Evaluations of this round and before, whatever came early.
        spent = ledger.charged - (0 if run.next is None else len(run.next))
        row = (spent, len(first), mean, smallest, misranking, run.misranking.value)
        run.history.append((*row, ledger.reevaluation, *info.row))
        final.look_at_noise(self.method, run, population)
        run.round += 1
        run.current = None
        if run.barren >= BARREN and run.fruitless >= self._patience():
            run.status = ALL_FAILED

    def _patience(self) -> int:
        """Failures in a row after which a run gives up: a model proposes few at a time, and most of
        the box may be infeasible."""
        least = BARREN * default_population(self.run.setup.dimension)
        return max(least, _TRIED, self.run.ledger.budget // _PART)

    def _note_best(self, population: Population) -> float:
        """Remember the luckiest draw; returns the smallest value of the population."""
        run = self.run
        i, smallest = population.lowest()
        if smallest < run.best_value:
            run.best_value, run.best_x = smallest, run.setup.box.outer(population.X[i])
        return smallest

    # -- what it has come to

    def stop(self) -> None:
        """End the run now; what was learnt stays."""
        if not self.done:
            self.run.status = STOPPED

    def add(self, data: Earlier) -> None:
        """Hand measurements made elsewhere to the method. They are not charged."""
        run, n = self.run, len(data.y)
        memory = None if self.done or n == 0 else self.method.absorb(run.memory, data)
        run.earlier += n
        if memory is None:
            run.unused += n
        else:
            run.memory = memory

    def measured_at(self, id: int, row: FloatArray) -> bool:
        """Trial ``id`` was measured at ``row`` (inner coordinates): the candidate is moved to the
        mean of the points at which its values were measured. The recommended point stays where
        it is. Returns whether the value says something about the point that was asked for."""
        part = self.holder(id)
        assert part is not None
        i, _ = part.pending[id]
        if part.kind != SEARCH:
            return bool(np.abs(row - part.X[i]).max() <= _SAME_POINT * self.run.setup.sigma)
        told = int((~np.isnan(part.samples.values[i])).sum())
        self.move(id, row if told == 0 else part.X[i] + (row - part.X[i]) / (told + 1.0))
        return True

    def regrant(self, budget: int) -> None:
        """Let the run spend ``budget`` evaluations in all, at least those that are charged. A run
        that has ended goes on; the method hears of it when the next round begins."""
        final.regrant(self.run, budget)
        self._settle()  # values that came after the end

    def move(self, id: int, row: FloatArray) -> None:
        """Trial ``id`` is evaluated at another point: ``row`` (inner coordinates) takes the place
        of the candidate that was sampled."""
        part = self.holder(id)
        assert part is not None
        i, _ = part.pending[id]
        part.sampled[i] = row
        part.X[i] = self.run.setup.box.repaired(row[None])[0]

    def recommend(self) -> tuple[FloatArray, Estimate]:
        """The point to use (outer coordinates), with an honest estimate of f there, in the user's
        sign."""
        x, found = final.recommend(self.method, self.run)
        return x, found.negated() if self.run.maximize else found
