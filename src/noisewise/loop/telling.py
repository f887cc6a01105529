"""Values that users tell: checked, and turned into those of a search."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._check import shown
from noisewise._types import FloatArray
from noisewise.loop.events import Asked, Event, TimeUp
from noisewise.measured.population import Population
from noisewise.methods import Method
from noisewise.problem.values import Value, as_constraints, as_error, as_value, entries
from noisewise.run import changes, feasibility
from noisewise.run.run import Run
from noisewise.run.search import Search


def values(search: Search, ids: list[Any], value: Any, se: Any, constraints: Any) -> list[Value]:
    """What is told of trials ``ids``; raises ValueError before any of it counts."""
    n = len(ids)
    numbers = [as_value(one, search.run.maximize) for one in entries("value", value, n)]
    errors = [None] * n if se is None else list(map(as_error, entries("se", se, n)))
    waited = {id for part in search.run.parts for id in part.pending} if n > 1 else set()
    for one in ids:
        if type(one) is not int or one not in waited:
            part_of(search, one)
    if len(set(ids)) < n:
        twice = next(one for one in ids if ids.count(one) > 1)
        raise ValueError(f"trial {twice} is told twice in one call")
    given = [None] * n if constraints is None else entries("constraints", constraints, n)
    limits = _limits(search, given, numbers)
    return list(map(Value, map(int, ids), numbers, errors, limits))


def _again(search: Search, told: Value) -> Value:
    """A value, in the user's sign, that was told before a run was loaded."""
    part_of(search, told.id)
    y = [as_value(told.y, search.run.maximize)]
    limits = _limits(search, [told.constraints], y)
    return told._replace(y=y[0], constraints=limits[0])


def replay(search: Search, event: Event) -> None:
    """Do again what was done before a run was loaded."""
    if isinstance(event, Value):
        search.tell([_again(search, event)])
        return
    if isinstance(event, TimeUp):
        changes.shorten(search, event.left)
        return
    if not isinstance(event, Asked):
        raise ValueError(f"{type(event).__name__} is no event of a file")
    search.ask(event.n)
    if search.run.handed != event.handed:
        raise ValueError(f"{event.handed} trials were not handed out again")


def rebuilt(method: Method, run: Run, since: list[Event]) -> Search:
    """The search of a run that was saved, after what happened since."""
    search = Search(method, run)
    for event in since:
        replay(search, event)
    return search


def part_of(search: Search, id: Any) -> Population:
    """The candidates or points one of which trial ``id`` is to measure; ValueError unless it is
    waited for."""
    if isinstance(id, bool) or not isinstance(id, (int, np.integer)):
        raise ValueError(
            f"id must be that of a trial, such as trial.id, or several of them, got {shown(id)}"
        )
    if (part := search.run.holder(int(id))) is not None:
        return part
    if 0 <= id < search.run.next_id:
        raise ValueError(f"trial {id} was already told")
    raise ValueError(f"id must come from ask(), got the unknown {id}")


def _limits(search: Search, given: list[Any], numbers: list[float]) -> list[FloatArray | None]:
    """The checked constraints of trials with these values, of which those with a constraint that
    could not be measured become failures."""
    run = search.run
    if run.limits is None and all(one is None for one in given):
        return [None] * len(given)
    found = [None if one is None else as_constraints(one) for one in given]
    told = next((len(one) for one in found if one is not None), 0)
    q = told if run.limits is None else len(run.limits.measured)
    if run.limits is None and run.ledger.told > run.ledger.failures:
        raise ValueError("constraints must be told with every trial, got trials without them")
    feasibility.check_method(search.chosen)
    for i, one in enumerate(found):
        if given[i] is None and numbers[i] < np.inf:
            raise ValueError(f"constraints must be told with every trial, {q} values, got None")
        if one is None:
            numbers[i] = np.inf
        elif len(one) != q:
            raise ValueError(f"constraints must always be {q} values, got {len(one)}")
    return found
