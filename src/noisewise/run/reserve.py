"""How many evaluations the search leaves for the choice and the measurement of its answer."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from noisewise._check import shown, whole
from noisewise._types import FloatArray

#: Evaluations of a race per square root of the budget, and the fewest that make one.
_RACE, _RACE_LEAST = 0.4, 4
#: Evaluations of a confirmation per square root of the budget, and the fewest in a long run.
_CONFIRM, _CONFIRM_LEAST = 0.6, 8
#: A confirmation takes at most a tenth of the budget, or four evaluations where that is less; never
#: more than a quarter.
_CONFIRM_PART, _CONFIRM_FEWEST, _CONFIRM_MOST = 10, 4, 4
#: Race and confirmation together take at most an eighth of the budget, else there is no race.
_BOTH_PART = 8
#: From this dimension on finalists differ too little for a race.
_RACE_BELOW = 10
#: Fewer evaluations than this per dimension, of at most so many dimensions, are all the search's.
_SEARCH_EACH, _SEARCH_DIMENSIONS = 10, 10
#: Evaluations of a confirmation without noise; at most a fifteenth of the budget.
_EXACT, _EXACT_PART = 5, 15
#: Whole batches are kept if they are at most a third of the budget.
_BATCHES_PART = 3
#: Decades of regret that a search which makes steady progress may lose to both.
_LOSS = 0.03
#: The part of the budget that measures the best of a list.
_LIST_PART = 0.2
#: The same where a list has fewer than ten options, or the budget is less than three evaluations
#: each: the search gains less by measuring some options more than others.
_SHORT_LIST_PART, _SHORT_LIST, _SHORT_LIST_EACH = 0.1, 10, 3


class Reserve(NamedTuple):
    """Evaluations that are kept from the search."""

    race: int
    confirm: int

    def measured(self) -> Reserve:
        """Without a race, whose waves would wait for each other: in batches, and with workers."""
        return Reserve(0, self.confirm)


def reserve(
    budget: int,
    dimension: int,
    deterministic: bool = False,
    pace: float = 0.0,
    races: bool = True,
    part: float = 0.0,
) -> Reserve:
    """Evaluations for the race and for the confirmation where the user did not say how many.

    Without noise a few are enough to measure the answer again. Otherwise about sqrt(budget): the
    loss to the search falls with the budget, and the interval still shrinks. A search that still
    makes ``pace`` decades of progress per evaluation would lose more, so it keeps less.
    ``races=False``: the method knows its best point without a race. ``part``: the part of the
    budget for both, of a method that needs a race in any dimension.
    """
    if deterministic:
        return Reserve(0, min(_EXACT, max(1, budget // _EXACT_PART), budget - 1))
    if budget < _SEARCH_EACH * dimension and dimension <= _SEARCH_DIMENSIONS and not part:
        return Reserve(0, 0)
    root = math.sqrt(budget)
    few = min(max(_CONFIRM_FEWEST, budget // _CONFIRM_PART), budget // _CONFIRM_MOST)
    confirm = min(max(_CONFIRM_LEAST, round(_CONFIRM * root)), few)
    race = max(_RACE_LEAST, round(_RACE * root)) if races and dimension < _RACE_BELOW else 0
    if part:
        race = max(0, round(part * budget) - confirm)
    if race < _RACE_LEAST or race + confirm > budget // _BOTH_PART:
        race = 0
    if not part and (race + confirm) * pace > _LOSS:
        part = _LOSS / (pace * (race + confirm))
        confirm = min(confirm, max(_CONFIRM_LEAST, int(part * confirm)))
        race = min(race, max(_RACE_LEAST, int(part * race)))
    return Reserve(race, confirm if confirm >= 2 else 0)


def reserve_of_list(budget: int, options: int) -> Reserve:
    """The same where the best of a list of ``options`` is searched. There is no race: the whole
    search is one."""
    short = options < _SHORT_LIST or budget < _SHORT_LIST_EACH * options
    confirm = int((_SHORT_LIST_PART if short else _LIST_PART) * budget)
    return Reserve(0, confirm if confirm >= 2 else 0)


def in_batches(wanted: Reserve, budget: int, used: int, batch: int, adaptive: bool) -> int:
    """Evaluations to keep where trials are handed out in batches, ``used`` of them so far: the
    search ends with a whole batch. Zero where that leaves too little to the search; no race, since
    it would need batches of its own."""
    if wanted.confirm < (2 if adaptive else 1):
        return 0
    last = (budget - used) % batch
    kept = last + batch * math.ceil(max(0, wanted.confirm - last) / batch)
    if adaptive and _BATCHES_PART * kept > budget:
        kept = max(0, kept - batch)
    return kept if kept < budget - used or used else 0


def pace(evaluations: FloatArray, sigma: FloatArray) -> float:
    """Decades of regret gained per evaluation over the last third of a run, from the step size
    after each round: near an optimum the regret falls like its square. At least zero."""
    if len(sigma) < 3:
        return 0.0
    i = min(int(np.searchsorted(evaluations, evaluations[-1] * 2.0 / 3.0)), len(sigma) - 2)
    spent = float(evaluations[-1] - evaluations[i])
    before, now = float(sigma[i]), float(sigma[-1])
    if not (spent > 0.0 and 0.0 < now < before < math.inf):
        return 0.0
    return 2.0 * (math.log10(before) - math.log10(now)) / spent


def reserve_for(
    confirm: Any, budget: int, dimension: int, part: float = 0.0, options: int = 0
) -> Reserve:
    """Evaluations to keep for the last phase; ``part``: see `reserve`; ``options``: of a list, if
    there is one."""
    if isinstance(confirm, str) and confirm == "auto":
        if options:
            return reserve_of_list(budget, options)
        return reserve(budget, dimension, part=part)
    try:
        n = whole("confirm", confirm, least=0)
    except ValueError:
        raise ValueError(
            f"confirm must be 'auto' or a whole number of at least 0, got {shown(confirm)}"
        ) from None
    if n >= budget:
        raise ValueError(f"confirm must be smaller than the budget {budget}, got {n}")
    return Reserve(0, n)
