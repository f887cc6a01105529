"""Whether there is anything to hand out, where candidates gather while others are under way."""

from __future__ import annotations

from noisewise.run import giving_up, pool
from noisewise.run.search import Search


def idle(search: Search) -> bool:
    """Whether `Search.ask` would hand out nothing now; it would change the run all the same."""
    run = search.run
    if run.setup.batch:
        return run.batch_left == 0 and run.out > 0
    if run.waiting or search.done:
        return search.done
    searches = run.final is None and not giving_up.hopeless(run)
    if searches and pool.affordable(search.method, run, 1):
        return False
    return run.last is not None or run.ledger.remaining == 0 or not search._drained()
