"""The last evaluations of a run: which finalist to return, and how good it is.

First a race between finalists, then fresh evaluations of its winner. The values of the race
chose the winner, so they never estimate it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from noisewise import constrained, race
from noisewise._types import FloatArray, IntArray
from noisewise.methods.method import Method
from noisewise.noise.estimate import Estimate, estimate
from noisewise.population import CONFIRMATION, RACE, Population
from noisewise.reserve import Reserve, in_batches, pace, reserve
from noisewise.result import RUNNING
from noisewise.run import Final, Run

#: Rounds from which on only some are looked at for the shape of the noise.
_NOTED = 64


class Wanted(NamedTuple):
    """Points to evaluate (inner coordinates), which of them how often, and what for."""

    X: FloatArray
    wanted: IntArray
    kind: str


def request(method: Method, run: Run) -> Wanted:
    """The search is over: test whether there is noise at all where that is not known, let
    finalists race, and measure the winner with all that is left."""
    setup, ledger = run.setup, run.ledger
    if run.final is None:
        points = method.finalists(run.memory)
        if run.background.deterministic or setup.race == 0:
            points = method.recommend(run.memory).x[None]
        points = constrained.safe(run, points)
        run.final = Final(points, race.start(len(points), min(setup.race, ledger.remaining)))
        test = setup.adaptive and run.background.untested and setup.batch == 0
        if test and ledger.remaining > 2:
            run.final.testing = True
            return Wanted(points[:1], np.zeros(2, dtype=np.intp), CONFIRMATION)
    wanted = race.request(run.final.race)
    if 0 < len(wanted) <= ledger.remaining:
        return Wanted(run.final.finalists, wanted, RACE)
    wanted = np.zeros(ledger.remaining, dtype=np.intp)
    return Wanted(run.final.chosen[None], wanted, CONFIRMATION)


def settle(run: Run, population: Population) -> None:
    """All values of points that are no candidates are there."""
    values, errors, last = population.samples.values, population.samples.errors, run.final
    assert last is not None
    run.background = run.background.compared(values)
    run.current = None
    if population.kind == RACE:
        alive = last.race.alive
        told = None if errors is None else errors[alive].ravel()
        last.race = race.settle(last.race, values[alive].ravel(), told)
    elif last.testing:
        last.testing, last.tested = False, values[0]
        last.tested_errors = None if errors is None else errors[0]
        if run.background.deterministic:
            run.final = None
            run.seen.add(population.X, values)
            _keep(run, reserve(run.ledger.budget, run.setup.dimension, True))
    else:
        _confirm(run, last, values[0], None if errors is None else errors[0])


def _confirm(run: Run, last: Final, values: FloatArray, errors: FloatArray | None) -> None:
    """Keep the values of the chosen point. Those of the test for noise count too, unless a race
    came after it."""
    unraced = last.race.winner == 0 and last.race.values.shape[1] == 0
    kept, old = np.empty(0), None
    if run.is_confirmed(last.chosen):  # before the budget grew
        kept, old = run.confirmed, run.confirmed_errors
    elif unraced:
        kept, old = last.tested, last.tested_errors
    if len(last.tested) and not unraced:  # else nothing would remember them
        run.seen.add(last.finalists[:1], last.tested[None])
    last.tested, last.tested_errors = np.empty(0), None
    if len(kept):
        errors = None if old is None or errors is None else np.concatenate((old, errors))
    run.confirmed, run.confirmed_errors = np.concatenate((kept, values)), errors
    run.confirmed_at = last.chosen.copy()


def look_at_noise(method: Method, run: Run, population: Population) -> None:
    """Take note of what a round says about the noise, and keep evaluations accordingly."""
    setup, samples = run.setup, population.samples
    if not setup.adaptive and setup.confirm == 0:
        return
    # Later rounds say little new.
    if run.round < _NOTED or run.round % _NOTED == 0:
        run.background = run.background.saw(samples.first)
    if run.background.differed == 0:  # one difference settles it
        run.background = run.background.compared(samples.values)
    if not setup.adaptive:
        return
    exact = run.background.deterministic
    near, races = run.ledger.free <= 4 * len(population.X), method.races(run.memory)
    if exact != (setup.race + setup.confirm <= 1) or near or (setup.race and not races):
        history, speed = run.history.as_dict(), 0.0
        if near and "sigma" in history:
            speed = pace(history["evaluations"], history["sigma"])
        _keep(run, reserve(run.ledger.budget, setup.dimension, exact, speed, races))


def regrant(run: Run, budget: int) -> None:
    """Let the run spend ``budget`` evaluations in all, at least those that are charged. A run that
    has ended goes on."""
    setup = run.setup
    run.ledger.budget, run.regranted = budget, True
    run.status, run.barren, run.fruitless = RUNNING, 0, 0
    wanted = Reserve(0, setup.confirm)
    if setup.adaptive:
        wanted = reserve(budget, setup.dimension, run.background.deterministic)
    _keep(run, wanted)


def _keep(run: Run, wanted: Reserve) -> None:
    """Keep so many evaluations for the last phase, as far as there are any."""
    ledger = run.ledger
    kept, batch = sum(wanted), run.setup.batch
    if batch:
        wanted = Reserve(0, wanted.confirm)
        kept = in_batches(wanted, ledger.budget, run.batch_end, batch, run.setup.adaptive)
    ledger.reserve = min(kept, ledger.remaining)
    budget = max(1, ledger.budget - ledger.reserve - ledger.race - ledger.confirmation)
    run.setup = replace(run.setup, budget=budget, race=wanted.race, confirm=wanted.confirm)


def recommend(method: Method, run: Run) -> tuple[FloatArray, Estimate]:
    """The point to use (outer coordinates), with an honest estimate of f there."""
    x, fun = method.recommend(run.memory)
    setup, best = run.setup, run.best_value
    # The luckiest draw is no answer where it may have been lucky about its constraints, too.
    exact = setup.adaptive and (run.limits is None or _best_is_feasible(run))
    if setup.batch and exact and run.background.deterministic:
        # A whole batch would be too much for a value that is known.
        return run.best_x.copy(), Estimate(best, 0.0, best, best, "exact", 1)
    x = constrained.safe(run, x[None])[0] if run.final is None else run.final.chosen
    if len(run.confirmed) and run.is_confirmed(x):
        found = estimate(run.confirmed, run.confirmed_errors, run.background)
        if found.kind == "exact" and exact and run.best_value < found.value:
            # Without noise the best value seen is what it seems.
            value = run.best_value
            return run.best_x.copy(), replace(found, value=value, low=value, high=value)
        # One value left over says less about f than the last round does.
        asked_for = run.setup.adaptive or run.setup.confirm > 0
        if asked_for or found.n > 1 or math.isnan(fun):
            return run.setup.box.outer(x), found
    return run.setup.box.outer(x), Estimate(fun, math.nan, math.nan, math.nan)


def _best_is_feasible(run: Run) -> bool:
    best = run.setup.box.inner(run.best_x)
    return run.limits is not None and bool(run.limits.sure(best[None])[0])
