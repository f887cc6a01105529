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

    budget = support.affordable(method, 45, most=20)  # each time a file is loaded, it is rehearsed
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
