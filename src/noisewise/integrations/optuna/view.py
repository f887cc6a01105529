"""The run of a study as one worker knows it, and how workers share the run through the storage.

Every worker rebuilds the run from the marks and values that it reads (see `records`, `replay`). No
two trials answer for the same evaluation: a worker writes its claim, reads all others, and keeps
the claim only if nobody else has the same. Of two that claim at once the later writer sees the
other, so at most one keeps it; a worker that sees another withdraws and tries again. Nobody ever
holds a lock, so nobody can die with one.

A trial that is overdue is taken for dead and another trial claims its evaluation as the next
*attempt*; from then on the later attempt answers, whatever becomes of the earlier one. The new
attempt is withdrawn if the earlier trial turns out to have finished. (What is left to chance: a
worker that dies right between the two, when the trial it took for dead has just finished.)

Trials that the run did not ask for are *foreign*: the user enqueued or added them, or they come
from another sampler. Those that had finished when the run began are its data. Others take the place
of a candidate when they are done: before a worker claims an evaluation for its own trial, it claims
evaluations for them.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, final

import numpy as np

from noisewise import _data
from noisewise._types import FloatArray
from noisewise.integrations.optuna import records
from noisewise.integrations.optuna.constraints import values as limits
from noisewise.integrations.optuna.distributions import Points
from noisewise.integrations.optuna.replay import Replay, Settings
from noisewise.integrations.optuna.steps import Steps

#: Trials running this many times as long as the longest completed one are overdue.
_OVERDUE_FACTOR = 3.0
#: Seconds before which no trial is overdue.
_OVERDUE_LEAST = 5.0


def latest(study: Any) -> View | None:
    """The run that the latest marked trial belongs to, up to date."""
    runs = records.runs(study)
    for trial in reversed(records.trials(study)):
        kept = runs.get(records.mark(trial).get("run", ""))
        if kept is not None:
            view = View(study, kept)
            view.sync(study)
            view.finish(study)
            return view
    return None


@final
class View:
    """A run as one worker knows it."""

    def __init__(self, study: Any, kept: Mapping[str, Any]) -> None:
        self.run: str = kept["run"]
        self.space = records.space_of(kept)
        self.points = Points(self.space, kept["when"])
        self._until, self._running_then = kept["until"], frozenset(kept["running"])
        self.replay = Replay(
            Settings(
                self.points.named.encode(kept["start"]),
                kept["sigma0"],
                _data.decode(kept["method"]),
                kept["seed"],
                kept["workers"],
                records.budgets(kept),
                self.points.data(study, filter(self._was_before, records.trials(study))),
                self.points.named,
                None if "incumbent" not in kept else self.points.named.encode(kept["incumbent"]),
            )
        )
        #: Seconds that the longest completed trial took; None while there is none.
        self.longest: float | None = None
        self._n_seen = 0
        self._unfinished: list[int] = []
        #: Trials by the evaluation that they claim, and by number.
        self._finished: dict[int, dict[int, Any]] = defaultdict(dict)
        self._running: dict[int, dict[int, Any]] = {}
        self._since: dict[int, float] = {}
        #: Finished foreign trials, where they were, and those that answer an evaluation.
        self._foreign: dict[int, Any] = {}
        self._rows: dict[int, FloatArray] = {}
        self._placed: set[int] = set()
        #: Foreign trials that are being placed, and by which trial's worker.
        self._placing: list[tuple[int, int]] = []
        #: What the workers of this process have placed, by the trial in whose mark it is.
        self._mine: dict[int, list[list[int]]] = defaultdict(list)
        #: With several workers, the order in which the run learns.
        self._steps = Steps()

    def _was_before(self, trial: Any) -> bool:
        """Whether the trial had finished before the run began."""
        return trial.number < self._until and trial.number not in self._running_then

    def extend(self, kept: Mapping[str, Any]) -> None:
        """Take over budgets that were added since."""
        budgets = records.budgets(kept)
        if budgets is not None and budgets != self.replay.settings.budgets:
            self.replay.extend(budgets)

    # -- reading

    def sync(self, study: Any) -> None:
        """Read what the trials say now and bring the run up to date."""
        found = records.trials(study)
        watched = [found[n] for n in self._unfinished] + found[self._n_seen :]
        self._n_seen = len(found)
        self._unfinished = [t.number for t in watched if not t.state.is_finished()]
        self._running, self._placing = defaultdict(dict), []
        self._steps.begin()
        for trial in watched:
            mark = records.mark(trial)
            if mark.get("run") == self.run:
                self._note(trial, mark, found)
            elif trial.state.is_finished():
                self._note_foreign(trial)
        self._steps.end()
        if self.replay.flows:
            self._go_on(study, found)
        else:
            self._answer(study)

    def _note(self, trial: Any, mark: Mapping[str, Any], found: list[Any]) -> None:
        finished, first = trial.state.is_finished(), min(self.replay.open, default=0)
        self._steps.note(trial.number, mark, finished, self.replay.steps)
        if finished:
            self._since.pop(trial.number, None)
            if records.complete(trial) and trial.duration is not None:
                took = trial.duration.total_seconds() - mark.get("waited", 0.0)
                self.longest = max(took, self.longest or 0.0)
        else:
            # By the clock of this process: other machines' clocks may be wrong.
            self._since.setdefault(trial.number, time.monotonic())
        if mark.get("id", -1) >= first:
            claims = self._finished if finished else self._running
            claims[mark["id"]][trial.number] = trial
        if "foreign" in mark:
            self._placing.append((mark["foreign"], trial.number))
        for id, number in mark.get("placed", ()):
            self._placed.add(number)
            if id >= first:
                self._finished[id][number] = found[number]

    def _note_foreign(self, trial: Any) -> None:
        row = None if self._was_before(trial) else self.points.of(trial)
        if row is not None:
            self._foreign[trial.number], self._rows[trial.number] = trial, row

    def _claims(self, id: int) -> dict[int, Any]:
        """Trials that claim an evaluation, by number."""
        return self._finished.get(id, {}) | self._running.get(id, {})

    def _attempts(self, id: int) -> list[Any]:
        """Trials that claim the latest attempt at an evaluation, those that finished first. There
        is more than one while claims are being settled, or where a worker died doing so."""
        claims = self._claims(id).values()
        last = max(map(records.attempt, claims), default=0)
        latest = [t for t in claims if records.attempt(t) == last]
        return sorted(latest, key=lambda t: (not t.state.is_finished(), t.number))

    def _answer(self, study: Any) -> None:
        """Tell the run what is known of what it waits for, wave by wave."""
        known = True
        while known:
            known = False
            for id in list(self.replay.open):
                for trial in self._attempts(id)[:1]:
                    if trial.state.is_finished():
                        known = True
                        self._finished.pop(id)
                        self._tell(study, id, trial)

    def _go_on(self, study: Any, found: list[Any]) -> None:
        """Take the steps that workers have made."""
        while (told := self._steps.take(self.replay.steps)) is not None:
            for id, number in told:
                self._finished.pop(id, None)
                if id in self.replay.open:
                    self._tell(study, id, found[number])
            self.replay.step()

    def _known(self) -> list[list[int]]:
        """Evaluations that the run does not know yet, with the trials that answer them."""
        first = [(id, attempts[0]) for id in self.replay.open if (attempts := self._attempts(id))]
        return [[id, trial.number] for id, trial in first if trial.state.is_finished()]

    def finish(self, study: Any) -> None:
        """Learn from what no worker has made a step of yet. Nothing is asked for after that."""
        if self.replay.flows:
            found = records.trials(study)
            for id, number in self._known():
                self._tell(study, id, found[number])

    def _tell(self, study: Any, id: int, trial: Any) -> None:
        """Answer an evaluation with a finished trial."""
        if trial.number in self._placed:
            row = self._rows[trial.number]
            self.replay.place(id, self.points.value(study, trial, row), row, limits(trial))
            return
        text = records.mark(trial).get("row")
        sampled = None if text is None else records.as_row(text)
        x = self.replay.open[id].x if sampled is None else np.clip(sampled, 0.0, 1.0)
        self.replay.answer(id, self.points.value(study, trial, x), sampled, limits(trial))

    # -- what there is to do

    def free(self) -> list[int]:
        """Evaluations that nobody has claimed."""
        return [id for id in self.replay.open if not self._claims(id)]

    def overdue(self, after: float | None) -> list[int]:
        """Evaluations whose trials run for longer than ``after`` seconds."""
        latest = time.monotonic() - self.limit(after)
        return [
            id
            for id in self.replay.open
            if (found := self._attempts(id))
            and all(self._since.get(trial.number, math.inf) < latest for trial in found)
        ]

    def limit(self, after: float | None) -> float:
        """Seconds after which a trial is overdue."""
        if after is not None:
            return after
        if self.longest is None:
            return math.inf
        return max(_OVERDUE_LEAST, _OVERDUE_FACTOR * self.longest)

    def holders(self) -> set[int]:
        """Numbers of the trials that the run waits for."""
        return {trial.number for id in self.replay.open for trial in self._attempts(id)}

    def foreign(self) -> dict[int, Any]:
        """Foreign trials that the run has not learnt from, by number."""
        return {n: trial for n, trial in self._foreign.items() if n not in self._placed}

    def learnt(self, study: Any) -> list[Any]:
        """The completed trials that the run has learnt from, in order of their numbers."""
        return [
            trial
            for trial in records.trials(study)
            if records.complete(trial)
            and (
                trial.number in self._placed
                or self._was_before(trial)
                or "id" in self._marked(trial)
            )
        ]

    def confirmations(self, study: Any) -> list[Any]:
        """The finished trials that were to measure a recommendation of the run."""
        return [
            trial
            for trial in records.trials(study)
            if trial.state.is_finished()
            and self._marked(trial).get("kind") == "confirmation"
            and "id" not in self._marked(trial)
        ]

    def _marked(self, trial: Any) -> dict[str, Any]:
        """The mark of a trial of this run."""
        mark = records.mark(trial)
        return mark if mark.get("run") == self.run else {}

    # -- writing

    def place(self, study: Any, trial: Any) -> None:
        """Let foreign trials take the places of candidates that nobody has claimed. The mark of
        ``trial`` says so; the worker's own claim follows later."""
        for number in self.foreign():
            ids = [id for id in self.free() if self.replay.open[id].placeable]
            if not ids:
                return
            if self._claim(study, trial, ids[0], {"foreign": number}):
                self._mine[trial.number].append([ids[0], number])
            self._write(study, trial, "placing")
            self.sync(study)

    def step(self, study: Any, trial: Any) -> bool:
        """Let a run with several workers learn what is known; whether that was done."""
        replay, told = self.replay, self._known()
        if not replay.flows or not told:
            return False
        step = replay.steps
        if self.others_step:
            return False
        self._write(study, trial, "step", step=step)
        self.sync(study)
        if replay.steps > step or self._steps.others(step, trial.number):
            self._write(study, trial, "withdrawn")
            return replay.steps > step
        self._steps.keep(trial.number, step, told)
        self._write(study, trial, "stepped")
        self.sync(study)
        return True

    @property
    def others_step(self) -> bool:
        """Whether the worker of another trial is about to let the run learn."""
        return self._steps.others(self.replay.steps, -1)

    def claim(self, study: Any, trial: Any, id: int, waited: float) -> dict[str, Any] | None:
        """Parameters of an evaluation, if the trial could claim it."""
        offer, before = self.replay.open[id], self._attempts(id)
        more: dict[str, Any] = {"waited": round(waited, 3)}
        if before:
            more["attempt"] = records.attempt(before[0]) + 1
        if offer.row is not None:
            more["row"] = records.as_text(offer.row)
        if self._claim(study, trial, id, more):
            return self.points.named.decode(offer.x)
        self._write(study, trial, "withdrawn")
        return None

    def _claim(self, study: Any, trial: Any, id: int, more: Mapping[str, Any]) -> bool:
        """Whether the trial could claim an evaluation."""
        self._write(study, trial, self.replay.open[id].kind, id=id, **more)
        self.sync(study)
        others = [t for n, t in self._claims(id).items() if n != trial.number]
        attempt = more.get("attempt", 0)
        same = any(records.attempt(t) >= attempt for t in others)
        done = any(records.attempt(t) == attempt - 1 and t.state.is_finished() for t in others)
        placed = "foreign" in more and (
            more["foreign"] in self._placed
            or any(pair[0] == more["foreign"] and pair[1] != trial.number for pair in self._placing)
        )
        return id in self.replay.open and not same and not done and not placed

    def measure(
        self, study: Any, trial: Any, x: FloatArray, rest: Mapping[str, float], waited: float
    ) -> dict[str, Any]:
        """Parameters at ``x``, the recommendation, which is to be evaluated once more. ``rest``
        has the internal values of parameters that are not searched."""
        more = {"rest": dict(rest)} if rest else {}
        self._write(study, trial, "confirmation", waited=round(waited, 3), **more)
        return self.points.named.decode(x)

    def _write(self, study: Any, trial: Any, kind: str, **more: Any) -> None:
        kept = {"placed": self._mine.get(trial.number), "steps": self._steps.of(trial.number)}
        mark = {"run": self.run, "kind": kind, **more}
        records.write(
            study, trial, mark | {name: list(found) for name, found in kept.items() if found}
        )
