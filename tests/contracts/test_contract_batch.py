"""Batches: every `ask` hands out exactly so many, for every method, to the last evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noisewise as nw
import support
from noisewise.methods import CMAES, GP, RBPEM, Auto, Method, ProbeSwitch, Watchful
from noisewise.run import pool


def batches(
    opt: nw.Optimizer, rng: np.random.Generator, path: Path | None = None
) -> tuple[nw.Optimizer, list[list[nw.Trial]]]:
    """Run to the end, telling in random order; with ``path``, through a file now and then."""
    found: list[list[nw.Trial]] = []
    while not opt.done:
        trials = opt.ask()
        found.append(trials)
        left = [trials[i] for i in rng.permutation(len(trials))]
        while left:
            trial = left.pop()
            opt.tell(trial.id, support.noisy(trial))
            if left and rng.random() < 0.2:
                assert opt.ask() == []
                if path is not None:
                    opt.save(path)
                    opt = nw.Optimizer.load(path, opt.method)
                    again = {t.id: t.x.tobytes() for t in opt.ask()}
                    assert again == {t.id: t.x.tobytes() for t in left}
    return opt, found


def check(opt: nw.Optimizer, found: list[list[nw.Trial]], batch: int) -> None:
    assert all(len(trials) == batch for trials in found[:-1])
    assert 1 <= len(found[-1]) <= batch
    ids = [trial.id for trials in found for trial in trials]
    assert sorted(ids) == list(range(opt.budget))
    assert opt.spent == opt.budget
    run = opt._run
    assert (run.untold, run.batch_left, run.current, run.last) == (0, 0, None, None)
    assert sum(len(group) for group in run.pool) < pool.LEAST  # too few for a last round


@pytest.mark.parametrize(("batch", "confirm"), [(8, "auto"), (5, 0), (3, 4)])
def test_every_batch_is_full(method: Method, batch: int, confirm: Any) -> None:
    budget = 61 if method.name in ("auto", "gp") else 150
    opt = support.start(method, d=2, budget=budget, batch=batch, confirm=confirm)
    opt, found = batches(opt, np.random.default_rng(1))
    check(opt, found, batch)


@settings(max_examples=30, deadline=None)
@given(
    name=st.sampled_from(["watchful", "racing", "uh-cma-es", "probe-switch", "rb-pem", "resample"]),
    budget=st.integers(1, 200),
    batch=st.integers(1, 60),
    confirm=st.sampled_from([0, "auto"]),
    more=st.integers(0, 90),
    seed=st.integers(0, 99),
)
def test_whatever_the_sizes(
    name: str, budget: int, batch: int, confirm: Any, more: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    opt = support.start(
        nw.methods.get(name), d=2, budget=budget, batch=batch, confirm=confirm, rng=seed
    )
    opt, found = batches(opt, rng)
    check(opt, found, batch)
    if more:
        opt.extend(more)
        opt, rest = batches(opt, rng)
        assert all(len(trials) == batch for trials in rest[:-1])
        assert opt.spent == budget + more == sum(map(len, found + rest))


@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_values_leaves_no_trace(method: Method, seed: int) -> None:
    runs = []
    for order in (seed, seed + 100):
        opt = support.start(method, d=2, budget=support.affordable(method, 70), batch=6)
        opt, found = batches(opt, np.random.default_rng(order))
        runs.append(([t.x.tobytes() for trials in found for t in trials], support.data_of(opt)))
    assert runs[0] == runs[1]


def test_resumes_exactly_in_the_middle_of_a_batch(method: Method, tmp_path: Path) -> None:
    runs = []
    for path in (None, tmp_path / "run"):
        opt = support.start(method, d=2, budget=40, batch=6)
        opt, found = batches(opt, np.random.default_rng(2), path)
        check(opt, found, 6)
        runs.append(([t.x.tobytes() for trials in found for t in trials], support.data_of(opt)))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("n", [1, 3, None])
def test_a_batch_in_portions_after_a_resume(method: Method, n: int | None, tmp_path: Path) -> None:
    """Re-evaluations of a round have larger ids than candidates of the next one, which fill up the
    batch. Each trial is handed out once, whatever was told before the file was written."""
    budget = support.affordable(method, 60, most=30)
    for told in range(0, 24, 5):
        opt = support.start(method, d=2, budget=budget, batch=7)
        while opt.spent < told:
            trial = opt.ask(1)[0]
            opt.tell(trial.id, support.noisy(trial))
        opt.save(tmp_path / "run")
        opt = nw.Optimizer.load(tmp_path / "run", method)
        found: list[int] = []
        while not opt.done:
            trials = opt.ask(n)
            assert trials or opt.done
            found += [trial.id for trial in trials]
            for trial in trials:
                opt.tell(trial.id, support.noisy(trial))
        assert sorted(found) == list(range(told, budget))


def test_what_is_kept_begins_with_a_batch_of_its_own() -> None:
    for budget, kept in ((960, 96), (970, 106), (192, 0), (100, 4), (60, 0)):
        opt = support.start(Watchful(), budget=budget, batch=96)
        assert opt._run.ledger.reserve == kept
    opt, found = batches(support.start(CMAES(), budget=64, batch=16), np.random.default_rng(0))
    assert {t.kind for t in found[-1]} == {"confirmation"}
    assert {t.kind for trials in found[:-1] for t in trials} == {"candidate"}
    assert opt.result().estimate == "mean"


def test_without_noise_the_last_batch_measures_the_answer_again() -> None:
    opt = support.start(Watchful(), budget=160, batch=16)
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, float(trial.x @ trial.x))
    result = opt.result()
    assert (result.estimate, opt._run.ledger.confirmation) == ("exact", 16)
    assert result.n_confirmations > 2
    assert result.fun == result.x @ result.x == result.fun_best_observed


def test_in_minimize(tmp_path: Path) -> None:
    """A vectorised objective sees the batches; a batch may be asked for in portions."""
    shapes = []

    def fun(X: Any) -> Any:
        shapes.append(len(X))
        return np.array([support.bumpy(x) for x in X])

    options: dict[str, Any] = {"bounds": [(-2.0, 3.0)] * 3, "budget": 100, "rng": 0}
    path = tmp_path / "run"
    one = nw.minimize(fun, **options, vectorized=True, batch=12, method="watchful", checkpoint=path)
    assert shapes == [12] * 8 + [4]
    two = nw.minimize(support.bumpy, **options, batch=12, method="watchful", workers=2)
    assert support.same_result(one, two)
    with pytest.raises(nw.CheckpointError, match="batch 12, not 10"):
        nw.minimize(fun, **options, vectorized=True, batch=10, method="watchful", checkpoint=path)
    opt = support.start(CMAES(), budget=50, batch=12)
    assert [len(opt.ask(5)) for _ in range(4)] == [5, 5, 2, 0]


@pytest.mark.parametrize(
    "method",
    [
        CMAES(population=8),
        GP(population=8),
        Auto(population=8),
        ProbeSwitch(high=RBPEM(population=8, covariance="diagonal")),
    ],
)
def test_a_smaller_population_is_refused(method: Method) -> None:
    with pytest.raises(ValueError, match=r"population must be at least the batch of 9, .* got 8"):
        support.start(method, batch=9)
    assert len(support.start(method, batch=8).ask()) == 8


def test_other_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="batch must be"):
        support.start(CMAES(), batch=0)
