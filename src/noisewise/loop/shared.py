"""One run of many processes, on as many machines as reach its database.

    append(told, asked) --> the table of events --> read what is new --> apply it: `Replica`

Nobody is in charge. Each process writes what it does and learns from the same table what others
did, so all of them are in the same state and agree on who evaluates what. What a process had that
dies is handed out again by one of the others.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, final

from noisewise.answer import evaluations
from noisewise.answer.result import Result
from noisewise.executors import Evaluator
from noisewise.loop import outcomes, replica, resume
from noisewise.loop.clock import Clock
from noisewise.loop.events import Asked, Budget, Event, Gone, Stop, TimeUp
from noisewise.loop.optimizer import Optimizer
from noisewise.loop.pulse import Pulse
from noisewise.loop.replica import Replica
from noisewise.problem.trial import Trial
from noisewise.problem.values import Value
from noisewise.run.idle import idle
from noisewise.storage import open_store

#: Seconds of work after which a new snapshot is due, and events that a process rather skips by
#: loading one.
_SNAPSHOT, _MANY = 2.0, 500
#: Shortest and longest pause between two looks for events, in seconds.
_LOOKS = (0.01, 0.5)


def load(url: str) -> Optimizer:
    """The run in a database as it is now, to be looked at."""
    store = open_store(url)
    try:
        store.look()
        number, text = store.snapshot()
        found = Replica(Optimizer.__new__(Optimizer))
        found.restore(number, text, store.shown, None)
        for entry in store.since(number):
            found.apply(entry)
    finally:
        store.close()
    found.opt.written = time.time()
    return found.opt


@final
class Shared:
    """The part of this process in a run."""

    def __init__(self, url: str, opt: Optimizer, clock: Clock | None) -> None:
        self.opt, self.clock = opt, clock
        self.worker = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._store, self._own = open_store(url), 0
        self._store.prepare()
        self._replica = Replica(opt)
        #: Trials that this process evaluates, and where.
        self.held: dict[int, Any] = {}
        self._due = _SNAPSHOT * random.uniform(1.0, 1.5)  # not all of them at the same time
        self._pause = _LOOKS[0]
        self._join()
        left = (lambda: math.inf) if clock is None else (lambda: clock.left)
        self.pulse = Pulse(open_store(url), self.worker, left)

    def _join(self) -> None:
        """Begin the run, or take over its state."""
        mine, store = self.opt, self._store
        if store.create(self._replica.state(), _version()):
            return
        if (theirs := store.version()) != _version():
            raise store.wrong(
                f"run {store.run} was begun by noisewise {theirs}, this is {_version()}: all "
                "processes of a run need the same version"
            )
        fresh = Optimizer.__new__(Optimizer)
        fresh.__dict__ |= mine.__dict__
        self._restore()
        self._catch_up()
        resume.compare(mine, fresh, f"storage {store.shown}", "name behind the #")
        resume.check_budget(mine, fresh.budget, f"storage {store.shown}")
        if mine.budget != fresh.budget or mine.gave_up:
            self._append([Budget(fresh.budget)])
            self._catch_up()

    # -- events

    def _append(self, happened: Sequence[Event]) -> None:
        """Write down what this process does."""
        lines = []
        for event in happened:
            point = self.held.get(event.id) if isinstance(event, Value) else None
            lines.append(replica.line(event, point))
        own, self._own = self._own, self._own + len(lines)  # before an interrupt can come between
        self._store.append(self.worker, own, lines)

    def _catch_up(self) -> bool:
        """Apply what is new; whether there was anything."""
        entries = self._store.since(self._replica.seen)
        if len(entries) > _MANY and self._store.snapshots()[0] > self._replica.seen + _MANY:
            self._restore()
            entries = self._store.since(self._replica.seen)
        for entry in entries:
            self._replica.apply(entry)
        if self._replica.cost > self._due:
            self._snapshot()
        return bool(entries)

    def _restore(self) -> None:
        number, text = self._store.snapshot()
        self._replica.restore(number, text, self._store.shown, self.opt.method)

    def _snapshot(self) -> None:
        """Keep the state, unless another process has just done so."""
        mine = self._replica
        if max(self._store.snapshots(), default=0) <= mine.kept:
            self._store.keep(mine.seen, mine.state())
        mine.kept, mine.cost = mine.seen, 0.0

    # -- steps

    def step(self, values: Sequence[Value], room: int) -> list[Trial]:
        """Tell values and ask for as many trials as there is room for; those that are new."""
        maximize, asked = self.opt.maximize, [Asked(room, 0)] if room > 0 else []
        told: list[Event] = [value.signed(maximize) for value in values]
        if told:
            self._append([*told, *asked] if not self._leaves() else told)
        for value in values:
            self.held.pop(value.id, None)
        news = self._catch_up()
        self._look_after_others()
        found = self._replica.trials(self.worker, self.held)
        if not found and asked and not idle(self._replica.search) and not self._leaves():
            self._append(asked)
            self._catch_up()
            found = self._replica.trials(self.worker, self.held)
        self.held |= {trial.id: self._replica.point(trial.id) for trial in found}
        self._pause = _LOOKS[0] if news or found else min(1.5 * self._pause, _LOOKS[1])
        return found

    def stop(self) -> None:
        """End the run for all."""
        self._append([Stop()])
        self._catch_up()

    def wait(self) -> None:
        """A moment, until there may be news."""
        time.sleep(self._pause * random.uniform(0.5, 1.5))

    @property
    def over(self) -> bool:
        """Whether there is nothing left to do for this process."""
        return self.opt.done or (self._leaves() and not self.held)

    def _leaves(self) -> bool:
        """Whether this process has no time for another evaluation, while others have."""
        clock = self.clock
        if clock is None or self.pulse.others_left <= clock.left:
            return False
        return clock.fits(clock.left) < 1.0

    def _look_after_others(self) -> None:
        """Give back what the dead had, and end the search when the time of all of us is up."""
        claims = self._replica.claims
        self.pulse.claimants = frozenset(claims.values())
        happened: list[Event] = []
        for name in self.pulse.dead:
            if name in self.pulse.claimants:
                happened.append(Gone(name))
            self._store.forget(name)
            self.pulse.buried(name)
        if self.clock is not None and self.pulse.others_left < math.inf:
            left = max(self.clock.left, self.pulse.others_left)
            if (n := self.clock.over(self.opt.state, left, 1 + self.pulse.others)) is not None:
                happened.append(TimeUp(n))
        if happened:
            self._append(happened)
            self._catch_up()

    def leave(self) -> None:
        """Give back what this process has not told."""
        self.pulse.stop()
        self._store.patience = 0.0  # nobody waits for a database to say goodbye
        with contextlib.suppress(Exception):
            if self.worker in self._replica.claims.values():
                self._append([Gone(self.worker)])
            elif self.opt.done and self._replica.kept < self._replica.seen:
                self._snapshot()
            self._store.forget(self.worker)
        self._store.close()


def share(
    url: str,
    opt: Optimizer,
    evaluator: Evaluator,
    on_error: str,
    callback: Callable[[Result], Any] | None,
    on_evaluation: Callable[[dict[str, Any]], Any] | None,
    show: Any,
    clock: Clock | None,
) -> Result:
    """Take part in the run that ``url`` names until it ends. ``show`` makes a progress bar.
    Callbacks hear of what all processes do."""
    shared = Shared(url, opt, clock)
    bar = None if show is None else show(opt)
    values: Sequence[Value] = []
    generation, heard = opt.generation, set(evaluations.unheard(opt.state, set()))
    try:
        while True:
            trials = shared.step(values, max(0, evaluator.slots - len(shared.held) + len(values)))
            for _ in values:
                evaluator.finished.popleft()
            values = []
            new = [] if on_evaluation is None else evaluations.unheard(opt.state, heard)
            for told in evaluations.single(opt.state, opt.space, new):
                if on_evaluation is not None and outcomes.wants_to_stop(on_evaluation, told):
                    shared.stop()
            if opt.generation > generation:
                generation = opt.generation
                if bar is not None:
                    bar.update()
                if callback is not None and outcomes.wants_to_stop(callback, opt.result()):
                    shared.stop()
            if shared.over:
                break
            if trials:
                if clock is not None:
                    clock.begin([trial.id for trial in trials])
                evaluator.submit(trials)
            if not shared.held:
                shared.wait()
                continue
            while not evaluator.finished:
                evaluator.receive(block=True)
            values = evaluator.numbers(opt.maximize) or outcomes.values(
                evaluator.finished, opt, on_error
            )
            if clock is not None:
                clock.end([value.id for value in values])
        if bar is not None:  # the last phase is no generation
            bar.update()
    except BaseException:
        rest = outcomes.known(opt, evaluator)
        with contextlib.suppress(Exception):
            if rest:
                shared.step(rest, 0)
        raise
    finally:
        if bar is not None:
            bar.finish()
        shared.leave()
    return opt.result() if opt.done else opt.interrupt()


def _version() -> str:
    try:
        return version("noisewise")
    except PackageNotFoundError:
        return "unknown"
