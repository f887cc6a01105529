"""What there is to say about a run as it stands, computed when it is asked for.

A run that goes on changes in place. So before it does, `search` completes the snapshot that was
taken of it, if somebody still holds it; one that nobody holds any more costs nothing.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from functools import cache, cached_property
from threading import RLock
from typing import Any

import numpy as np

from noisewise._types import FloatArray
from noisewise.answer import evaluations, importance, options, outlook, sentences, today
from noisewise.answer.today import Today
from noisewise.measured.estimate import Estimate
from noisewise.methods.method import Explanation
from noisewise.problem.space import Space
from noisewise.run.beside_start import said
from noisewise.run.run import BUDGET_SPENT, RUNNING, STOPPED
from noisewise.run.search import Search


class Snapshot:
    """The entries of a result. ``constrained``: it has those of constraints even if none were
    measured."""

    def __init__(self, search: Search, space: Space | None = None, constrained: bool = False):
        run = search.run
        limited = constrained or run.limits is not None
        listed, compared = run.setup.options is not None, run.comparison is not None
        self.names = _names(limited, space is not None, listed, compared)
        self._view: View | None = View(search, space)
        self._known: dict[str, Any] = {}
        #: Another thread may ask for entries while the run is about to go on.
        self._lock = RLock()

    def entry(self, name: str) -> Any:
        """One of `names`."""
        with self._lock:
            if self._view is not None and name not in self._known:
                self._known[name] = _ENTRIES[name](self._view)
            if name == _DEFERRED and callable(self._known[name]):
                self._known[name] = self._known[name]()
            return self._known[name]

    def complete(self) -> None:
        """Compute all entries: the run is about to change."""
        with self._lock:
            for name in self.names:
                if name == _DEFERRED and self._view is not None:
                    self._known.setdefault(name, _ENTRIES[name](self._view))
                else:
                    self.entry(name)
            self._view = None


def of(search: Search, space: Space | None = None, constrained: bool = False) -> Snapshot:
    """A snapshot of the run, the one that somebody holds already if there is one."""
    found = None if search.snapshot is None else search.snapshot()
    if found is None:
        found = Snapshot(search, space, constrained)
        search.snapshot = weakref.ref(found)
    return found


class View:
    """A run that stands still, read only; what several entries need is computed once."""

    def __init__(self, search: Search, space: Space | None) -> None:
        self.search, self.run, self.space = search, search.run, space

    @cached_property
    def recommended(self) -> tuple[FloatArray, Estimate]:
        return self.search.recommend()

    @cached_property
    def today(self) -> Today:
        return Today(self.search, self.search.done, self.params)

    @property
    def best(self) -> Estimate:
        return self.recommended[1]

    @cached_property
    def explained(self) -> Explanation:
        return self.run.explain(self.search.method)

    @cached_property
    def luckiest(self) -> tuple[FloatArray, float]:
        """The luckiest draw, the values of populations under way included."""
        run = self.run
        where, value = run.best_x.copy(), run.best_value
        for part in run.parts:
            i, smallest = part.lowest() if len(part) else (0, math.inf)
            if smallest < value:
                where, value = run.setup.box.outer(part.X[i]), smallest
        return where, value

    @property
    def lucky(self) -> bool:
        """Whether any evaluation succeeded."""
        return self.luckiest[1] < math.inf

    @property
    def status(self) -> int:
        status = self.run.status
        return BUDGET_SPENT if status == RUNNING and self.search.done else status

    @property
    def success(self) -> bool:
        fine = self.status in (BUDGET_SPENT, STOPPED) and self.lucky and not self.best.failed
        return fine and (self.run.limits is None or self.constraints[2])

    @cached_property
    def constraints(self) -> tuple[FloatArray, FloatArray, bool, float]:
        """Estimates of the constraints at the recommended point, their standard errors, whether
        all are met and with which probability; nothing where every evaluation failed."""
        limits = self.run.limits
        if limits is None:
            return np.empty(0), np.empty(0), False, math.nan
        x = self.run.setup.box.inner(self.recommended[0])[None]
        g, s = limits.predict(x)
        return g[:, 0], s[:, 0], bool((g <= 0.0).all()), float(limits.chance(x)[0])

    @property
    def history(self) -> dict[str, FloatArray]:
        """The history, values in the user's sign."""
        history = self.run.history.as_dict()
        if self.run.maximize:
            for name in ("mean_value", "best_value"):
                history[name] = -history[name]
        return history

    @property
    def message(self) -> str:
        more = (self.explained.message, self.explained.earlier, said(self.run))
        exact = self.explained.deterministic is True
        return sentences.message(self.run, self.status, self.best, more, self.lucky, exact)

    @property
    def warnings(self) -> list[str]:
        run, name = self.run, self.search.chosen.name
        said = sentences.warnings(run, self.best, self.status, name) + self.explained.warnings
        if run.limits is not None and not self.constraints[2]:
            said.append(sentences.infeasible(self.constraints[3]))
        return said

    def params(self, x: FloatArray) -> dict[str, Any] | None:
        """Values by name, where the problem has a space."""
        return None if self.space is None else self.space.decode(x)

    @property
    def options(self) -> dict[str, list[Any]]:
        """How the options of a list stand."""
        standings = self.explained.standings
        assert standings is not None
        assert self.space is not None
        return options.table(standings, self.space, self.run.maximize)

    @property
    def best_observed(self) -> FloatArray:
        return self.luckiest[0] if self.lucky else self.recommended[0]

    @property
    def value_observed(self) -> float:
        sign = -1.0 if self.run.maximize else 1.0
        return sign * self.luckiest[1] if self.lucky else math.nan


def _of_today(entry: Callable[[Today], Any]) -> Callable[[View], Any]:
    return lambda view: entry(view.today)


_ENTRIES: dict[str, Callable[[View], Any]] = {
    "x": lambda v: v.recommended[0],
    "fun": lambda v: v.best.value,
    "fun_se": lambda v: v.best.se,
    "interval": lambda v: v.best.interval,
    "estimate": lambda v: v.best.kind,
    "set_aside": lambda v: v.best.set_aside,
    "mean_of_all": lambda v: v.best.mean_of_all,
    "agreed": lambda v: v.run.evidence.agreed,
    "differed": lambda v: v.run.evidence.differed + v.run.evidence.contradicted,
    "x_best_observed": lambda v: v.best_observed,
    "fun_best_observed": lambda v: v.value_observed,
    "nfev": lambda v: v.run.ledger.told,
    "nit": lambda v: v.run.round,
    "n_reevaluations": lambda v: v.run.ledger.reevaluation,
    "n_failures": lambda v: v.run.ledger.failures,
    "method": lambda v: v.search.chosen.name,
    "misranking": lambda v: v.run.evidence.misranking,
    "misranking_n": lambda v: v.run.evidence.reevaluations,
    "n_confirmations": lambda v: v.best.n + v.best.failures,
    "n_confirmations_failed": lambda v: v.best.failures,
    "outlook": lambda v: outlook.of(v.search, v.best),
    "evaluations": lambda v: evaluations.deferred(v.run, v.space),
    "importance": lambda v: importance.table(v.search.method, v.run, v.space),
    "history": lambda v: v.history,
    "diagnostics": lambda v: v.explained.diagnostics,
    "warnings": lambda v: v.warnings,
    "success": lambda v: v.success,
    "status": lambda v: v.status,
    "message": lambda v: v.message,
    "maximize": lambda v: v.run.maximize,
    "constraints": lambda v: v.constraints[0],
    "constraints_se": lambda v: v.constraints[1],
    "feasible": lambda v: v.constraints[2],
    "p_feasible": lambda v: v.constraints[3],
    "params": lambda v: v.params(v.recommended[0]),
    "params_best_observed": lambda v: v.params(v.best_observed),
    "options": lambda v: v.options,
} | {name: _of_today(entry) for name, entry in today.ENTRIES.items()}
#: Made when it is asked for even where the run goes on: it may be long.
_DEFERRED = "evaluations"
_LIMITED = ("constraints", "constraints_se", "feasible", "p_feasible")
_NAMED = ("params", "params_best_observed")
_LISTED = ("options",)


@cache
def _names(limited: bool, named: bool, listed: bool, compared: bool) -> tuple[str, ...]:
    """Names of the entries, with or without those of constraints, of named parameters, of a list
    of options and of an incumbent."""
    without: tuple[str, ...] = () if limited else _LIMITED
    without += () if named else _NAMED
    without += () if listed else _LISTED
    without += () if compared else tuple(today.ENTRIES)
    return tuple(name for name in _ENTRIES if name not in without)
