"""``max_time``: the search ends in time to measure its answer, by a clock that only evaluations
move."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise import _data
from noisewise.loop import clock, telling
from noisewise.loop.events import Asked, TimeUp, read, write
from noisewise.problem.values import Value
from noisewise.run import changes

METHODS = ("cma-es", "watchful", "rb-pem", "racing", "uh-cma-es", "pairs", "resample", "gp", "auto")
#: Seconds of an evaluation.
SLOW = 60.0


class Time:
    """A clock that the objective moves."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Iterator[Time]:
    found = Time()
    monkeypatch.setattr(clock, "time", found)
    return found


def slow(time: Time, log: list[float] | None = None) -> Any:
    rng = np.random.default_rng(3)

    def fun(x: Any) -> float:
        time.now += SLOW * rng.uniform(0.5, 1.5)
        if log is not None:
            log.append(time.now)
        return float(x @ x + 0.3 * rng.normal())

    return fun


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("given", [{}, {"batch": 4}, {"confirm": 6}, {"confirm": 0}])
def test_the_answer_is_measured_in_time(method: str, given: Any, time: Time) -> None:
    limit = 60.0 * SLOW
    r = nw.minimize(
        slow(time), [2.0] * 3, sigma0=1.0, budget=500, rng=1, method=method, max_time=limit, **given
    )
    # At most what a generation and the slowest evaluations leave unused.
    assert 0.7 * limit < time.now <= limit
    assert 40 < r.nfev < 80
    assert r.success
    assert r.message.startswith("the time is up; ")
    if given != {"confirm": 0}:  # then at most three that make no generation
        assert r.estimate == "mean"


def test_a_vectorized_objective(time: Time) -> None:
    rng = np.random.default_rng(3)

    def fun(X: Any) -> Any:
        time.now += SLOW
        return (X * X).sum(axis=1) + 0.3 * rng.normal(size=len(X))

    r = nw.minimize(
        fun, [2.0] * 3, sigma0=1.0, budget=500, rng=1, method="cma-es", vectorized=True,
        max_time=12.5 * SLOW,
    )  # fmt: skip
    assert 8.0 * SLOW < time.now <= 12.5 * SLOW
    assert r.estimate == "mean"


def test_a_limit_that_is_not_reached_changes_nothing(time: Time) -> None:
    def run(**given: Any) -> Any:
        return nw.minimize(
            slow(time), [2.0] * 3, sigma0=1.0, budget=80, rng=1, method="rb-pem", **given
        )

    quick, free = run(max_time=1e6), run()
    assert quick.nfev == 80
    assert np.array_equal(quick.x, free.x)
    assert quick.message == free.message


def test_no_time_at_all(time: Time) -> None:
    """One evaluation at least, since nothing is known before."""
    r = nw.minimize(slow(time), [2.0] * 3, sigma0=1.0, budget=80, rng=1, max_time=1.0)
    assert 1 <= r.nfev <= 4
    assert "the time is up" in r.message


def test_a_resumed_run_has_new_time(time: Time, tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "x0": [2.0] * 3, "sigma0": 1.0, "budget": 100, "rng": 1, "method": "cma-es",
        "checkpoint": tmp_path / "run",
    }  # fmt: skip
    spent = []
    log: list[float] = []
    for _ in range(4):
        began = time.now
        r = nw.minimize(slow(time, log), **given, max_time=40.0 * SLOW)
        assert time.now - began <= 40.0 * SLOW
        spent.append(r.nfev)
        assert r.nfev == len(log)  # what is charged stays charged
    assert spent == sorted(spent)
    assert spent[0] < 60
    assert spent[-1] == 100
    assert r.message.startswith("the budget is spent")


def test_killed_while_it_measures_its_answer(time: Time, tmp_path: Path) -> None:
    """The journal says that the time was up, so the same state comes back."""
    path = tmp_path / "run"
    rng = np.random.default_rng(3)

    def fun(x: Any) -> float:
        time.now += SLOW
        if time.now >= 38.0 * SLOW:  # after the search ended, before the limit
            raise KeyboardInterrupt
        return float(x @ x + 0.3 * rng.normal())

    with pytest.raises(KeyboardInterrupt):
        nw.minimize(
            fun, [2.0] * 3, sigma0=1.0, budget=100, rng=1, method="cma-es", confirm=5,
            checkpoint=path, max_time=41.0 * SLOW,
        )  # fmt: skip
    seen = [line for line in path.read_text().splitlines() if '"time"' in line]
    opt = nw.Optimizer.load(path)
    assert seen or opt.state.time_up
    assert opt.budget < 50
    assert opt.state.ledger.confirmation >= 5


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("given", [{"workers": 1}, {"workers": 6}, {"batch": 5}])
@pytest.mark.parametrize("at", [3, 24, 41])
def test_the_event_is_replayed_to_the_bit(method: str, given: Any, at: int) -> None:
    """Whatever is under way then; evaluations are neither lost nor done for nothing."""
    opt, twin = (
        nw.Optimizer([2.0] * 3, sigma0=0.8, method=method, rng=1, budget=90, **given)
        for _ in range(2)
    )
    rng, held, up = np.random.default_rng(2), [], False
    while not opt.done:
        wanted = None if "batch" in given else max(0, given["workers"] - opt.state.out)
        held += (new := opt._search.ask(wanted))
        if new or wanted:
            telling.replay(twin._search, Asked(wanted, opt.state.handed))
        if not up and opt.spent >= at:
            handed, up = opt.state.handed, True
            changes.shorten(opt._search, 7)
            telling.replay(twin._search, TimeUp(7))
            assert opt.state.handed == handed
            assert opt.budget <= handed + 7 + given.get("batch", 0)
        elif held:
            trial = held.pop(int(rng.integers(len(held))))
            value = Value(trial.id, float(trial.x @ trial.x) * (1.0 + 0.3 * rng.normal()))
            opt._search.tell([value])
            telling.replay(twin._search, value)
        assert json.dumps(_data.encode(opt.state)) == json.dumps(_data.encode(twin.state))
    assert not held
    assert opt.spent == opt.budget
    assert at + 7 <= opt.spent <= at + 7 + 5 + 6


def test_events_as_lines() -> None:
    assert read(write(TimeUp(12))) == TimeUp(12)
    for wrong in ('["time", -1]', '["time", 1.5]', '["time"]', '["time", 1, 2]'):
        with pytest.raises((ValueError, TypeError)):
            read(b"%s %x\n" % (wrong.encode(), zlib.crc32(wrong.encode())))


@pytest.mark.parametrize("wrong", [0, -1.0, math.nan, math.inf, "soon"])
def test_wrong_times(wrong: Any) -> None:
    with pytest.raises(ValueError, match="max_time must be a positive finite number"):
        nw.minimize(lambda x: 0.0, [1.0], sigma0=1.0, budget=9, max_time=wrong)
