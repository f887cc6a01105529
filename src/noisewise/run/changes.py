"""What users of ask and tell may do besides: stop a run, move, place or abandon a trial, add data,
grant more."""

from __future__ import annotations

from bisect import insort

import numpy as np

from noisewise._types import FloatArray
from noisewise.measured.population import SEARCH
from noisewise.problem.earlier import Earlier
from noisewise.run import last_phase
from noisewise.run.run import RUNNING, STOPPED
from noisewise.run.search import Search


def stop(search: Search) -> None:
    """End the run now; what was learnt stays."""
    if not search.done:
        search.freeze()
        search.run.status = STOPPED


def add(search: Search, data: Earlier) -> None:
    """Hand measurements made elsewhere to the method. They are not charged."""
    search.freeze()
    run, n = search.run, len(data.y)
    memory = None if search.done or n == 0 else search.method.absorb(run.memory, data)
    run.earlier += n
    if memory is None:
        run.unused += n
    else:
        run.memory = memory


def move(search: Search, id: int, row: FloatArray, measured: bool = False) -> bool:
    """Trial ``id`` is evaluated, or was ``measured``, at ``row`` (inner coordinates) instead of at
    the candidate; see `Population.move`."""
    search.freeze()
    part = search.run.holder(id)
    assert part is not None
    return part.move(part.pending[id][0], row, search.run.setup.box, measured)


def enqueue(search: Search, row: FloatArray) -> None:
    """Measure this point (inner coordinates) next, in the place of a candidate."""
    search.freeze()
    search.run.wished.append(row)


def abandon(search: Search, id: int) -> None:
    """Hand out trial ``id`` again, which will never be told. Where the search is over already, it
    is given up: the answer does not need it, and its evaluation is given back."""
    search.freeze()
    run, part = search.run, search.run.holder(id)
    assert part is not None
    if id in run.waiting:
        return
    if run.final is None or part.kind != SEARCH:
        insort(run.waiting, id)  # before all that are newer
        run.batch_left += run.setup.batch > 0
        return
    i, slot = part.pending.pop(id)
    run.ledger.give_back(slot)
    if not part.complete[i] or not np.isnan(part.samples.values[i]).all():
        search.move_on()
        return
    rest = part.rows(np.arange(len(part)) != i)
    for parts in (run.pool, run.rounds):
        parts[:] = [rest if one is part else one for one in parts if one is not part or len(rest)]
    search.move_on()


def regrant(search: Search, budget: int) -> None:
    """Let the run spend ``budget`` evaluations in all, at least those that are charged. A run that
    has ended goes on; the method hears of it when the next round begins."""
    search.freeze()
    last_phase.regrant(search.method, search.run, budget)
    go_on(search)


def go_on(search: Search) -> None:
    """Leave the end of a run: failures so far no longer count towards giving up."""
    search.freeze()
    run = search.run
    run.status, run.barren, run.fruitless = RUNNING, 0, 0
    search.move_on()  # values that came after the end
