"""Moves a run on: hands out trials, takes in values, lets the method learn.

With one worker a round begins when the one before it is closed: all of its candidates are sampled
at once, and it is closed when the last value is there. In batches, and with several workers,
candidates gather one after the other in a *pool* while the search goes on:

    ask ---> pool of candidates, each with the distribution that it came from
    tell --> enough of them complete? -> a round -> request / learn

A round from the pool is evaluated further (`request`) and learnt from while others gather. With
workers nobody waits for anybody, and what happens depends on the order in which values come: values
are taken in one by one. With one worker and in batches the order leaves no trace.

The last phase is decided in `last_phase`, and what users do besides in `changes`; nothing else
changes a `Run`.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np

from noisewise._types import FloatArray
from noisewise.cma.evolution import mean_of
from noisewise.measured.estimate import Estimate
from noisewise.measured.population import Population, once
from noisewise.methods.method import Handover, Method, everyone
from noisewise.problem.trial import Trial
from noisewise.problem.values import Value
from noisewise.run import beside_start, feasibility, giving_up, handout, last_phase, pool, seeding
from noisewise.run.pool import LEAST
from noisewise.run.run import ALL_FAILED, RUNNING, Run, in_columns

#: The last phase begins while the search still has trials under way if they are at most this part
#: of its evaluations; the answer does not learn from them.
_DRAIN = 0.1


class Search:
    """A method at work on a run."""

    def __init__(self, method: Method, run: Run) -> None:
        self.chosen, self.run = method, run
        #: The chosen method, or another one to which it has handed over.
        self.method = run.in_charge(method)
        #: What was said about the run as it is now; `complete` it before the run changes.
        self.snapshot: weakref.ref[Any] | None = None

    def freeze(self) -> None:
        """The run is about to change: results that were made of it stay as they are."""
        if self.snapshot is not None and (held := self.snapshot()) is not None:
            held.complete()
        self.snapshot = None

    @property
    def done(self) -> bool:
        run = self.run
        if run.status != RUNNING:
            return True
        return run.ledger.remaining == 0 and not run.untold and run.last is None

    # -- ask

    def ask(self, n: int | None = None) -> list[Trial]:
        """Trials that can be evaluated now, at most ``n``. Without ``n``, as many as there are
        free workers; the rest of the batch; all of a round."""
        run = self.run
        if self.done:
            return []
        if self.snapshot is not None:
            self.freeze()
        if run.regranted and n != 0:
            self._take_note_of_budget()
        if run.setup.batch:
            n = self._in_batch(n)
        elif run.workers > 1:
            n = max(0, run.workers - run.out) if n is None else n
            self._fill(n)
        elif run.current is None and run.last is None:
            self._open()
        ids, run.waiting = run.waiting[:n], [] if n is None else run.waiting[n:]
        if run.wished:
            handout.place(run, ids)
        current = run.current
        if current is not None and run.seeds is None and current.is_whole(ids):
            return list(map(Trial, ids, run.setup.box.outer(current.X), repeat("candidate")))
        return handout.trials(run, ids) if ids else []

    def _in_batch(self, n: int | None) -> int:
        """Trials of the batch that can be handed out now. A new batch begins when all of the one
        before it is told."""
        run = self.run
        if run.batch_left == 0 and run.out == 0:
            self._fill(run.setup.batch)
            run.batch_left = min(run.setup.batch, len(run.waiting))
        n = run.batch_left if n is None else min(n, run.batch_left)
        run.batch_left -= n
        return n

    def _fill(self, n: int) -> None:
        """Have ``n`` trials wait, as far as there are any: evaluations that rounds from the pool
        ask for, then new candidates, at last those of the last phase."""
        run = self.run
        while (missing := n - len(run.waiting)) > 0 and not self.done:
            if run.final is None:
                if giving_up.hopeless(run):  # what is out may still succeed
                    return
                if fresh := pool.affordable(self.method, run, missing):
                    group, chunk = pool.gather(self.method, run, fresh)
                    self._request(chunk)
                    group.join(chunk)
                    continue
            if run.last is not None or run.ledger.remaining == 0 or not self._drained():
                return
            self._finish()

    def _drained(self) -> bool:
        """Whether the last phase can begin."""
        run = self.run
        under_way = run.untold
        if under_way == 0:
            return True
        if run.setup.batch or under_way > _DRAIN * run.setup.budget:
            return False
        return pool.owed(run.rounds, self.method.size(run.memory, run.now).cost) < 1.0

    def _open(self) -> None:
        """Begin a round, or turn to the last phase when too little is left for one."""
        run = self.run
        k = 0 if run.final is not None else self._size()
        if k == 0:
            self._finish()
            return
        U = self.method.propose(run.memory, k, run.under_way(), run.now, run.search)
        population = Population.of(run.setup.box.repaired(U), U)
        population.began = 1.0 - run.ledger.free / run.setup.budget
        population.number = run.round
        if run.seeds is not None:
            population.common = seeding.shares(self.method, run, k, run.round)
            population.twice = seeding.compares(self.method, run, k, run.round)
        run.current = population
        self._request(population)

    def _request(self, population: Population) -> bool:
        """Have trials wait for what the method asks for, if possible; whether there are any."""
        run, k = self.run, len(population.X)
        wanted = self.method.request(run.memory, population, run.bootstrap)
        if len(wanted) == 0:
            return False
        first = wanted is everyone(k) and population.wave == 0
        if not first or run.seeds is not None or k > run.ledger.free:
            return handout.issue(self.method, run, population, wanted)
        run.ledger.charge(base=k)
        population.issue(run.new_ids(k), once(k))
        return True

    def _take_note_of_budget(self) -> None:
        """The budget has changed: tell the method, and leave the last phase if there is enough
        for a round."""
        run = self.run
        if run.current is not None or run.last is not None or (run.setup.batch and run.out):
            return
        run.regranted = False
        memory = self.method.resume(run.memory, run.setup)
        run.memory = self._hand_over(memory) if isinstance(memory, Handover) else memory
        if run.final is not None and self._size() > 0:
            run.final = None

    def _size(self) -> int:
        """Candidates of the next round. The last rounds share what is left evenly, so that no
        evaluation is left over; 0: too few are left."""
        now = self.run.now
        k, cost, _ = self.method.size(self.run.memory, now)
        if now.free < min(LEAST, k):
            return 0
        rounds = now.free / (cost * k)
        if rounds < 2.0:
            share = int(now.free / (cost * max(1, round(rounds))))
            k = min(max(share, min(LEAST, k)), now.free)
        return k - k % self.method.together

    def _finish(self) -> None:
        """The search is over: hand out evaluations of points that are no candidates."""
        run = self.run
        if run.final is None:
            for population in pool.rest(self.method, run):  # too few for a whole round
                self._close(population)
            if self.done:
                return
        run.last = handout.points(self.method, run, *last_phase.request(self.method, run))

    # -- tell

    def tell(self, values: Sequence[Value]) -> None:
        """Values of trials that are waited for. Those that come after the end are counted and
        change nothing else."""
        if self.snapshot is not None:
            self.freeze()
        run, current = self.run, self.run.current
        if run.waiting:  # told before it was asked for
            told = {value.id for value in values}
            run.batch_left -= sum(id in told for id in run.waiting[: run.batch_left])
            run.waiting = [id for id in run.waiting if id not in told]
        run.failure = next((v.why for v in reversed(values) if v.why is not None), run.failure)
        ids, ys, ses, limits, _ = zip(*values, strict=True)
        plain = ses.count(None) == len(ids) and set(map(type, limits)) == {type(None)}
        if plain and current is not None and ids == tuple(current.pending):
            run.ledger.count(values)
            run.told.add(current, run.round, ids, tuple(current.pending.values()), ys)
            current.put_all(ys)
            self.move_on()
            return
        one_by_one = run.workers > 1 and not run.setup.batch
        for value in values:
            run.ledger.count([value])
            self._put(value)
            if one_by_one:
                self.move_on()
        self.move_on()

    def _put(self, value: Value) -> None:
        """Store a value at its place."""
        run, part = self.run, self.run.holder(value.id)
        assert part is not None
        place = part.pending.pop(value.id)
        run.told.add(part, run.round, [value.id], [place], [value.y], [value.se])
        part.samples.put(*place, value.y, value.se)
        if value.constraints is not None:
            if run.limits is None:
                run.limits = feasibility.begin(run.setup, len(value.constraints))
            part.samples.put_limits(*place, value.constraints)

    def move_on(self) -> None:
        """Go as far as the values that are there allow."""
        run = self.run
        while run.status == RUNNING:
            if run.last is not None and not run.last.pending:
                self._settle(run.last)
            elif run.current is not None:
                if run.current.pending:
                    break
                self._advance(run.current)
            elif (i := next((i for i, one in enumerate(run.rounds) if not one.pending), -1)) >= 0:
                self._advance(run.rounds.pop(i))
            elif run.pool and (ready := pool.take(self.method, run)) is not None:
                run.rounds.append(ready)
            else:
                break
        self._give_up()

    def _advance(self, population: Population) -> None:
        """All trials of a wave are told: ask for more, or close the round."""
        population.wave += 1
        run = self.run
        if run.final is None and self._request(population):
            if population is not run.current:  # nobody waits for its re-evaluations
                run.rounds.append(population)
            return
        run.current = None
        if run.final is None:
            self._close(population)
        else:  # it came too late for the answer
            self._record(population)

    def _settle(self, population: Population) -> None:
        """All values of points that are no candidates are there."""
        self.run.last = None
        self._note_best(population)
        feasibility.learn(self.run, population)
        last_phase.settle(self.method, self.run, population)

    # -- the end of a round

    def _close(self, population: Population) -> None:
        """Learn from the round and record it."""
        run, samples = self.run, population.samples
        if population.gathered or population.placed:
            pool.see(self.method, run, population)
        wanted = run.final is None and (run.setup.adaptive or run.setup.confirm)
        noise = run.round if wanted else None
        smallest, misranking = self._record(population, noise)
        if smallest < math.inf or np.isfinite(samples.values).any():  # the latter: not feasible
            run.barren = run.fruitless = 0
        else:
            population.failed, run.barren = True, run.barren + 1
            run.fruitless += int((~np.isnan(samples.values)).sum())
        if population.twice:
            seeding.compare(self.method, run, population)
        if population.gathered and pool.strange(self.method, run, population):
            return
        shown = population
        if run.limits is not None:
            shown = feasibility.seen_by(self.method, run, population)
        memory, info = self.method.learn(run.memory, shown, run.now, run.bootstrap)
        chosen = self.method is self.chosen
        said = info.row if chosen else in_columns(info.row, self.method, self.chosen)
        run.memory = self._hand_over(memory) if isinstance(memory, Handover) else memory
        if run.setup.options is not None and noise is not None and not run.evidence.settled:
            run.evidence.compared(samples.values if info.repeated is None else info.repeated)
        first = samples.values[:, 0].tolist()
        total = sum(first)
        mean = total / len(first) if total < math.inf else mean_of(samples.values[:, 0])
        row = (run.learnt, len(first), mean, smallest, misranking, run.evidence.misranking)
        run.history.append((*row, run.ledger.reevaluation, *said))
        exact, near = run.evidence.exact, run.ledger.free <= 4 * len(population.X)
        change = near or exact != run.exact or noise == 0
        if run.setup.given and run.evidence.two_outcomes:
            change = change or beside_start.due(run)
        if noise is not None and run.setup.adaptive and change:
            last_phase.keep(self.method, run, near)
        run.round += 1

    def _hand_over(self, to: Handover) -> Any:
        """Another method goes on, with the memory that is returned."""
        self.run.hand_over(self.method, to)
        self.method = to.method
        return to.memory

    def _record(self, population: Population, noise: int | None = None) -> tuple[float, float]:
        """Take note of what was measured; returns the smallest value and the misranking."""
        smallest = self._note_best(population)
        misranking = self.run.evidence.observe(population, noise)
        if self.run.limits is not None:
            feasibility.learn(self.run, population)
        return smallest, misranking

    def _give_up(self) -> None:
        """Between two rounds, end a run without hope once all trials are told."""
        run = self.run
        over = run.fruitless > 0 and run.untold == 0 and run.last is None
        if over and run.status == RUNNING and giving_up.hopeless(run):
            run.status = ALL_FAILED

    def _note_best(self, population: Population) -> float:
        """Remember the luckiest draw; returns the smallest value of the population."""
        run = self.run
        i, smallest = population.lowest()
        if smallest < run.best_value:
            run.best_value, run.best_x = smallest, run.setup.box.outer(population.X[i])
        return smallest

    def recommend(self) -> tuple[FloatArray, Estimate]:
        """The point to use (outer coordinates), with an estimate of f there in the user's sign."""
        x, found = last_phase.recommend(self.method, self.run)
        return x, found.negated() if self.run.maximize else found
