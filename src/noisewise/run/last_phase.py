"""The last evaluations of a run: which finalist to return, and how good it is.

First a race between finalists, then fresh evaluations of its winner. The values of the race
chose the winner, so they never estimate it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from noisewise._types import FloatArray, IntArray
from noisewise.measured.estimate import Estimate, estimate
from noisewise.measured.population import COMPARISON, CONFIRMATION, RACE, Population
from noisewise.measured.samples import agree, evaluations
from noisewise.methods.method import Method
from noisewise.run import beside_start, comparing, fallback, feasibility, recheck
from noisewise.run.comparison import LEAST
from noisewise.run.recheck import Final, Recheck
from noisewise.run.reserve import Reserve, in_batches, pace
from noisewise.run.run import Run
from noisewise.select import race

#: Evaluations that are worth going back to the search for.
_ROUND = 4


class Wanted(NamedTuple):
    """Points to evaluate (inner coordinates), which of them how often, and what for."""

    X: FloatArray
    wanted: IntArray
    kind: str


def request(method: Method, run: Run) -> Wanted:
    """The search is over: measure a few points again where no noise was seen, let finalists race
    where some was, and measure the point to return with all that is left."""
    ledger = run.ledger
    if run.final is None:
        run.final = _begin(method, run)
    check = run.final.recheck
    if check is not None and not check.asked:
        return Wanted(check.points, recheck.request(check, _to_recheck(run, check)), CONFIRMATION)
    fallback.move_on(method, run)
    wanted = race.request(run.final.race)
    if 0 < len(wanted) <= ledger.remaining:
        return Wanted(run.final.finalists, wanted, RACE)
    comparing.challenge(run)
    if run.comparison is not None:
        turns = run.comparison.request(comparing.wave(run))
        return Wanted(run.comparison.points, turns, COMPARISON)
    wanted = np.zeros(fallback.wave(run), dtype=np.intp)
    return Wanted(run.final.chosen[None], wanted, CONFIRMATION)


def _begin(method: Method, run: Run) -> Final:
    """The last phase before its first evaluation."""
    seen, setup = run.evidence, run.setup
    if setup.options is not None:  # the search was the race
        x = feasibility.safe(run, method.recommend(run.memory).x[None])
        return Final(comparing.rivals(method, run, x), race.start(1, 0))
    if not setup.adaptive or setup.race_part or not (seen.untested or seen.exact):
        return _race(method, run)
    x = feasibility.safe(run, method.recommend(run.memory).x[None])
    (best, strict), strange = _best(run), []
    if not seen.outliers and run.evidence.recent.rounds:
        found = recheck.strangest(*run.evidence.recent.points()[:2])
        strange = [one for one in found if not _doubted(run, one[0])]
    return Final(x, race.start(1, 0), recheck.start(x[0], best, strange, strict))


def _best(run: Run) -> tuple[tuple[FloatArray, float] | None, bool]:
    """The point with the smallest value that may be right, and this value; None: there is none.
    Where the smallest value of all turned out to be wrong, the smallest of the recent ones that
    is not far below those around it takes its place. And whether the value is far below them."""
    if run.best_value == math.inf or not (run.limits is None or _best_is_feasible(run)):
        return None, True
    rounds = [evaluations(*one) for one in run.evidence.recent.rounds]
    X = np.concatenate([np.empty((0, run.setup.dimension)), *(X for X, _ in rounds)])
    y = np.concatenate([np.empty(0), *(y for _, y in rounds)])
    right = np.flatnonzero([not _doubted(run, x) for x in X])
    other = recheck.lowest(X[right], y[right])
    best = run.setup.box.inner(run.best_x), run.best_value
    strict = other is None or best[1] < other[1]
    if not _doubted(run, best[0]) and not (strict and recheck.denied(X, y, *best)):
        return best, strict
    return (None if run.limits is not None else other), False


def _doubted(run: Run, x: FloatArray) -> bool:
    return any(np.array_equal(x, other) for other in run.doubted)


def _to_recheck(run: Run, check: Recheck) -> int:
    """Evaluations of a check: one more where nothing is known about the noise, but one is left for
    the point to return; all that is left in batches and with several workers."""
    left = run.ledger.remaining
    if run.flows and run.comparison is None:  # no worker waits for a second look
        return left
    kept = 1 if run.comparison is None else LEAST
    return min(max(1, left - kept), len(check.points) + int(run.evidence.untested))


def _race(method: Method, run: Run) -> Final:
    """A race of the finalists, or their first one where none was provided for."""
    setup = run.setup
    found = method.finalists(run.memory) if setup.race else method.recommend(run.memory).x[None]
    beside = beside_start.finalists(method, run)
    found = feasibility.safe(run, found) if beside is None else beside
    points = comparing.rivals(method, run, found)
    evaluations = min(setup.race, run.ledger.remaining)
    return Final(points, race.start(len(points), evaluations, setup.target == "median"))


def settle(method: Method, run: Run, population: Population) -> None:
    """All values of points that are no candidates are there."""
    values, errors, last = population.samples.values, population.samples.errors, run.final
    assert last is not None
    if population.kind == RACE:
        run.evidence.compared(values)
        at = race.places(last.race)
        told = None if errors is None else errors[at]
        last.race = race.settle(last.race, values[at], told)
    elif last.recheck is not None and not last.recheck.asked:
        _rechecked(method, run, replace(last.recheck, values=values, errors=errors))
    else:
        run.evidence.compared(values)
        if population.kind == COMPARISON:
            _holds(run, last, comparing.settle(run, population))
            comparing.challenge(run)
        else:
            _confirm(run, last, values[0], None if errors is None else errors[0])


def _rechecked(method: Method, run: Run, check: Recheck) -> None:
    """Some points were measured again: go on with the search where it turns out that there is no
    noise, and with a race where there is."""
    untested, last = run.evidence.untested, run.final
    assert last is not None
    last.recheck = check
    seen = run.evidence
    _learn(run, check)
    doubted = [
        x for i, x in enumerate(check.points) if i and not (i == check.best and check.best_holds)
    ]
    run.doubted = np.array([*run.doubted, *doubted]).reshape(-1, run.setup.dimension)
    if not seen.exact:
        if seen.discrete:  # values such as won and lost come again by chance
            check = replace(check, best=0)
        run.final = last = replace(_race(method, run), recheck=check)
    elif untested and not run.flows:
        wanted = comparing.wanted(run, exact=True)
        if run.ledger.remaining >= sum(wanted) + _ROUND:
            run.final = None
            run.evidence.recent.add(check.points, check.values)
            _keep(run, wanted)
            return
    _take(run, last, check)


def _learn(run: Run, check: Recheck) -> None:
    """Take in what a check says about the noise. The best point and the strangest one were
    chosen for their values, so that these count apart."""
    seen = run.evidence.compared(check.values[:1])
    for i, known in enumerate(check.known.tolist()):
        if not math.isnan(known):
            seen.checked(known, check.at(i))
    if seen.contradicted or seen.differed:
        share = recheck.strange_share(seen.recent.points()[1]) if seen.recent.rounds else 0.0
        least = 1.0 / max(1, run.ledger.told) if check.contradicted else 0.0
        seen.outlier_share = max(seen.outlier_share, share, least)


def _take(run: Run, last: Final, check: Recheck) -> None:
    """Count the values of a check that measured the point to return."""
    if len(check.at(check.answer)):
        run.confirmed, run.confirmed_errors = check.at(check.answer), check.errors_at(check.answer)
        run.confirmed_at = last.chosen.copy()


def _confirm(run: Run, last: Final, values: FloatArray, errors: FloatArray | None) -> None:
    """Keep the values of the chosen point, with those that are known already."""
    kept, old = np.empty(0), None
    if run.is_confirmed(last.chosen):
        kept, old = run.confirmed, run.confirmed_errors
    if len(kept):
        errors = None if old is None or errors is None else np.concatenate((old, errors))
    run.confirmed, run.confirmed_errors = np.concatenate((kept, values)), errors
    run.confirmed_at = last.chosen.copy()
    _holds(run, last, values)


def _holds(run: Run, last: Final, values: FloatArray) -> None:
    """After further values of the chosen point: was it chosen for a value that was wrong?"""
    check = last.recheck
    if check is not None and check.best_wins:
        last.recheck = check = check.more(values)
        if not check.best_holds:  # it was an outlier after all
            _take(run, last, check)


def keep(method: Method, run: Run, near: bool = False) -> None:
    """Keep as many evaluations as what is known about the noise asks for; ``near`` the end, fewer
    where the search still makes progress."""
    exact = run.evidence.exact
    history, speed = run.history.as_dict() if near else {}, 0.0
    if "sigma" in history:
        speed = pace(history["evaluations"], history["sigma"])
    run.exact = exact
    _keep(run, beside_start.kept(run, comparing.wanted(run, exact, speed, method.races)))


def regrant(method: Method, run: Run, budget: int) -> None:
    """Let the run spend ``budget`` evaluations in all, at least those that are charged."""
    run.ledger.budget, run.regranted = budget, True
    if run.setup.adaptive:
        keep(method, run)
    else:
        _keep(run, Reserve(0, run.setup.confirm))


def _keep(run: Run, wanted: Reserve) -> None:
    """Keep so many evaluations for the last phase, as far as there are any."""
    ledger, setup, batch = run.ledger, run.setup, run.setup.batch
    if batch or (run.flows and not setup.race_part):
        wanted = wanted.measured()
    kept = sum(wanted)
    if batch:
        used = run.handed + run.batch_left
        kept = in_batches(wanted, ledger.budget, used, batch, setup.adaptive)
    ledger.reserve = min(kept, ledger.remaining)
    budget = max(1, ledger.budget - ledger.reserve - ledger.race - ledger.confirmation)
    run.setup = replace(setup, budget=budget, race=wanted.race, confirm=wanted.confirm)


def recommend(method: Method, run: Run) -> tuple[FloatArray, Estimate]:
    """The point to use (outer coordinates), with an honest estimate of f there."""
    box, setup = run.setup.box, run.setup
    if run.comparison is not None:
        stands = comparing.standing(method, run)
        return box.outer(stands.answer(run)), stands.estimate
    x, fun, _ = method.recommend(run.memory)
    x = feasibility.safe(run, x[None])[0] if run.final is None else run.final.chosen
    if len(run.confirmed) and run.is_confirmed(x):
        found = estimate(*_values_at(run, x), run.evidence, setup.target)
        # One value left over says less about f than the last round does.
        asked_for = setup.adaptive or setup.confirm > 0
        if asked_for or found.n > 1 or math.isnan(fun):
            return box.outer(x), found
    return box.outer(x), Estimate(fun, math.nan, math.nan, math.nan)


def _values_at(run: Run, x: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Values of the point to return and their known errors. The value of the search counts if
    it came again; otherwise it may have been the reason to choose the point."""
    values, errors = run.confirmed, run.confirmed_errors
    check = None if run.final is None else run.final.recheck
    if check is not None and errors is None and np.array_equal(check.points[check.answer], x):
        known = float(check.known[check.answer])
        if agree(values, known).all():
            values = np.append(values, known)
    return values, errors


def _best_is_feasible(run: Run) -> bool:
    best = run.setup.box.inner(run.best_x)
    return run.limits is not None and bool(run.limits.sure(best[None])[0])
