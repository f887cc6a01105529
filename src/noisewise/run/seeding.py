"""Which seeds the trials of a run get: functions that `search` calls; `seeds` decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from noisewise._types import IntArray
from noisewise.cma.weights import Log
from noisewise.measured.population import COMPARISON, SEARCH, Population
from noisewise.methods.method import Method
from noisewise.run.run import Run
from noisewise.run.seeds import affordable, agreement

#: Seeds that take turns in the rounds of a model, and how often each is used.
_TURNS, _USES = 8, 8


def compares(method: Method, run: Run, k: int, round: int) -> bool:
    """Whether a round of ``k`` candidates is evaluated twice, to compare its mean steps. A model
    proposes too few at a time for that, and weighs more than their order."""
    if run.seeds is None or method.together > 1 or not method.sampled:
        return False
    if not run.seeds.compares(round):
        return False
    return affordable(run.ledger.free, k, run.seeds.begun)


def shares(method: Method, run: Run, k: int, round: int) -> bool:
    """Whether the ``k`` candidates of a round share their seeds."""
    if run.seeds is None:
        return False
    return run.seeds.shared(round, compares(method, run, k, round))


def number(method: Method, run: Run, round: int) -> int:
    """The number by which a round knows its common seeds. A model proposes few candidates at a
    time, so several rounds share them: a few seeds take turns, then a few others do. In turns,
    because candidates of subsequent rounds are close to each other, and what a seed adds differs
    from place to place: the model would take that for the shape of the function."""
    if not method.size(run.memory, run.now).singly:
        return round
    return round // (_TURNS * _USES) * _TURNS + round % _TURNS


def twice(wanted: IntArray, k: int) -> IntArray:
    """``wanted``, and every candidate that is not in there twice as often as it takes."""
    missing = np.maximum(0, 2 - np.bincount(wanted, minlength=k))
    return np.concatenate((wanted, np.repeat(np.arange(k), missing)))


def seed(
    method: Method,
    run: Run,
    population: Population,
    ids: Sequence[int],
    places: Sequence[tuple[int, int]],
    round: int,
) -> None:
    """Give trials ``ids`` their seeds: those of the round and slot where candidates share them, the
    same where some belong together; else, and for every point that is no candidate, their own."""
    if run.seeds is None:
        return
    if population.common and population.kind == SEARCH:
        slots = 1 + max((slot for _, slot in places), default=0)
        of_slot = [run.seeds.of_round(round, slot) for slot in range(slots)]
        population.seed(places, [of_slot[slot] for _, slot in places])
    elif population.kind == COMPARISON:  # the two points share a seed, slot by slot
        first = {slot: id for id, (_, slot) in zip(reversed(ids), reversed(places), strict=True)}
        population.seed(places, [run.seeds.of_trial(first[slot]) for _, slot in places])
    else:
        same = method.together if population.kind == SEARCH and population.wave == 0 else 1
        population.seed(places, [run.seeds.of_trial(ids[i - i % same]) for i in range(len(ids))])


def compare(method: Method, run: Run, population: Population) -> None:
    """Take note of how well two evaluations of all candidates agree on the mean step."""
    values = population.samples.values
    if run.seeds is None or not population.twice or values.shape[1] < 2:
        return
    search = method.distribution(run.memory) if method.sampled else None
    if search is None or np.isnan(values[:, :2]).any():
        return
    Z = search.whiten(
        (population.X if population.steps is None else population.steps) - search.mean
    )
    profile = Log().weights(len(population))
    run.seeds.compared(population.common, agreement(Z, values, profile))
