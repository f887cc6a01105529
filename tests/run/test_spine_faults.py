"""Faults of ask, tell, resume and load that were found by attack."""

from __future__ import annotations

import json
import math
import time
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.loop import checkpoint
from noisewise.methods import CMAES


@pytest.mark.parametrize("how", [{"workers": 1}, {"workers": 8}, {"batch": 5}])
def test_tells_of_trials_handed_out_before_the_end_are_accepted(how: dict[str, int]) -> None:
    """The documented loop, when everything fails: the run ends in the middle of a batch."""
    opt = nw.Optimizer([1.0, 1.0], sigma0=1.0, budget=1000, rng=0, **how)
    told = 0
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, math.nan)
            told += 1
    assert opt.spent == told
    assert opt.result().nfev == opt.result().n_failures == told
    assert opt.ask() == []


def test_tells_after_stop_are_accepted_and_counted() -> None:
    opt = nw.Optimizer([1.0, 1.0], sigma0=1.0, budget=50, rng=0)
    trials = opt.ask()
    opt.tell(trials[0].id, 1.0)
    opt.stop()
    for trial in trials[1:]:
        opt.tell(trial.id, 1.0)
    assert opt.spent == len(trials)
    with pytest.raises(ValueError, match="already told"):
        opt.tell(trials[0].id, 1.0)
    with pytest.raises(ValueError, match="unknown"):
        opt.tell(10**6, 1.0)


@pytest.mark.parametrize("given", [{"vectorized": True}, {"workers": 4}])
def test_calls_that_were_made_are_counted(given: dict[str, Any], tmp_path: Path) -> None:
    log = tmp_path / "calls"
    log.touch()

    def fail(x: Any) -> Any:
        with open(log, "ab") as file:
            file.write(b"." * (len(x) if x.ndim == 2 else 1))
        return np.full(len(x), np.nan) if x.ndim == 2 else math.nan

    method = CMAES(population=9)
    r = nw.minimize(fail, [1.0, 1.0], sigma0=1.0, budget=200, rng=0, method=method, **given)
    assert not r.success
    if "vectorized" in given:  # else a worker may be in the middle of a call at the end
        assert r.nfev == log.stat().st_size
    assert r.nfev <= log.stat().st_size


def test_such_a_run_can_be_saved_and_loaded(tmp_path: Path) -> None:
    opt = nw.Optimizer([1.0, 1.0], sigma0=1.0, budget=1000, rng=0, workers=8)
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, math.nan)
    opt.save(tmp_path / "run")
    again = nw.Optimizer.load(tmp_path / "run")
    assert again.done
    assert again.spent == opt.spent


@pytest.mark.parametrize("size", [1e-170, 1e-100, 1.0, 1e100])
def test_ra_cma_es_compares_movements_of_any_size(size: float) -> None:
    """The product of two small spreads is zero (of two large ones infinite), though their roots'
    is not; it divided by that."""
    from noisewise.methods.racmaes import Agreement

    one = np.array([size, 0.0])
    nothing = np.zeros(2)
    seen = Agreement(nothing, nothing, 0.0, 0.0, 0.0).after(one, one, 0.1)
    assert seen.correlation == pytest.approx(1.0)
    across = Agreement(nothing, nothing, 0.0, 0.0, 0.0).after(one, one[::-1].copy(), 0.1)
    assert -1.0 <= across.correlation <= 1.0


@pytest.mark.parametrize("sigma0", [1e100, 1e150])
def test_ra_cma_es_with_an_enormous_step(sigma0: float, tmp_path: Path) -> None:
    path = tmp_path / "run"
    opt = nw.Optimizer([0.0, 0.0], sigma0=sigma0, budget=120, rng=0, method="ra-cma-es")
    with np.errstate(all="raise"):
        while not opt.done:
            for trial in opt.ask():
                opt.tell(trial.id, float(np.tanh(trial.x).sum()))
            opt.save(path)
            opt = nw.Optimizer.load(path)
    assert opt.spent == 120


def written(path: Path, body: Any) -> Path:
    text = json.dumps(body)
    head = {"noisewise": checkpoint.FORMAT, "bytes": len(text), "crc": zlib.crc32(text.encode())}
    path.write_bytes(f"{json.dumps(head)}\n{text}\n".encode())
    return path


@pytest.mark.parametrize(("population", "repeats"), [(4_000_000, 1), (400_000, 2)])
def test_a_small_file_costs_little_to_load(tmp_path: Path, population: int, repeats: int) -> None:
    """Three kilobytes, whatever population they speak of."""
    path = tmp_path / "run"
    opt = support.start(CMAES(), d=2, budget=30)
    opt.save(path)
    content = json.loads(path.read_bytes().split(b"\n")[1])
    [run] = content["run"].values()
    [memory], [setup], [ledger] = (run[name].values() for name in ("memory", "setup", "ledger"))
    memory |= {"population": population, "repeats": repeats}
    setup["budget"] = ledger["budget"] = 10**12
    began = time.process_time()
    tracemalloc.start()
    try:
        nw.Optimizer.load(written(path, content))
    except nw.CheckpointError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 5e7
    assert time.process_time() - began < 5.0


def test_masked_values_of_a_wave_are_refused() -> None:
    opt = nw.Optimizer([1.0, 1.0], sigma0=1.0, budget=50, rng=0)
    trials = opt.ask()
    values = np.ma.array(np.zeros(len(trials)), mask=[True] + [False] * (len(trials) - 1))
    with pytest.raises((TypeError, ValueError), match="real number"):
        opt.tell([t.id for t in trials], values)
    assert opt.spent == 0


def test_an_objective_that_changes_its_point(tmp_path: Path) -> None:
    """Trials keep their x: what fun does to its argument must not reach the search."""

    def spoil(x: Any) -> float:
        value = float(x @ x)
        x[:] = 1e6
        return value

    r = nw.minimize(spoil, [1.0, 1.0], sigma0=0.5, budget=60, rng=0)
    clean = nw.minimize(lambda x: float(x @ x), [1.0, 1.0], sigma0=0.5, budget=60, rng=0)
    assert support.same_result(r, clean)
