"""Turns what a method asks for into trials: ids, places of their values, seeds."""

from __future__ import annotations

import numpy as np

from noisewise._types import FloatArray, IntArray
from noisewise.measured.population import COMPARISON, CONFIRMATION, RACE, SEARCH, Population
from noisewise.methods.method import Method
from noisewise.problem.trial import Trial
from noisewise.run import seeding
from noisewise.run.run import Run

#: Parts of the initial step size by which a measurement of the recommended point may be off.
_SAME_POINT = 0.05
_KINDS = {RACE: "finalist", CONFIRMATION: "confirmation", COMPARISON: "comparison"}


def issue(method: Method, run: Run, population: Population, wanted: IntArray) -> bool:
    """Have trials wait for the candidates that are wanted, as far as the ledger allows; whether
    there are any."""
    if population.wave == 0 and population.twice:
        wanted = seeding.twice(wanted, len(population.X))
    places = population.places(wanted.tolist())[: run.ledger.free]
    if not places:
        return False
    slots = [slot for _, slot in places]
    first = slots.count(0)
    run.ledger.charge(base=first, reevaluation=len(places) - first)
    ids = run.new_ids(len(places))
    population.samples.extend(1 + max(slots))
    _issue(method, run, population, places, ids)
    return True


def points(method: Method, run: Run, X: FloatArray, wanted: IntArray, kind: str) -> Population:
    """Points of the last phase, ``wanted`` of which trials wait for."""
    population = Population.of(X, X)
    population.kind, population.near_enough = kind, _SAME_POINT * run.setup.sigma
    places = population.places(wanted.tolist())
    n = len(places)
    population.samples.extend(1 + max((slot for _, slot in places), default=0))
    race = n if kind == RACE else 0
    run.ledger.charge_final(race=race, confirmation=n - race)
    _issue(method, run, population, places, run.new_ids(len(places)))
    return population


def _issue(
    method: Method, run: Run, population: Population, places: list[tuple[int, int]], ids: range
) -> None:
    """Trials ``ids`` for these candidates and slots, with their seeds."""
    population.issue(ids, places)
    if run.seeds is not None:
        number = seeding.number(method, run, population.number)
        seeding.seed(method, run, population, ids, places, number)


def place(run: Run, ids: list[int]) -> None:
    """Points that the user wants measured next take the places of candidates among these trials,
    those that were never handed out."""
    for id in ids:
        part = run.holder(id)
        assert part is not None
        i, slot = part.pending[id]
        if part.kind != SEARCH or slot or not np.isnan(part.samples.values[i]).all():
            continue
        if not run.wished:
            return
        part.move(i, run.wished.pop(0), run.setup.box, measured=False)
        part.placed.append(i)


def trials(run: Run, ids: list[int]) -> list[Trial]:
    """The trials with these ids, in this order."""
    box, found = run.setup.box, {}
    for part in run.parts:
        mine = [id for id in ids if id in part.pending]
        places = [part.pending[id] for id in mine]
        rows = box.outer(part.X[[i for i, _ in places]]) if mine else ()
        for id, x, (i, slot) in zip(mine, rows, places, strict=True):
            again = "candidate" if slot == 0 else "reevaluation"
            seed = int(part.seeds[i, slot]) if len(part.seeds) else None
            found[id] = Trial(id, x, again if part.kind == SEARCH else _KINDS[part.kind], seed=seed)
    return [found[id] for id in ids]
