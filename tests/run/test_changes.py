"""What users of ask and tell may do besides: points of their own, trials that are never told."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import noisewise as nw
import support
from noisewise.methods import CMAES, GP, Watchful
from noisewise.run import pool

WAYS: dict[str, dict[str, Any]] = {"one": {}, "workers": {"workers": 5}, "batch": {"batch": 6}}


def finish(opt: nw.Optimizer, held: list[nw.Trial] | None = None) -> nw.Result:
    """Drive a run to its end, oldest trial first."""
    held = [] if held is None else held
    while not opt.done:
        held += opt.ask()
        trial = held.pop(0)
        opt.tell(trial.id, support.noisy(trial))
    return opt.result()


# -- points that the user wants measured next


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("method", [CMAES(population=6), Watchful(), GP(), "auto"])
def test_an_enqueued_point_is_measured_next(method: Any, way: str) -> None:
    opt = support.start(method, 3, 80, bounds=(-5.0, 5.0), **WAYS[way])
    opt.enqueue([1.0, 2.0, 3.0])
    opt.enqueue([0.5, 0.5, 0.5])
    found: list[Any] = []
    while not opt.done:
        for trial in opt.ask():
            found += [trial.x] if trial.kind == "candidate" else []
            opt.tell(trial.id, support.noisy(trial))
    assert_allclose(found[:2], [[1.0, 2.0, 3.0], [0.5, 0.5, 0.5]])
    assert opt.result().nfev == 80


def test_a_good_point_is_the_best_that_was_seen_and_is_learnt_from() -> None:
    """It lies 20 step sizes away: the mean goes there, but no farther than samples are."""
    runs = [support.start(CMAES(population=6), 2, 60, confirm=0, x0=[6.0, 6.0]) for _ in "ab"]
    runs[1].enqueue([0.0, 0.0])
    means = []
    for opt in runs:
        for trial in opt.ask():
            opt.tell(trial.id, float(trial.x @ trial.x))
        means.append(opt.recommend().x)
    best = runs[1].result()
    assert best.x_best_observed.tolist() == [0.0, 0.0]
    assert best.fun_best_observed == 0.0
    assert np.linalg.norm(means[1]) < np.linalg.norm(means[0])
    sigma = runs[1].state.setup.sigma
    assert np.linalg.norm(means[1] - 6.0) < 3.0 * sigma


def test_the_update_sees_a_far_point_as_far_away_as_samples_are() -> None:
    opt = support.start(CMAES(population=6), 2, 60, confirm=0, x0=[6.0, 6.0], workers=3)
    opt.enqueue([-50.0, -50.0])
    opt.ask()
    [group] = opt.state.pool
    assert group.placed == [0]
    pool.see(opt.method, opt.state, group)
    assert group.near is not None
    away = (group.near[0] - opt.state.setup.mean) / opt.state.setup.sigma
    assert np.linalg.norm(away) == pytest.approx(math.sqrt(2.0) + 1.0)
    assert group.X[0].tolist() == opt.state.setup.box.inner(np.array([-50.0, -50.0])).tolist()


def test_an_enqueued_point_waits_for_the_next_candidate_and_survives_a_load(tmp_path: Path) -> None:
    opt = support.start(CMAES(population=4), 2, 40, confirm=0)
    first = opt.ask()  # a whole generation
    opt.enqueue([0.25, 0.75])
    opt.save(tmp_path / "run")
    opt = nw.Optimizer.load(tmp_path / "run")
    assert [t.x.tolist() for t in opt.ask()] == [[0.25, 0.75], *[t.x.tolist() for t in first[1:]]]


def test_evaluated_candidates_keep_their_place() -> None:
    """Re-evaluations and points of the last phase are no candidates."""
    opt = support.start(CMAES(population=4), 2, 12, confirm=8)
    finish_first = opt.ask()
    for trial in finish_first:
        opt.tell(trial.id, support.noisy(trial))
    opt.enqueue([0.25, 0.75])
    kinds = {t.kind for t in opt.ask()}
    assert kinds == {"confirmation"}
    assert len(opt.state.wished) == 1


def test_points_by_name_and_wrong_ones() -> None:
    opt = nw.Optimizer(space={"lr": "1e-4..1:log", "layers": "1..8:int"}, budget=40, rng=0)
    opt.enqueue({"lr": 0.01, "layers": 3})
    params = opt.ask(1)[0].params
    assert params is not None
    assert params["layers"] == 3
    assert params["lr"] == pytest.approx(0.01)
    with pytest.raises(ValueError, match="x must be 2 finite numbers"):
        support.start(CMAES(), 2, 40).enqueue([1.0])


# -- trials that are never told


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("method", [CMAES(population=6), Watchful(), "rb-pem", "auto"])
def test_an_abandoned_trial_is_handed_out_again_at_no_charge(method: Any, way: str) -> None:
    opt = support.start(method, 3, 90, **WAYS[way])
    trials = opt.ask()
    lost, charged = trials[1], opt.state.ledger.charged
    opt.abandon(lost.id)
    opt.abandon(lost.id)  # once is enough
    again = opt.ask(1)
    assert [t.id for t in again] == [lost.id]
    assert again[0].x.tolist() == lost.x.tolist()
    assert opt.state.ledger.charged <= charged + (way == "workers")
    result = finish(opt, [t for t in trials if t.id != lost.id] + again)
    assert result.nfev == 90


def test_where_the_search_is_over_a_lost_trial_is_given_up_and_measures_the_answer() -> None:
    opt = support.start(CMAES(population=6), 3, 100, workers=4, confirm=10)
    held = opt.ask()
    stuck = held.pop(0)
    while opt.remaining:
        for trial in held:
            opt.tell(trial.id, support.noisy(trial))
        held = opt.ask()
    opt.abandon(stuck.id)
    result = finish(opt, held)
    assert opt.done
    assert (result.nfev, result.n_confirmations) == (100, 11)
    with pytest.raises(ValueError, match="already told"):
        opt.tell(stuck.id, 1.0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", ["cma-es", "watchful", "rb-pem"])
def test_workers_that_vanish_all_the_time(method: str, seed: int) -> None:
    """Every third trial is lost; each is told once in the end, and the budget is used."""
    opt = support.start(nw.methods.get(method), 3, 120, workers=7)
    rng, held, told = np.random.default_rng(seed), list[nw.Trial](), []
    while not opt.done:
        held += opt.ask()
        trial = held.pop(int(rng.integers(len(held))))
        if rng.random() < 0.3:
            opt.abandon(trial.id)
        else:
            opt.tell(trial.id, support.noisy(trial))
            told.append(trial.id)
    assert len(told) == len(set(told)) == opt.result().nfev == 120


def test_only_trials_that_are_waited_for_can_be_abandoned() -> None:
    opt = support.start(CMAES(), 3, 60)
    trial = opt.ask()[0]
    opt.tell(trial.id, 1.0)
    with pytest.raises(ValueError, match="already told"):
        opt.abandon(trial.id)
    with pytest.raises(ValueError, match="unknown"):
        opt.abandon(999)
