"""What the Optuna sampler keeps in the storage, and how workers share a run through it.

Nothing but records is kept, and records only grow:

- one attribute of the study per search space: the settings of the run (see `begin`);
- one attribute of each trial, its *mark*: the run, which evaluation of the run it claims (``id``),
  where exactly it evaluates (``row``), and what for (``kind``).

Every worker rebuilds the run from the marks and values it reads (`noisewise.integrations._replay`).
No two trials answer for the same evaluation: a worker writes its claim, reads all others, and keeps
the claim only if nobody else has the same. Of two that claim at once the later writer sees the
other, so at most one keeps it; a worker that sees another withdraws and tries again. Nobody ever
holds a lock, so nobody can die with one.

A trial that is overdue is taken for dead and another trial claims its evaluation as the next
*attempt*; from then on the later attempt answers, whatever becomes of the earlier one. The new
attempt is withdrawn if the earlier trial turns out to have finished. (What is left to chance: a
worker that dies in the milliseconds between claiming an attempt and withdrawing it, when the trial
it took for dead has finished in the same moment.)
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, final

import numpy as np

from noisewise import _data
from noisewise._types import FloatArray
from noisewise._values import LARGEST
from noisewise.integrations._distributions import named
from noisewise.integrations._extra import extra
from noisewise.integrations._replay import Replay, Settings

optuna = extra("optuna")

#: The trial attribute that holds the mark, and the start of the study attributes' names.
MARK = "noisewise"
#: Trials running this many times as long as the longest completed one are overdue.
_OVERDUE_FACTOR = 3.0
#: Seconds before which no trial is overdue.
_OVERDUE_LEAST = 5.0
#: Coordinates of the unit cube that differ by less than this are the same.
_SAME = 1e-6


def trials(study: Any) -> list[Any]:
    """All trials in order of their numbers, as the storage has them now; not to be changed."""
    found: list[Any] = study._storage.get_all_trials(study._study_id, deepcopy=False)
    return found


def minimised(study: Any, value: float) -> float:
    """A study's value as one to minimise, and back."""
    return -value if study.direction == optuna.study.StudyDirection.MAXIMIZE else value


def attribute(space: Mapping[str, Any]) -> str:
    """Name of the study attribute that holds the settings of the run over ``space``."""
    return f"{MARK}:{_digest(_space_json(space))}"


def settings(study: Any, name: str) -> dict[str, Any] | None:
    """The settings kept in the study attribute ``name``."""
    found: dict[str, Any] | None = study._storage.get_study_system_attrs(study._study_id).get(name)
    return found


def keep_settings(study: Any, name: str, kept: Mapping[str, Any]) -> None:
    """Write the settings into the study attribute ``name``."""
    study._storage.set_study_system_attr(study._study_id, name, dict(kept))


def begin(space: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """Settings of a new run over ``space``. Workers with equal options make equal settings."""
    kept = options | {"space": _space_json(space)}
    return kept | {"run": _digest(kept)}


def latest(study: Any) -> View | None:
    """The run that the latest marked trial belongs to, up to date."""
    attributes = study._storage.get_study_system_attrs(study._study_id)
    runs = {kept["run"]: kept for name, kept in attributes.items() if name.startswith(f"{MARK}:")}
    for trial in reversed(trials(study)):
        kept = runs.get(trial.system_attrs.get(MARK, {}).get("run"))
        if kept is not None:
            view = View(kept)
            view.sync(study)
            return view
    return None


@final
class View:
    """A run as one worker knows it."""

    def __init__(self, kept: Mapping[str, Any]) -> None:
        self.run: str = kept["run"]
        self.space = {
            name: optuna.distributions.json_to_distribution(text)
            for name, text in kept["space"].items()
        }
        self.named = named(self.space)
        method = _data.decode(kept["method"])
        self.replay = Replay(
            Settings(
                self.named.encode(kept["start"]),
                kept["sigma0"],
                method,
                kept["seed"],
                kept["workers"],
                _budgets(kept),
            )
        )
        #: Seconds that the longest completed trial took; None while there is none.
        self.longest: float | None = None
        self._n_seen = 0
        self._unfinished: list[int] = []
        self._finished: dict[int, dict[int, Any]] = defaultdict(dict)
        self._running: dict[int, dict[int, Any]] = {}
        self._since: dict[int, float] = {}

    def extend(self, kept: Mapping[str, Any]) -> None:
        """Take over budgets that were added since."""
        budgets = _budgets(kept)
        if budgets is not None and budgets != self.replay.settings.budgets:
            self.replay.extend(budgets)

    def sync(self, study: Any) -> None:
        """Read what the trials say now and bring the run up to date."""
        found = trials(study)
        watched = [found[n] for n in self._unfinished] + found[self._n_seen :]
        self._n_seen = len(found)
        self._unfinished = [t.number for t in watched if not t.state.is_finished()]
        self._running = defaultdict(dict)
        for trial in watched:
            mark = trial.system_attrs.get(MARK, {})
            if mark.get("run") == self.run:
                self._note(trial, mark)
        self._answer(study)

    def _note(self, trial: Any, mark: Mapping[str, Any]) -> None:
        finished = trial.state.is_finished()
        if finished:
            self._since.pop(trial.number, None)
            if trial.state == optuna.trial.TrialState.COMPLETE and trial.duration is not None:
                took = trial.duration.total_seconds() - mark.get("waited", 0.0)
                self.longest = max(took, self.longest or 0.0)
        else:
            # By the clock of this process: other machines' clocks may be wrong.
            self._since.setdefault(trial.number, time.monotonic())
        if "id" in mark and mark["id"] >= min(self.replay.open, default=0):
            claims = self._finished if finished else self._running
            claims[mark["id"]][trial.number] = trial

    def _claims(self, id: int) -> dict[int, Any]:
        """Trials that claim an evaluation, by number."""
        return self._finished.get(id, {}) | self._running.get(id, {})

    def _attempts(self, id: int) -> list[Any]:
        """Trials that claim the latest attempt at an evaluation, those that finished first. There
        is more than one while claims are being settled, or where a worker died doing so."""
        claims = self._claims(id).values()
        last = max(map(_attempt, claims), default=0)
        latest = [t for t in claims if _attempt(t) == last]
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

    def _tell(self, study: Any, id: int, trial: Any) -> None:
        """Answer an evaluation with a finished trial."""
        text = trial.system_attrs[MARK].get("row")
        row = None if text is None else np.frombuffer(base64.b64decode(text), "<f8")
        x = self.replay.open[id].x if row is None else np.clip(row, 0.0, 1.0)
        self.replay.answer(id, self._value(study, trial, x), row)

    def _value(self, study: Any, trial: Any, x: FloatArray) -> float:
        """Value of a finished trial, to be minimised; nan: it failed, or was not at ``x``."""
        if trial.state != optuna.trial.TrialState.COMPLETE or not self._was_at(trial, x):
            return math.nan
        return max(minimised(study, trial.value), -LARGEST)

    def _was_at(self, trial: Any, x: FloatArray) -> bool:
        """Whether the trial's parameters are those at ``x``. Those it did not ask for do not
        count; a few last bits may differ between machines."""
        meant = self.named.decode(x)
        found = {name: trial.params.get(name, value) for name, value in meant.items()}
        try:
            apart = self.named.encode(found) - self.named.encode(meant)
        except ValueError:  # out of range: the study's ranges have changed
            return False
        return float(np.abs(apart).max()) < _SAME

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
            and all(self._since[trial.number] < latest for trial in found)
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

    def claim(self, study: Any, trial: Any, id: int, waited: float) -> dict[str, Any] | None:
        """Parameters of an evaluation, if the trial could claim it."""
        offer, before = self.replay.open[id], self._attempts(id)
        mark = self._mark(offer.kind, waited) | {"id": id}
        if before:
            mark["attempt"] = _attempt(before[0]) + 1
        if offer.row is not None:
            mark["row"] = base64.b64encode(offer.row.astype("<f8").tobytes()).decode("ascii")
        self._write(study, trial, mark)
        self.sync(study)
        if self._is_mine(id, trial.number, mark.get("attempt", 0)):
            return self.named.decode(offer.x)
        self._write(study, trial, self._mark("withdrawn", waited))
        return None

    def _is_mine(self, id: int, number: int, attempt: int) -> bool:
        """Whether nobody else claimed the same attempt, and the one before it did not finish."""
        others = [t for n, t in self._claims(id).items() if n != number]
        same = any(_attempt(t) >= attempt for t in others)
        done = any(_attempt(t) == attempt - 1 and t.state.is_finished() for t in others)
        return id in self.replay.open and not same and not done

    def measure(self, study: Any, trial: Any, waited: float) -> dict[str, Any]:
        """Parameters of the recommendation, to be evaluated once more."""
        self._write(study, trial, self._mark("confirmation", waited))
        return self.named.decode(self.replay.recommend().x)

    def measured(self, study: Any, params: Mapping[str, Any]) -> list[float]:
        """Values, to be minimised, of the trials that measured ``params`` as a recommendation."""
        return [
            minimised(study, t.value)
            for t in self._complete(study)
            if t.system_attrs[MARK]["kind"] == "confirmation"
            and all(t.params.get(name, value) == value for name, value in params.items())
        ]

    def constants(self, study: Any) -> dict[str, Any]:
        """Parameters of the run's trials that can take one value only."""
        found = {}
        for t in self._complete(study)[-1:]:
            found = {name: t.params[name] for name, d in t.distributions.items() if d.single()}
        return found

    def _complete(self, study: Any) -> list[Any]:
        """The completed trials of the run."""
        return [
            t
            for t in trials(study)
            if t.state == optuna.trial.TrialState.COMPLETE
            and t.system_attrs.get(MARK, {}).get("run") == self.run
        ]

    def _mark(self, kind: str, waited: float) -> dict[str, Any]:
        return {"run": self.run, "kind": kind, "waited": round(waited, 3)}

    def _write(self, study: Any, trial: Any, mark: Mapping[str, Any]) -> None:
        study._storage.set_trial_system_attr(trial._trial_id, MARK, dict(mark))


def _attempt(trial: Any) -> int:
    return int(trial.system_attrs[MARK].get("attempt", 0))


def _budgets(kept: Mapping[str, Any]) -> tuple[int, ...] | None:
    return None if kept["budgets"] is None else tuple(kept["budgets"])


def _space_json(space: Mapping[str, Any]) -> dict[str, str]:
    return {name: optuna.distributions.distribution_to_json(d) for name, d in space.items()}


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]
