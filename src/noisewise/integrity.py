"""Whether a run that was read from a file is one the library could have written.

Types are checked while decoding. Here: numbers against each other, shapes, and a rehearsal on a
copy, which finds what no list of conditions would.
"""

from __future__ import annotations

import numpy as np

from noisewise import _data
from noisewise._data import DataError
from noisewise.engine import Engine
from noisewise.history import COLUMNS
from noisewise.methods import Method
from noisewise.result import ALL_FAILED, RUNNING, STOPPED
from noisewise.run import Run

#: More evaluations than this at a time are taken for damage, and more candidates than this many
#: coordinates in all, unless there are few: a rehearsal must not fill the memory.
_MOST = 10**7
_FEW = 1000
#: Generations of a rehearsal.
_REHEARSED = 2


def check(run: Run) -> None:
    """Raise `DataError` if the numbers in ``run`` contradict each other."""
    for what, fine in (
        ("box", _box(run)),
        ("ledger", _ledger(run)),
        ("distribution", _state(run)),
        ("controls", _controls(run)),
        ("generation", _generation(run)),
        ("next generation", _ahead(run)),
        ("history", _history(run)),
        ("archive", _archive(run)),
    ):
        if not fine:
            raise DataError(f"its {what} does not fit together")


def rehearse(method: Method, run: Run) -> None:
    """Raise `DataError` if ``run`` cannot go on, found out on a copy with made-up values."""
    try:
        with np.errstate(all="ignore"):
            _play(Engine(method, _data.decode(_data.encode(run))))
    except Exception as error:  # a file may hold anything
        raise DataError(f"it cannot go on: {type(error).__name__}: {error}") from error


def _box(run: Run) -> bool:
    low, high, scale, n = run.box.low, run.box.high, run.box.scale, run.setup.dimension
    return (
        n >= 1
        and low.shape == high.shape == scale.shape == run.best_x.shape == run.x0.shape == (n,)
        and bool((low < high).all() and (scale > 0.0).all() and np.isfinite(scale).all())
    )


def _ledger(run: Run) -> bool:
    ledger = run.ledger
    counts = (ledger.reserve, ledger.base, ledger.reevaluation, ledger.confirmation)
    return (
        min(*counts, ledger.failures, ledger.remaining - ledger.reserve) >= 0
        and ledger.failures <= ledger.told == ledger.charged - _untold(run)
        and 1 <= run.setup.budget <= ledger.budget
        and ledger.reserve <= _MOST
        and run.setup.workers >= 1
        and 0 <= run.setup.lookahead <= max(_MOST, ledger.budget)
        and 0 <= run.setup.late <= max(_MOST, ledger.budget)
        and (ledger.confirmation > 0) == run.confirming
        and (ledger.remaining == 0 or not run.confirming)
    )


def _untold(run: Run) -> int:
    return len(run.pending) + (len(run.ahead.pending) if run.ahead else 0)


def _ahead(run: Run) -> bool:
    ahead, n = run.ahead, run.setup.dimension
    if (len(run.means) and run.means.shape[1:] != (n,)) or len(run.means) > len(run.X):
        return False
    if ahead is None:
        return True
    m = len(ahead.X)
    return (
        0 < m <= _MOST
        and not run.confirming
        and ahead.X.shape == ahead.sampled.shape == ahead.means.shape == (m, n)
        and ahead.values.shape == ahead.errors.shape == (m,)
        and bool(np.isfinite(ahead.X).all() and np.isfinite(ahead.means).all())
        and len(set(ahead.pending.values())) == len(ahead.pending)
        and all(0 <= i < m and np.isnan(ahead.values[i]) for i in ahead.pending.values())
        and int(np.isnan(ahead.values).sum()) == len(ahead.pending)
        and all(0 <= id < run.next_id and id not in run.pending for id in ahead.pending)
        and run.ledger.free >= min(2, run.controls.population)
    )


def _state(run: Run) -> bool:
    state, n = run.state, (run.setup.dimension,)
    vectors = (state.mean, state.p_sigma, state.p_c)
    return (
        all(v.shape == n and np.isfinite(v).all() for v in vectors)
        and 0.0 < state.sigma < np.inf
        and 0.0 <= state.unfilled <= 1.0
    )


def _controls(run: Run) -> bool:
    controls = run.controls
    return (
        2 <= controls.population <= max(_MOST // run.setup.dimension, _FEW)
        and 0.0 < controls.c_mean < np.inf
        and 1 <= controls.repeats <= _MOST // controls.population
        and 0 <= controls.reevaluations <= _MOST
    )


def _generation(run: Run) -> bool:
    values, errors, k = run.samples.values, run.samples.errors, len(run.X)
    rows = 1 if run.confirming else k
    places = list(run.pending.values())
    return (
        values.ndim == 2
        and (errors is None or errors.shape == values.shape)
        and (not run.pending or len(values) == rows)
        and (k == 0 or run.X.shape == (k, run.setup.dimension))
        and bool(np.isfinite(run.X).all())
        and len(set(places)) == len(places)
        and all(-run.confirming <= i < rows and 0 <= j < values.shape[1] for i, j in places)
        and all(0 <= id < run.next_id for id in run.pending)
        and run.status in (RUNNING, STOPPED, ALL_FAILED)
        and min(run.generation, run.barren, run.wave, run.measured) >= 0
        and 0.0 <= run.progress <= 1.0
        and run.around.ndim == 1
    )


def _history(run: Run) -> bool:
    rows, n = run.history.rows, run.history.n
    return (
        run.history.columns == COLUMNS
        and rows.ndim == 2
        and rows.shape[1] == len(COLUMNS)
        and 0 <= n <= len(rows)
    )


def _archive(run: Run) -> bool:
    seen = run.seen
    empty = len(seen.y) == seen.inserted == 0 <= seen.capacity
    full = seen.y.shape == (seen.capacity,) and seen.inserted > 0
    return (
        run.sigma0 > 0.0
        and seen.X.ndim == 2
        and (empty or (full and seen.X.shape == (seen.capacity, run.setup.dimension)))
    )


def _play(engine: Engine) -> None:
    run = engine.run
    last = run.generation + _REHEARSED
    while not engine.done and run.generation < last:
        if not run.pending:
            engine.open()
        engine.trials(list(run.pending))
        engine.tell_wave(np.arange(len(run.pending), dtype=float))
    engine.recommend()
    engine.parts.selection.report(run.selection)
