"""Saved and resumed equals never interrupted, for every method, at every point."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.methods import Method


@pytest.fixture(autouse=True)
def _no_flushing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda fd: None)  # thousands of saves, none of them precious


@pytest.mark.parametrize("shuffled", [False, True])
def test_resume_after_every_tell(method: Method, shuffled: bool, tmp_path: Path) -> None:
    def through_a_file(opt: nw.Optimizer) -> nw.Optimizer:
        path = tmp_path / "run"
        opt.save(path)
        loaded = nw.Optimizer.load(path, method)
        path.unlink()  # some file systems flush what is written over, which is slow
        return loaded

    def order() -> np.random.Generator | None:
        return np.random.default_rng(3) if shuffled else None

    budget = support.affordable(method, 45, most=20)
    straight = support.start(method, d=2, budget=budget, confirm=2)
    asked = support.drive(straight, rng=order())
    opt = through_a_file(support.start(method, d=2, budget=budget, confirm=2))
    again: dict[int, bytes] = {}
    rng = order()
    while not opt.done:
        trials = opt.ask()
        again.update({t.id: t.x.tobytes() for t in trials})
        picked = trials[0 if rng is None else int(rng.integers(len(trials)))]
        opt.tell(picked.id, support.noisy(picked))
        opt = through_a_file(opt)
    assert again == asked
    assert support.data_of(opt) == support.data_of(straight)


@pytest.mark.parametrize("workers", [2, 7])
def test_resume_with_workers_after_every_tell(method: Method, workers: int, tmp_path: Path) -> None:
    """The same events make the same run, whatever goes through a file in between."""
    budget = support.affordable(method, 45, most=20)
    straight, opt = (
        support.start(method, d=2, budget=budget, confirm=2, workers=workers) for _ in range(2)
    )
    held: dict[int, nw.Trial] = {}
    rng = np.random.default_rng(workers)
    path = tmp_path / "run"
    while not straight.done:
        held |= {t.id: t for t in straight.ask()}
        assert {t.id: t.x.tobytes() for t in opt.ask()} == {
            id: trial.x.tobytes() for id, trial in held.items()
        }
        id = sorted(held)[int(rng.integers(len(held)))]
        for one in (straight, opt):
            one.tell(id, support.noisy(held[id]))
        del held[id]
        opt.save(path)
        opt = nw.Optimizer.load(path, method)
        path.unlink()
    assert opt.done
    assert opt.spent == budget
    assert support.data_of(opt) == support.data_of(straight)


def test_trials_in_flight_are_asked_again_with_their_ids(method: Method, tmp_path: Path) -> None:
    opt = support.start(method)
    first = opt.ask()
    opt.tell(first[1].id, 1.0)
    opt.save(tmp_path / "run")
    again = nw.Optimizer.load(tmp_path / "run", method).ask()
    assert [t.id for t in again] == [t.id for t in first if t.id != first[1].id]
    for a, b in zip(again, [first[0], *first[2:]], strict=True):
        np.testing.assert_array_equal(a.x, b.x)
        assert a.kind == b.kind


def test_a_finished_run_loads_finished(method: Method, tmp_path: Path) -> None:
    opt = support.start(method, budget=30)
    support.drive(opt)
    opt.save(tmp_path / "run")
    loaded = nw.Optimizer.load(tmp_path / "run", method)
    assert loaded.done
    assert loaded.ask() == []
    assert repr(loaded.result()) == repr(opt.result())
