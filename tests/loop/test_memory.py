"""Memory does not grow with the run, except for the history."""

from __future__ import annotations

import functools
import gc
import tracemalloc

import pytest

import noisewise as nw
import support
from noisewise.methods import Method


def traced() -> int:
    """Bytes in use, caches of constants left out: they are full at some point."""
    for thing in gc.get_objects():
        if isinstance(thing, functools._lru_cache_wrapper) and "noisewise" in thing.__module__:
            thing.cache_clear()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.untraced
def test_memory_does_not_grow(named_method: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of scalars per generation, twice that while the table doubles, and the table of
    diagnostics; rings are full after the first part of the run."""
    if named_method.name == "gp":
        pytest.skip("its points are bounded, see test_a_model_remembers_its_newest_points")
    monkeypatch.setattr("noisewise.run.run._KEPT", 400 * 3)  # full soon
    monkeypatch.setattr("noisewise.run.run._TOLD", 400 * 8)
    method = support.with_population(named_method, 4)
    opt = support.start(method, d=2, budget=10**6)

    def run(evaluations: int) -> None:
        last = opt.spent + evaluations
        while opt.spent < last:
            trials = opt.ask()
            opt.tell([t.id for t in trials], [float(t.x @ t.x) + t.id % 7 for t in trials])

    tracemalloc.start()
    try:
        run(1500)
        while 4 * opt.generation < 420:  # until the record of the newest candidates is full
            run(200)
        before, generations = traced(), opt.generation
        run(2500)
        growth = traced() - before
    finally:
        tracemalloc.stop()
    row = 8 * len(opt.result().history)
    # One float kept per evaluation would be 60 kB.
    assert growth < 3 * row * (opt.generation - generations) + 15_000


def test_a_model_remembers_its_newest_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noisewise.gp.search._REMEMBERED", 30)
    opt = support.start(support.METHODS["gp"], d=2, budget=60)
    support.drive(opt)
    seen = opt._run.memory.model.measured
    assert len(seen.y) == 30
    assert len(seen.X) <= 30
    assert seen.at.max() == len(seen.X) - 1


def test_trials_are_let_go(named_method: Method) -> None:
    import weakref

    opt = support.start(named_method, budget=200)
    old: list[weakref.ref[object]] = []
    while not opt.done:
        trials = opt.ask()
        old.append(weakref.ref(trials[0].x.base if trials[0].x.base is not None else trials[0].x))
        for trial in trials:
            opt.tell(trial.id, support.noisy(trial))
        del trials, trial
    gc.collect()
    assert sum(ref() is not None for ref in old) <= 2


def test_the_checkpoint_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """State and a row per generation; of what was evaluated the newest."""
    monkeypatch.setattr("noisewise.run.run._TOLD", 400 * 11)
    import json

    from noisewise import _data

    def size(budget: int) -> int:
        opt = support.start(support.METHODS["cma-es"], d=5, budget=budget)
        while not opt.done:
            trials = opt.ask()
            opt.tell([t.id for t in trials], [float(t.x @ t.x) for t in trials])
        return len(json.dumps(_data.encode(opt._run)))

    rows = nw.Optimizer([0.0], sigma0=1.0, budget=1)._run.history.columns
    per_generation = (size(16000) - size(8000)) / 1000
    assert per_generation < 3 * 8 * len(rows) * 4 / 3
