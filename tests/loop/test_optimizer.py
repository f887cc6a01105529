"""Ask and tell, where the contract suite does not look."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.methods import CMAES, Resample
from noisewise.run.run import INTERRUPTED, RUNNING, STOPPED

_GOOD: dict[str, Any] = {
    "x0": [2.0, 2.0],
    "sigma0": 1.0,
    "budget": 30,
    "rng": 0,
    "method": CMAES(population=6),
}


def test_before_anything_is_told() -> None:
    opt = nw.Optimizer(**_GOOD, bounds=(-5.0, 5.0))
    best = opt.recommend()
    np.testing.assert_array_equal(best.x, [2.0, 2.0])
    assert math.isnan(best.fun)
    assert math.isnan(best.fun_se)
    result = opt.result()
    assert (result.status, result.success, result.nfev, result.nit) == (RUNNING, False, 0, 0)
    assert result.message == "still running; 0 generations, 0 evaluations"
    assert math.isnan(result.fun_best_observed)
    assert (opt.budget, opt.dimension, opt.generation, opt.done) == (30, 2, 0, False)
    assert repr(opt) == "Optimizer(method='cma-es', spent=0, remaining=30, done=False)"


def test_every_evaluation_is_somewhere() -> None:
    """Spent, in somebody's hands, or remaining."""
    opt = nw.Optimizer(**_GOOD)
    rng = np.random.default_rng(0)
    held: list[nw.Trial] = []
    while not opt.done:
        held += opt.ask(int(rng.integers(1, 5)))
        assert opt.spent + len(held) + opt.remaining == 30
        if held:
            trial = held.pop()
            opt.tell(trial.id, support.noisy(trial))
            assert opt.spent + len(held) + opt.remaining == 30
    assert (opt.spent, opt.remaining) == (30, 0)


def test_nothing_to_do_while_results_are_awaited() -> None:
    opt = nw.Optimizer(**_GOOD)
    trials = opt.ask()
    assert len(trials) == 6
    assert opt.ask() == []
    for trial in trials[:-1]:
        opt.tell(trial.id, 1.0)
        assert opt.ask() == []
    opt.tell(trials[-1].id, 1.0)
    assert len(opt.ask()) == 6


@pytest.mark.parametrize("bounds", [None, (-5.0, 5.0), [(-5.0, 50.0), (None, 9.0)]])
def test_stop_before_the_first_question(bounds: Any) -> None:
    opt = nw.Optimizer(**_GOOD, bounds=bounds)
    opt.stop()
    assert opt.done
    assert opt.ask() == []
    result = opt.result()
    assert (result.status, result.success, result.nfev) == (STOPPED, False, 0)


def test_stop_in_the_middle_keeps_what_was_learnt(tmp_path: Path) -> None:
    opt = nw.Optimizer(**_GOOD)
    for trial in [*opt.ask(), *opt.ask()]:
        opt.tell(trial.id, support.noisy(trial))
    lucky = opt.ask(1)[0]
    opt.tell(lucky.id, -100.0)
    opt.stop()
    opt.stop()
    result = opt.result()
    assert (result.status, result.success, result.nfev, result.nit) == (STOPPED, True, 7, 1)
    assert result.fun_best_observed == -100.0
    np.testing.assert_array_equal(result.x_best_observed, lucky.x)
    opt.save(tmp_path / "run")
    loaded = nw.Optimizer.load(tmp_path / "run")
    assert loaded.ask() == []
    assert support.same_result(loaded.result(), result)


def test_interrupt_of_a_finished_run_is_its_result() -> None:
    opt = nw.Optimizer(**_GOOD)
    assert opt.interrupt().status == INTERRUPTED
    support.drive(opt)
    assert support.same_result(opt.interrupt(), opt.result())


def test_looking_does_not_touch() -> None:
    """Results and recommendations in between leave no trace, ties included."""
    watched, alone = nw.Optimizer(**_GOOD), nw.Optimizer(**_GOOD)
    rng = np.random.default_rng(1)

    def value(trial: nw.Trial) -> float:
        return float(trial.id % 2)

    def look(opt: nw.Optimizer) -> nw.Optimizer:
        opt.result()
        opt.recommend()
        return opt

    support.drive(watched, value, rng, after_tell=look)
    support.drive(alone, value)
    assert support.data_of(watched) == support.data_of(alone)
    assert support.same_result(watched.result(), alone.result())


def test_results_of_trials_asked_before_a_restart_are_welcome(tmp_path: Path) -> None:
    opt = nw.Optimizer(**_GOOD)
    trials = opt.ask()
    opt.save(tmp_path / "run")
    loaded = nw.Optimizer.load(tmp_path / "run")
    loaded.tell(trials[2].id, 1.0)
    loaded.tell([t.id for t in trials[:2]], [1.0, 2.0])
    assert [t.id for t in loaded.ask()] == [3, 4, 5]
    assert (loaded.spent, loaded.remaining) == (3, 24)


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_ids_may_come_as_any_sequence(kind: Any) -> None:
    one, two = nw.Optimizer(**_GOOD), nw.Optimizer(**_GOOD)
    support.drive(one)
    while not two.done:
        trials = two.ask()
        two.tell(kind([t.id for t in trials]), kind([support.noisy(t) for t in trials]))
    assert support.data_of(one) == support.data_of(two)


def test_whole_numbers_are_values() -> None:
    one, two = nw.Optimizer(**_GOOD), nw.Optimizer(**_GOOD)
    support.drive(one, lambda t: float(t.id % 5))
    while not two.done:
        trials = two.ask()
        two.tell([t.id for t in trials], np.array([t.id % 5 for t in trials], dtype=np.uint8))
    assert support.data_of(one) == support.data_of(two)


def test_several_with_failures_among_them() -> None:
    one, two = nw.Optimizer(**_GOOD), nw.Optimizer(**_GOOD)

    def value(trial: nw.Trial) -> float:
        return [support.noisy(trial), math.nan, math.inf, 1e300][trial.id % 4]

    support.drive(one, value)
    while not two.done:
        trials = two.ask()
        two.tell([t.id for t in trials], [value(t) for t in trials])
    assert support.data_of(one) == support.data_of(two)
    assert one.result().n_failures == 15


def test_known_standard_errors_are_used() -> None:
    """The mean of two values of a candidate leans towards the one that is known better."""
    method = Resample(k=2, population=4)
    runs = []
    for precise in (0, 1):
        opt = nw.Optimizer(**(_GOOD | {"method": method}))
        for trial in opt.ask():
            candidate, slot = trial.id % 4, trial.id // 4
            value = float(candidate if slot == 0 else 3 - candidate)  # the two disagree
            opt.tell(trial.id, value, se=0.1 if slot == precise else 1.0)
        runs.append(opt.recommend().x)
    x = [t.x for t in nw.Optimizer(**(_GOOD | {"method": method})).ask()]
    towards = [np.linalg.norm(runs[0] - x[i]) for i in (0, 3)]
    assert towards[0] < towards[1]
    assert np.linalg.norm(runs[1] - x[3]) < np.linalg.norm(runs[1] - x[0])


def test_confirmation_under_way() -> None:
    """A lucky draw at the recommendation itself counts, though not for its estimate."""
    opt = nw.Optimizer(**_GOOD, confirm=4)
    trials: list[nw.Trial] = []
    while not trials or trials[0].kind != "confirmation":
        trials = opt.ask()
        if trials[0].kind == "candidate":
            opt.tell([t.id for t in trials], [support.noisy(t) for t in trials])
    before = opt.recommend()
    opt.tell(trials[0].id, -50.0)
    result = opt.result()
    assert result.fun_best_observed == -50.0
    np.testing.assert_array_equal(result.x_best_observed, before.x)
    assert result.fun == before.fun
    opt.tell([t.id for t in trials[1:]], [1.0, 2.0, 3.0])
    assert opt.done
    assert opt.recommend().fun == pytest.approx(-11.0)


def test_confirmations_that_all_fail_say_so() -> None:
    opt = nw.Optimizer(**_GOOD, confirm=4)
    support.drive(opt, lambda t: math.nan if t.kind == "confirmation" else support.noisy(t))
    result = opt.result()
    assert math.isnan(result.fun)
    assert math.isfinite(result.fun_best_observed)
    assert result.n_failures == 4


def test_a_single_left_over_evaluation_does_not_replace_the_estimate() -> None:
    """Budget 21 is one generation of two, ten times each, and one evaluation more."""
    opt = nw.Optimizer(
        np.ones(10), sigma0=1.0, budget=21, method=Resample(k=10, population=2), rng=0
    )
    support.drive(opt, lambda trial: float(trial.x @ trial.x))
    r = opt.result()
    assert r.nfev == 21
    assert np.isfinite(r.fun_se)


def test_only_values_of_candidates() -> None:
    opt = nw.Optimizer([1.0, 2.0], sigma0=0.5, budget=60, rng=0, method="resample")
    kinds = {trial.kind: opt.is_only_value(trial.id) for trial in opt.ask()}
    assert kinds == {"candidate": False, "reevaluation": False}
    plain = nw.Optimizer([1.0, 2.0], sigma0=0.5, budget=60, rng=0, method="cma-es")
    assert all(plain.is_only_value(trial.id) for trial in plain.ask())


def test_only_values_where_others_of_the_pool_are_evaluated_again() -> None:
    opt = nw.Optimizer([1.0, 2.0], sigma0=0.5, budget=200, rng=0, method="watchful", workers=12)
    trials = opt.ask()
    points = [tuple(trial.x) for trial in trials]
    found = [opt.is_only_value(trial.id) for trial in trials]
    assert found == [points.count(x) == 1 for x in points]
    assert set(found) == {True, False}


@pytest.mark.parametrize("what", ["candidate", "is_only_value", "move"])
def test_what_is_asked_about_a_trial_must_be_about_one_that_is_waited_for(what: str) -> None:
    opt = nw.Optimizer([1.0, 1.0], sigma0=0.5, budget=20, method="cma-es", rng=1)
    first = opt.ask()[0]
    opt.tell(first.id, 1.0)
    for id, said in ((first.id, f"trial {first.id} was already told"), (99, "unknown 99")):
        with pytest.raises(ValueError, match=said):
            getattr(opt, what)(id, *([first.x] if what == "move" else []))
