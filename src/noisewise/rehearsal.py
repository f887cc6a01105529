"""Plays a run that was loaded from a file on for a few rounds, on a copy, before it is trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise import _data
from noisewise._data import DataError
from noisewise.methods.method import Method, Now
from noisewise.run import Run
from noisewise.search import Search

#: Rounds of a rehearsal, and the most numbers it may sample at a time.
_REHEARSED, _REHEARSABLE = 2, 10**5


def rehearse(method: Method, run: Run) -> None:
    """Raise `DataError` if ``run`` cannot go on, found out on a copy with made-up values. What a
    file claims is not allocated: a run with very large populations is not rehearsed."""
    try:
        with np.errstate(all="ignore"):
            _play(Search(method, _data.decode(_data.encode(run))))
    except Exception as error:  # a file may hold anything
        raise DataError(f"it cannot go on: {type(error).__name__}: {error}") from error


def _play(search: Search) -> None:
    run: Any = search.run
    last = run.round + _REHEARSED
    while not search.done and run.round < last:
        if run.current is None:
            now = Now(run.ledger.free, run.setup.budget, run.setup.workers)
            size = search.method.size(run.memory, now)
            k = min(size.candidates, run.ledger.remaining)
            if k * max(size.cost, run.setup.dimension) > _REHEARSABLE:
                break
            if run.ledger.reserve > _REHEARSABLE:
                break
        search.ask(None)
        parts = [part for part in (run.current, run.next) if part is not None]
        ids = [id for part in parts for id in part.pending]
        assert ids
        search.tell(ids, [float(i) for i in range(len(ids))])
    search.recommend()
    search.method.explain(run.memory)
