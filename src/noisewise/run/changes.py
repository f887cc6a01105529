"""What users of ask and tell may do besides: stop a run, move, place or abandon a trial, add data,
grant more."""

from __future__ import annotations

from bisect import insort

import numpy as np

from noisewise._types import FloatArray
from noisewise.measured.population import SEARCH, Population
from noisewise.problem.earlier import Earlier
from noisewise.run import last_phase
from noisewise.run.pool import LEAST
from noisewise.run.run import RUNNING, STOPPED, Run
from noisewise.run.search import Search

#: Rows of earlier data that are kept for the report.
_BROUGHT = 1000


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
    rows = np.column_stack((data.X, data.y))
    old = [run.brought] if len(run.brought) else []
    run.brought = np.concatenate((*old, rows))[-_BROUGHT:]
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
    _give_back(run, part, [id])
    search.move_on()


def _give_back(run: Run, part: Population, ids: list[int]) -> None:
    """Trials of candidates that were never evaluated and never will be. A candidate that is left
    without a value leaves its round."""
    places = [part.pending.pop(id) for id in ids]
    for _, slot in places:
        run.ledger.give_back(slot)
    rows = [i for i, _ in places]
    stays = ~(part.complete & np.isnan(part.samples.values).all(axis=1))
    stays |= ~np.isin(np.arange(len(part)), rows)
    if stays.all():
        return
    rest = part.rows(stays)
    for parts in (run.pool, run.rounds):
        parts[:] = [rest if one is part else one for one in parts if one is not part or len(rest)]
    if run.current is part:
        run.current = rest if len(rest) else None


def shorten(search: Search, left: int) -> None:
    """The time is up: the search ends, and ``left`` evaluations measure its answer. Trials that
    were not handed out are given back, but for those that the last round needs."""
    search.freeze()
    run = search.run
    waiting = set(run.waiting[run.batch_left :])
    for part in [part for part in run.parts if part.kind == SEARCH]:
        back = _not_begun(part, waiting, search.method.together, part is run.current)
        if back:
            part.twice = False
            _give_back(run, part, back)
            run.waiting = [id for id in run.waiting if id not in back]
    run.time_up = True
    budget = run.ledger.charged + max(0, left - len(run.waiting))
    last_phase.regrant(search.method, run, min(run.ledger.budget, budget))
    search.move_on()


def _not_begun(part: Population, waiting: set[int], together: int, whole: bool) -> list[int]:
    """Which of the ``waiting`` trials are not needed: further evaluations of candidates, and
    candidates of which nothing was handed out, nor of those that they belong to. Of a ``whole``
    round, enough candidates stay to learn from."""
    out = {i // together for id, (i, _) in part.pending.items() if id not in waiting}
    out |= set((np.flatnonzero(~np.isnan(part.samples.values).all(axis=1)) // together).tolist())
    new = sorted({i // together for i, _ in part.pending.values()} - out) if whole else []
    out |= set(new[: max(0, -(-LEAST // together) - len(out))])
    return [
        id
        for id, (i, slot) in part.pending.items()
        if id in waiting and (slot > 0 or i // together not in out)
    ]


def regrant(search: Search, budget: int) -> None:
    """Let the run spend ``budget`` evaluations in all, at least those that are charged. A run that
    has ended goes on; the method hears of it when the next round begins."""
    search.freeze()
    search.run.time_up = False
    last_phase.regrant(search.method, search.run, budget)
    go_on(search)


def go_on(search: Search) -> None:
    """Leave the end of a run: failures so far no longer count towards giving up."""
    search.freeze()
    run = search.run
    run.status, run.barren, run.fruitless = RUNNING, 0, 0
    search.move_on()  # values that came after the end
