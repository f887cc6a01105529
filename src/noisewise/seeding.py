"""Which seeds the trials of a run get: functions that `search` calls; `seeds` decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from noisewise._types import IntArray
from noisewise.core.profiles import Log
from noisewise.methods.method import Method
from noisewise.population import SEARCH, Population
from noisewise.run import Run
from noisewise.seeds import affordable, agreement

#: Seeds that take turns in the rounds of a model, and how often each is used.
_TURNS, _USES = 8, 8


def compares(method: Method, run: Run, k: int, round: int) -> bool:
    """Whether a round of ``k`` candidates is evaluated twice, to compare its mean steps. A model
    proposes too few at a time for that, and weighs more than their order."""
    if run.seeds is None or not run.seeds.compares(round) or len(method.origin(run.memory)) == 0:
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
    if method.rank_based or len(method.origin(run.memory)):
        return round
    return round // (_TURNS * _USES) * _TURNS + round % _TURNS


def twice(wanted: IntArray, k: int) -> IntArray:
    """``wanted``, and every candidate that is not in there twice as often as it takes."""
    missing = np.maximum(0, 2 - np.bincount(wanted, minlength=k))
    return np.concatenate((wanted, np.repeat(np.arange(k), missing)))


def seed(
    run: Run,
    population: Population,
    ids: Sequence[int],
    places: Sequence[tuple[int, int]],
    round: int,
) -> None:
    """Give trials ``ids`` their seeds: those of the round and slot where candidates share them,
    else, and for every point that is no candidate, one of their own."""
    if run.seeds is None:
        return
    if population.common and population.kind == SEARCH:
        slots = 1 + max((slot for _, slot in places), default=0)
        of_slot = [run.seeds.of_round(round, slot) for slot in range(slots)]
        population.seed(places, [of_slot[slot] for _, slot in places])
    else:
        population.seed(places, [run.seeds.of_trial(id) for id in ids])


def compare(method: Method, run: Run, population: Population) -> None:
    """Take note of how well two evaluations of all candidates agree on the mean step."""
    values = population.samples.values
    if run.seeds is None or not run.seeds.compares(run.round) or values.shape[1] < 2:
        return
    search = method.distribution(run.memory)
    if search is None or np.isnan(values[:, :2]).any() or len(method.origin(run.memory)) == 0:
        return
    Z = population.steps_from(search.mean, population.X) - search.mean
    if search.C.ndim == 1:
        Z = Z / np.sqrt(search.C)
    else:
        Z = np.linalg.solve(np.linalg.cholesky(search.C), Z.T).T
    profile = Log().weights(len(population))
    run.seeds.compared(population.common, agreement(Z, values, profile))
