"""What there is to say about a run, by name and in the user's sign: the source of every report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._types import FloatArray
from noisewise.answer.importance import Importance, among_newest, compared, modelled
from noisewise.answer.outlook import Outlook
from noisewise.answer.result import Result
from noisewise.answer.written import constrained
from noisewise.command.reading import named
from noisewise.command.template import ANY_SEED, Template
from noisewise.loop.optimizer import Optimizer
from noisewise.measured.diagnostics import CHECKS
from noisewise.measured.population import COMPARISON, CONFIRMATION, RACE, SEARCH
from noisewise.problem.space import Choice, Space
from noisewise.report import evaluations, versus
from noisewise.report.choices import settled
from noisewise.report.evaluations import Evaluations
from noisewise.report.versus import Versus
from noisewise.report.words import number, ranged, valued
from noisewise.run.comparison import CHALLENGER, INCUMBENT
from noisewise.run.run import Run

#: Parts of the budget that are named even if there are none of them.
_ALWAYS = ("new candidates", "re-evaluations", "confirming the answer", "not spent")


@dataclass(frozen=True)
class Spread:
    """How wide the search still is along a coordinate: a standard deviation to either side."""

    name: str
    value: str
    low: str
    high: str
    #: Place of the recommendation and the deviation, in parts of the range; None without one.
    at: float | None
    share: float | None
    #: The deviation over that at the start.
    narrowed: float


@dataclass(frozen=True)
class Check:
    """A diagnostic: its newest value, the threshold and whether it fires."""

    name: str
    value: float
    threshold: float
    side: str
    fires: bool
    meaning: str


@dataclass(frozen=True)
class Limits:
    """Measured constraints at the recommended point: estimated means (at most 0 is feasible) and
    standard errors, whether all are met and with which probability, and the same as text."""

    means: list[float]
    errors: list[float]
    feasible: bool
    chance: float
    said: str


@dataclass(frozen=True)
class Facts:
    """A run, as told to people. Values have the sign of the user's objective."""

    title: str
    method: str
    done: bool
    success: bool
    message: str
    warnings: list[str]
    maximize: bool
    recommended: dict[str, Any]
    luckiest: dict[str, Any]
    luckiest_value: float
    #: The estimate, its standard error and its interval; evaluations of the recommended point
    #: behind it, and how many of them failed.
    value: float
    se: float
    interval: tuple[float, float]
    measured: int
    measured_failed: int
    #: Whether the recommended point itself was measured, and what the estimate is.
    confirmed: bool
    kind: str
    #: How good the answer is and what more evaluations would buy.
    outlook: Outlook
    #: None where no constraints are measured.
    limits: Limits | None
    #: How the options of a list stand, as in a result; None without a list.
    options: dict[str, list[Any]] | None
    budget: int
    spent: int
    #: Evaluations still to come that measure the answer or choose it among finalists.
    kept: int
    generations: int
    #: Evaluations by what they were for.
    parts: dict[str, int]
    failures: int
    #: Disagreement of the ranks of re-evaluations, and how many are behind it.
    misranking: float
    misranking_n: int
    #: Whether repeated evaluations gave the very same values, as far as the method knows.
    exact: bool
    history: dict[str, FloatArray]
    spreads: list[Spread]
    #: Parameters by how much they mattered among the newest ``compared`` candidates, or to the
    #: model (then ``compared`` is 0).
    importances: list[Importance]
    compared: int
    checks: list[Check]
    residuals: FloatArray
    #: The command with the recommended values, if the run was one of a program, and what to know
    #: before using it.
    command: str
    command_note: str
    #: Name of the function or the program that was minimised; empty if it is not known.
    objective: str
    seed: int | None
    #: When the run began and was last written, in seconds since 1970; nan if not known.
    began: float
    written: float
    #: Ranges of the parameters as text, by name.
    ranges: dict[str, str]
    #: What the figures need: all evaluations, the point in coordinates, and bounds (2, d).
    evaluations: Evaluations
    x: FloatArray
    bounds: FloatArray
    space: Space | None
    #: Points and values of earlier data; None without any.
    earlier: tuple[FloatArray, FloatArray] | None = None
    #: Today's setting beside what was found; None without an incumbent.
    versus: Versus | None = None

    @property
    def answered(self) -> bool:
        """Whether there is something to recommend: a value, and no end without success."""
        return not math.isnan(self.luckiest_value) and (self.success or not self.done)

    @property
    def constant(self) -> bool:
        """Whether there is more than one value, and all are the same."""
        values = self.evaluations.values
        good = values[np.isfinite(values)]
        return len(good) > 1 and bool(np.ptp(good) == 0.0)


def of(opt: Optimizer, title: str) -> Facts:
    """The facts of a run, ended or not. What `Optimizer.extra` says about names
    (``"space"``: `Space.texts`) and program (``"command"``) is used."""
    result, run = opt.result(), opt.state
    told = opt.in_charge.explain(run.memory)
    space, history = _space(opt), dict(result.history)
    best = np.fmax if opt.maximize else np.fmin
    history["luckiest"] = best.accumulate(history["best_value"])
    recommended = _named(space, result.x)
    by_model = modelled(opt.in_charge, run, space)
    return Facts(
        title=title,
        method=str(result.method),
        done=opt.done,
        success=bool(result.success),
        message=str(result.message),
        warnings=list(result.warnings),
        maximize=opt.maximize,
        recommended=recommended,
        luckiest=_named(space, result.x_best_observed),
        luckiest_value=result.fun_best_observed,
        value=result.fun,
        se=result.fun_se,
        interval=result.interval,
        measured=int(result.n_confirmations),
        measured_failed=int(result.n_confirmations_failed),
        confirmed=result.estimate != "unknown",
        kind=str(result.estimate),
        outlook=result.outlook,
        limits=_limits(result, opt.extra),
        options=result.get("options"),
        budget=opt.budget,
        spent=opt.spent,
        kept=run.ledger.reserve if run.final is None else run.ledger.budget - run.ledger.told,
        generations=int(result.nit),
        parts=_parts(run, int(result.n_confirmations) if opt.done else None),
        failures=int(result.n_failures),
        misranking=float(result.misranking),
        misranking_n=int(result.misranking_n),
        exact=told.deterministic is True or result.estimate == "exact",
        history=history,
        spreads=_spreads(opt, space, result.x),
        importances=by_model or among_newest(run, space),
        compared=0 if by_model else compared(run),
        checks=_checks(result.diagnostics),
        residuals=told.residuals,
        command=_command(opt.extra, recommended),
        command_note=f"any seed does; here {ANY_SEED}" if opt.extra.get("seeds") else "",
        objective=_objective(opt),
        seed=run.seed,
        began=opt.about.began,
        written=opt.written,
        ranges=_ranges(opt, space),
        evaluations=evaluations.of(run, -1.0 if opt.maximize else 1.0),
        earlier=_earlier(run, space),
        x=result.x,
        bounds=np.array(run.setup.box.bounds),
        space=space,
        versus=versus.of(result, lambda x: _named(space, x)),
    )


def _earlier(run: Run, space: Space | None) -> tuple[FloatArray, FloatArray] | None:
    """Earlier data in the user's coordinates and sign; failures are nan."""
    if not len(run.brought):
        return None
    y = run.brought[:, -1]
    X = settled(space, run.setup.box.outer(run.brought[:, :-1]))
    return X, np.where(np.isfinite(y), -y if run.maximize else y, math.nan)


def _limits(result: Result, extra: dict[str, Any]) -> Limits | None:
    if "constraints" not in result:
        return None
    means, errors, chance = result.constraints, result.constraints_se, float(result.p_feasible)
    names = named(extra.get("limits"), means.tolist(), errors.tolist())
    said = constrained(means, errors, chance, names)
    return Limits(means.tolist(), errors.tolist(), bool(result.feasible), chance, said)


def _objective(opt: Optimizer) -> str:
    """What was minimised, in a word or two."""
    command = opt.extra.get("command")
    if isinstance(command, list) and command:
        return " ".join(str(word) for word in command)
    kept = opt.about.objective or {}
    return kept.get("name", "").removeprefix("__main__.")


def _ranges(opt: Optimizer, space: Space | None) -> dict[str, str]:
    if space is not None:
        return {name: ranged(text) for name, text in space.texts.items()}
    low, high = opt.state.setup.box.bounds
    return {
        f"x{j}": f"{number(a)} to {number(b)}" if a < b else "fixed"
        for j, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True), start=1)
        if math.isfinite(b - a)
    }


def _parts(run: Run, confirmed: int | None) -> dict[str, int]:
    """Evaluations whose values are known, by what they were for, and the rest of the budget.
    ``confirmed`` of them are behind the estimate of a run that has ended."""
    ledger = run.ledger
    waiting = {SEARCH: 0, RACE: 0, CONFIRMATION: 0, COMPARISON: 0}
    again = 0
    for part in run.parts:
        waiting[part.kind] += len(part.pending)
        if part.kind == SEARCH:
            again += sum(slot > 0 for _, slot in part.pending.values())
    measured = ledger.confirmation - waiting[CONFIRMATION] - waiting[COMPARISON]
    behind = measured if confirmed is None else min(confirmed, measured)
    both = 0
    if run.comparison is not None:
        both = sum(len(run.comparison.at(row)) for row in (INCUMBENT, CHALLENGER))
        behind = 0
    parts = {
        "new candidates": ledger.base - (waiting[SEARCH] - again),
        "re-evaluations": ledger.reevaluation - again,
        "choosing between finalists": ledger.race - waiting[RACE],
        "measuring earlier answers": measured - behind - both,
        "comparing with today": both,
        "confirming the answer": behind,
        "not spent": ledger.budget - ledger.told,
    }
    return {what: n for what, n in parts.items() if n or what in _ALWAYS}


def _space(opt: Optimizer) -> Space | None:
    """The space that is kept with the run, if it is one of this dimension."""
    if opt.space is not None:
        return opt.space
    try:
        space = Space(opt.extra["space"])
    except (KeyError, TypeError, ValueError):
        return None
    return space if space.dimension == opt.dimension else None


def _named(space: Space | None, x: FloatArray) -> dict[str, Any]:
    if space is not None:
        return space.decode(x)
    return {f"x{j}": float(value) for j, value in enumerate(x, start=1)}


def _spreads(opt: Optimizer, space: Space | None, x: FloatArray) -> list[Spread]:
    names = space.coordinates if space else [f"x{j}" for j in range(1, len(x) + 1)]
    setup, deviations = opt.state.setup, opt.deviations
    box, found = setup.box, []
    for i, j in enumerate(np.flatnonzero(np.less(*box.bounds))):  # the others are fixed
        name, deviation = names[j], float(deviations[j])
        if space is not None and name not in space.parameters:  # a part of a choice
            continue
        low, high, at = float(box.low[i]), float(box.high[i]), float(x[j])
        ends = max(low, at - deviation), min(high, at + deviation)
        value, below, above = (_shown(space, name, u) for u in (at, *ends))
        width = high - low
        closed = math.isfinite(width)
        place, share = ((at - low) / width, deviation / width) if closed else (None, None)
        narrowed = deviation / float(setup.sigma * box.scale[i])
        found.append(Spread(name, value, below, above, place, share, narrowed))
    return found


def _shown(space: Space | None, name: str, u: float) -> str:
    """A coordinate as its parameter's value."""
    p = space.parameters.get(name) if space else None
    return number(u) if p is None or isinstance(p, Choice) else valued(p.decode(np.array([u])), 4)


def _checks(diagnostics: dict[str, FloatArray]) -> list[Check]:
    found = []
    for name, (threshold, side, meaning) in CHECKS.items():
        known = diagnostics.get(name, np.empty(0))
        if len(known) and not math.isnan(known[-1]):
            value = float(known[-1])
            fires = value > threshold if side == "above" else value < threshold
            found.append(Check(name, value, threshold, side, fires, meaning))
    return found


def _command(extra: dict[str, Any], recommended: dict[str, Any]) -> str:
    try:
        return Template(tuple(extra["command"]), extra["shell"] is True).shown(recommended)
    except (KeyError, TypeError, ValueError):
        return ""
