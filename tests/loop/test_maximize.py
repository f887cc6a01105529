"""Maximising: the same points as for the negative, and the user's values wherever they show."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.methods import CMAES
from noisewise.report import facts, text

_GOOD: dict[str, Any] = {"x0": [2.0] * 3, "sigma0": 1.0, "budget": 120, "rng": 0}


def height(x: Any) -> float:
    return 7.0 - support.bumpy(x)


def depth(x: Any) -> float:
    return -height(x)


def mirrored(up: nw.Result, down: nw.Result) -> None:
    """``up`` is ``down`` in the other sign."""
    assert (up.maximize, down.maximize) == (True, False)
    np.testing.assert_array_equal(up.x, down.x)
    assert (up.fun, up.fun_best_observed) == (-down.fun, -down.fun_best_observed)
    assert (up.fun_se, up.estimate, up.message) == (down.fun_se, down.estimate, down.message)
    assert up.interval == tuple(-end for end in reversed(down.interval))
    for name, column in down.history.items():
        sign = -1.0 if name in ("mean_value", "best_value") else 1.0
        np.testing.assert_array_equal(up.history[name], sign * column)


@pytest.mark.parametrize("method", ["auto", "gp", "rb-pem", "cma-es"])
@pytest.mark.parametrize("vectorized", [False, True])
def test_the_mirror_image_of_minimising_the_negative(method: str, vectorized: bool) -> None:
    def up(x: Any) -> Any:
        return np.array([height(row) for row in x]) if vectorized else height(x)

    def down(x: Any) -> Any:
        return -up(x)

    budget = support.affordable(nw.methods.get(method), 60)
    options = _GOOD | {"method": method, "budget": budget, "vectorized": vectorized}
    mirrored(nw.minimize(up, **options, maximize=True), nw.minimize(down, **options))


def test_callbacks_and_progress_show_the_users_values(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, seen = io.StringIO(), []
    monkeypatch.setattr("sys.stderr", stream)
    result = nw.minimize(
        height,
        **_GOOD,
        method=CMAES(),
        maximize=True,
        progress=True,
        callback=lambda intermediate_result: seen.append(intermediate_result.fun),
    )
    assert result.fun > 6.0
    assert seen[-1] > seen[0]
    assert f"f ≈ {result.fun:.4g}" in stream.getvalue()


def test_the_file_of_a_run_holds_the_users_values(tmp_path: Path) -> None:
    path = tmp_path / "run"
    told: list[float] = []

    def fun(x: Any) -> float:
        if len(told) == 50:
            raise KeyboardInterrupt
        told.append(height(x) if len(told) != 3 else -math.inf)
        return told[-1]

    with pytest.raises(KeyboardInterrupt) as stopped:
        nw.minimize(fun, **_GOOD, method=CMAES(), maximize=True, checkpoint=path)
    assert stopped.value.result.fun > 0.0  # type: ignore[attr-defined]
    lines = path.read_bytes().splitlines()[2:]
    events = [json.loads(line.rpartition(b" ")[0]) for line in lines]
    values = [event[1] for event in events if event[0] != "asked"]
    assert values == [None if v == -math.inf else v for v in told]
    opt = nw.Optimizer.load(path)
    assert opt.maximize
    assert opt.result().fun_best_observed == max(told)
    assert f"{max(told):.4g} is the largest" in text.summary(facts.of(opt, "run"))
    with pytest.raises(nw.CheckpointError, match="maximize True, not False"):
        nw.minimize(fun, **_GOOD, method=CMAES(), checkpoint=path)


def test_a_resumed_run_goes_on_exactly(tmp_path: Path) -> None:
    options = _GOOD | {"method": CMAES(), "maximize": True}
    expected = nw.minimize(height, **options)
    calls = iter(range(10**6))

    def fun(x: Any) -> float:
        if next(calls) in (30, 77):
            raise KeyboardInterrupt
        return height(x)

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            nw.minimize(fun, **options, checkpoint=tmp_path / "run")
    found = nw.minimize(fun, **options, checkpoint=tmp_path / "run")
    assert (found.x.tolist(), found.fun) == (expected.x.tolist(), expected.fun)


def test_ask_and_tell_in_all_ways(tmp_path: Path) -> None:
    down, up = (support.start(CMAES(population=6), maximize=m) for m in (False, True))
    while not down.done:
        trials, ids = down.ask(), [trial.id for trial in up.ask()]
        values = [support.noisy(trial) for trial in trials]
        values[0] = math.nan if down.spent < 12 else values[0]
        down.tell(ids, values)
        if up.spent < 30:
            up.tell(ids, [-value for value in values])
        else:
            for id, value in zip(ids, values, strict=True):
                up.tell(id, -value)
        up.save(tmp_path / "run")
        up = nw.Optimizer.load(tmp_path / "run")
    mirrored(up.result(), down.result())
    assert up.recommend().interval == up.result().interval
    assert up.recommend().fun == up.result().fun


def test_what_counts_as_failed() -> None:
    opt = support.start(CMAES(population=6), maximize=True)
    trials = opt.ask()
    for trial, value in zip(trials[:2], (math.nan, -math.inf), strict=True):
        opt.tell(trial.id, value)
    assert opt.result().n_failures == 2
    with pytest.raises(TypeError, match=r"must not return \+inf"):
        opt.tell(trials[2].id, math.inf)
    with pytest.raises(ValueError, match="maximize must be"):
        nw.Optimizer([0.0], sigma0=1.0, budget=5, maximize="yes")  # type: ignore[arg-type]
