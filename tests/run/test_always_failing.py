"""An objective that always fails: the run ends soon and says why; once mended, it goes on."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.loop.checkpoint import Journal
from noisewise.methods import CMAES
from noisewise.problem.values import Value
from noisewise.run.run import ALL_FAILED

pytestmark = pytest.mark.boxes

GIVEN: dict[str, Any] = {
    "x0": [1.0, 2.0, 3.0], "sigma0": 0.5, "budget": 500, "on_error": "worst", "rng": 1
}  # fmt: skip


def broken(x: Any) -> float:
    raise FileNotFoundError("no file data.csv")


def test_a_run_of_nothing_but_exceptions_ends_soon(method: nw.methods.Method) -> None:
    r = nw.minimize(broken, **GIVEN, method=method)
    assert r.nfev >= 10
    assert r.nfev < 40 or r.nit == 1
    assert r.n_failures == r.nfev
    assert not r.success
    assert r.status == ALL_FAILED
    why = f"all {r.nfev} evaluations failed, the last one with FileNotFoundError: no file data.csv"
    assert r.message.startswith(f"gave up: {why}")
    assert why in r.warnings


@pytest.mark.parametrize("workers", [2, 4])
def test_with_workers_it_ends_when_what_runs_has_failed(workers: int) -> None:
    r = nw.minimize(broken, **GIVEN, executor=nw.executors.threads(workers))
    assert r.status == ALL_FAILED
    assert r.n_failures == r.nfev < 40


def test_batches_stay_whole() -> None:
    r = nw.minimize(broken, **GIVEN, batch=12)
    assert (r.nfev, r.status) == (12, ALL_FAILED)


def test_evaluations_that_take_too_long_end_it_too() -> None:
    import time

    hasty = nw.executors.processes(2, timeout=0.05)
    r = nw.minimize(lambda x: time.sleep(60), [1.0, 2.0], sigma0=1.0, budget=60, executor=hasty)
    assert r.n_failures == r.nfev < 40
    assert "took longer than 0.05 s" in r.message


def test_a_success_among_the_first_evaluations_keeps_the_run_alive() -> None:
    calls = [0]

    def fun(x: Any) -> float:
        calls[0] += 1
        if calls[0] != 5 and calls[0] < 30:
            raise ValueError("not yet")
        return support.bumpy(x)

    r = nw.minimize(fun, **GIVEN)
    assert r.success
    assert r.nfev == 500


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_no_numbers_are_named(bad: float) -> None:
    """They may mean that a point is infeasible, and there may be others: the run goes on longer."""
    r = nw.minimize(lambda x: bad, **GIVEN)
    assert 40 <= r.nfev <= 60
    said = f"all {r.nfev} evaluations failed: the objective returned nan or inf"
    assert said in r.warnings
    assert "the objective returned nan or inf" in r.message
    short = nw.minimize(lambda x: bad, **(GIVEN | {"budget": 8}))
    assert not short.success
    assert "no evaluation succeeded: the objective returned nan or inf" in short.message
    assert "all 8 evaluations failed: the objective returned nan or inf" in short.warnings


def test_the_reason_is_one_short_line() -> None:
    def fun(x: Any) -> float:
        raise ValueError("first\nsecond " + 3000 * "x")

    r = nw.minimize(fun, **GIVEN)
    assert "ValueError: first second xxx" in r.message
    assert len(r.message) < 400
    assert "\n" not in r.message


@pytest.mark.parametrize("budget", [500, 600])
def test_a_mended_objective_goes_on_where_the_run_gave_up(tmp_path: Path, budget: int) -> None:
    path = tmp_path / "run"
    first = nw.minimize(broken, **GIVEN, checkpoint=path)
    assert first.status == ALL_FAILED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # another objective
        r = nw.minimize(support.bumpy, **(GIVEN | {"budget": budget}), checkpoint=path)
    assert r.success
    assert r.nfev == budget
    assert r.n_failures == first.nfev
    still = nw.minimize(broken, **GIVEN, checkpoint=tmp_path / "other")
    again = nw.minimize(broken, **GIVEN, checkpoint=tmp_path / "other")
    assert again.status == ALL_FAILED
    assert still.nfev + 10 <= again.nfev < still.nfev + 40


def test_the_reason_survives_a_kill(tmp_path: Path) -> None:
    """Values that are only in the journal bring the reason of their failure along."""
    path, reference = tmp_path / "run", nw.minimize(broken, **GIVEN, method="cma-es")
    opt = nw.Optimizer(GIVEN["x0"], sigma0=0.5, budget=500, rng=1, method="cma-es")
    journal = Journal(path)
    journal.open(opt.method, opt._run)
    why = "FileNotFoundError: no file data.csv"
    while not opt.done:
        trials = opt.ask()
        journal.asked(len(trials), opt._run.handed)
        failed = [Value(trial.id, math.inf, why=why) for trial in trials]
        journal.append(failed)
        opt._search.tell(failed)
    journal.close()
    again = nw.Optimizer.load(path).result()
    assert (again.message, again.warnings) == (reference.message, reference.warnings)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("good", "gives_up"),
    [(lambda id: False, True), (lambda id: id == 14, True), (lambda id: id >= 14, False)],
)
def test_the_order_of_failures_leaves_no_trace(seed: int, good: Any, gives_up: bool) -> None:
    """A batch that is under way is waited for before the run gives up."""
    found = []
    for shuffle in (False, True):
        opt = support.start(CMAES(population=16), d=3, budget=200, batch=16)
        rng = np.random.default_rng(seed)
        waiting: list[nw.Trial] = []
        while not opt.done:
            waiting += opt.ask()
            trial = waiting.pop(int(rng.integers(len(waiting))) if shuffle else 0)
            if good(trial.id):
                opt.tell(trial.id, support.noisy(trial))
            else:
                opt._search.tell([Value(trial.id, math.inf, why="ValueError: no")])
        found.append((opt.spent, opt.gave_up, opt.result().x.tolist()))
    assert found[0] == found[1]
    assert found[0][1] == gives_up


def test_a_checkpoint_with_a_reason_that_is_no_text_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "run"
    opt = support.start(CMAES(population=6), d=3, budget=100)
    journal = Journal(path)
    journal.open(opt.method, opt._run)
    journal.asked(len(opt.ask()), opt._run.handed)
    journal.append([Value(0, 1.0, why="no value fails with a reason")])
    journal.close()
    with pytest.raises(nw.CheckpointError, match="damaged in line 4"):
        nw.Optimizer.load(path)


def given_up_after(population: int, succeeds: set[int], path: Path | None = None) -> int:
    """Evaluations, all of which fail but those of the rounds that are named (from 1 on)."""
    calls = [0]

    def fun(x: Any) -> float:
        calls[0] += 1
        return 1.0 if (calls[0] - 1) // population + 1 in succeeds else math.nan

    given = GIVEN | {"x0": [1.0, 2.0], "budget": 400, "method": CMAES(population=population)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an objective that differs from the one before
        r = nw.minimize(fun, **given, checkpoint=path)
    assert r.status == ALL_FAILED
    return r.nfev


@pytest.mark.parametrize(
    ("population", "rounds"),
    [
        (20, 3),  # three rounds, although two are the 40 evaluations that are tried at least
        (13, 4),  # 40 evaluations, although three rounds would be enough
    ],
)
def test_three_rounds_and_forty_evaluations_in_a_row_must_fail(
    population: int, rounds: int, tmp_path: Path
) -> None:
    assert given_up_after(population, set()) == rounds * population
    # A success begins both counts anew.
    for after in (1, 2):
        expected = (after + 1 + rounds) * population
        assert given_up_after(population, {after + 1}) == expected
    # So does going on with a run that was given up.
    path = tmp_path / "run"
    assert given_up_after(population, set(), path) == rounds * population
    assert given_up_after(population, set(), path) == 2 * rounds * population
