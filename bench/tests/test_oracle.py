"""What a method may see of a problem, and what the bench notes meanwhile."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from bench_toys import Costly, Sphere, random_search
from hypothesis import given
from hypothesis import strategies as st

from noisewise_bench.problem import BudgetExceeded, Oracle, Problem, name_of
from noisewise_bench.record import Recorder, checkpoints


def oracle_of(problem: Problem, budget: int = 20, seed: int = 0) -> tuple[Oracle, Recorder]:
    recorder = Recorder(problem, checkpoints(budget))
    return Oracle(problem, budget, np.random.default_rng(seed), recorder), recorder


def test_counts_rows_and_points_and_refuses_more_than_the_budget() -> None:
    oracle, _ = oracle_of(Sphere(), budget=6)
    assert isinstance(oracle(np.zeros(3)), float)
    assert oracle(np.zeros((4, 3))).shape == (4,)
    assert (oracle.spent, oracle.remaining) == (5, 1)
    with pytest.raises(BudgetExceeded, match="2 more evaluations were asked for, 1 are left"):
        oracle(np.zeros((2, 3)))
    assert oracle.spent == 5
    oracle(np.zeros(3))
    assert oracle.remaining == 0


def test_nothing_public_tells_the_truth() -> None:
    oracle, _ = oracle_of(Sphere())
    oracle(np.zeros((5, 3)))
    public = {name for name in dir(oracle) if not name.startswith("_")}
    assert public == {
        *("x0", "bounds", "dimension", "sigma0", "budget", "spent", "remaining"),
        *("report", "draws", "aside"),
    }
    assert "Sphere" not in repr(oracle)


def test_the_problem_cannot_be_changed_through_its_start_point() -> None:
    problem = Sphere()
    oracle, _ = oracle_of(problem)
    oracle.x0[:] = 7.0
    assert np.all(problem.x0 == 0.0)


def test_wrong_shapes_are_named() -> None:
    oracle, _ = oracle_of(Sphere())
    with pytest.raises(ValueError, match=r"shape \(2, 4\), but \(3,\) or \(n, 3\)"):
        oracle(np.zeros((2, 4)))

    class Wrong(Sphere):
        def noisy(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            return np.zeros((len(X), 1))

    oracle, _ = oracle_of(Wrong())
    with pytest.raises(ValueError, match=r"noisy\(X, rng\) of Wrong returned shape \(2, 1\)"):
        oracle(np.zeros((2, 3)))


def test_sigma0_is_the_problems_own_or_a_share_of_its_box() -> None:
    problem = Sphere()
    assert oracle_of(problem)[0].sigma0 == pytest.approx(3.0)
    problem.sigma0 = 0.25  # type: ignore[attr-defined]
    assert oracle_of(problem)[0].sigma0 == 0.25
    free = Sphere()
    free.bounds = None  # type: ignore[assignment]
    with pytest.raises(ValueError, match="without bounds must have the attribute sigma0"):
        _ = oracle_of(free)[0].sigma0


def test_uncharged_draws_are_counted_apart_and_leave_the_noise_stream_alone() -> None:
    quiet, _ = oracle_of(Sphere(noise=1.0))
    study, recorder = oracle_of(Sphere(noise=1.0))
    X = np.array([[0.0, 0.0, 0.0], [5.0, 5.0, 5.0]])
    draws = study.draws(X, 200, np.random.default_rng(1))
    assert draws.shape == (200, 2)
    assert draws.mean(axis=0) == pytest.approx([3.0, 48.0], abs=0.4)
    assert np.array_equal(study(X), quiet(X))
    record = recorder.finish(X[0])
    assert (record.spent, record.uncharged) == (2, 400)


def test_names_fall_back_on_the_class() -> None:
    problem = Sphere()
    assert name_of(problem) == "Sphere"
    problem.name = "mine"  # type: ignore[attr-defined]
    assert name_of(problem) == "mine"
    assert isinstance(problem, Problem)


@given(st.integers(1, 100_000))
def test_checkpoints_rise_to_the_budget(budget: int) -> None:
    found = checkpoints(budget)
    assert found[-1] == budget
    assert found[0] == min(4, budget)
    assert all(a < b for a, b in pairwise(found))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(0, 99))
def test_the_curve_does_not_depend_on_how_rows_are_batched(sizes: list[int], seed: int) -> None:
    """Best evaluated regret at a checkpoint is the minimum over exactly that many rows."""
    problem, budget = Sphere(), sum(sizes)
    X = np.random.default_rng(seed).uniform(-5, 5, (budget, 3))
    oracle, recorder = oracle_of(problem, budget)
    for rows in np.split(X, np.cumsum(sizes)[:-1]):
        oracle(rows)
    truth = np.minimum.accumulate(problem.regret(X))
    record = recorder.finish(X[0])
    assert [n for n, _, _ in record.curve] == list(checkpoints(budget))
    for n, best, _ in record.curve:
        assert best == pytest.approx(truth[n - 1])
    assert record.best_evaluated_regret == pytest.approx(truth[-1])


def test_a_checkpoint_takes_what_was_reported_before_it() -> None:
    problem = Sphere()
    recorder = Recorder(problem, (4, 6, 8))
    oracle = Oracle(problem, 8, np.random.default_rng(0), recorder)
    oracle(np.zeros((5, 3)))
    oracle.report(np.ones(3))
    oracle(np.zeros((3, 3)))
    curve = recorder.finish(np.full(3, 2.0)).curve
    reported = [r for _, _, r in curve]
    assert np.isnan(reported[0])
    assert reported[1:] == [0.0, 3.0]  # the last one is the point returned


def test_a_costly_truth_is_asked_for_six_points_only() -> None:
    problem = Costly()
    oracle, recorder = oracle_of(problem, budget=50)
    result = random_search(oracle, 50, seed=1)
    record = recorder.finish(result.x)
    assert problem.truths == 6
    assert record.best_evaluated_regret <= record.noisy_best_regret
    assert record.recommended_regret == pytest.approx(float(np.sum((result.x - 1) ** 2)))
    assert np.isfinite(record.noisy_best_regret)
    assert all(np.isnan(best) for _, best, _ in record.curve[:-1])
    assert record.curve[-1][1:] == (record.best_evaluated_regret, record.recommended_regret)


def test_the_promising_points_are_those_of_the_smallest_values_each_once() -> None:
    problem = Costly()
    recorder = Recorder(problem)
    X = np.arange(8.0)[:, None] * np.ones(3)
    recorder.note(X, np.array([9.0, 1.0, np.nan, 3.0, 4.0, 5.0, 6.0, 7.0]))
    recorder.note(X, np.array([9.0, 0.5, 8.0, 0.1, 4.5, 9.0, 9.0, 2.0]))  # again, every point
    assert [(value, x[0]) for value, x in recorder._promising] == [
        (0.1, 3.0),
        (0.5, 1.0),
        (2.0, 7.0),
        (4.0, 4.0),
        (5.0, 5.0),
    ]
    record = recorder.finish(X[0])
    assert record.best_evaluated_regret == 0.0  # at 1
    assert record.noisy_best_regret == pytest.approx(12.0)  # at 3


def test_failed_evaluations_are_no_best_value() -> None:
    problem = Sphere(noise=0.0)
    recorder = Recorder(problem)
    X = np.array([[3.0] * 3, [2.0] * 3, [0.5] * 3])
    recorder.note(X, np.full(3, np.nan))
    assert recorder.x_fallback is None
    recorder.note(X, np.array([np.nan, 5.0, 7.0]))
    record = recorder.finish(X[0])
    assert (record.noisy_best, record.noisy_best_regret) == (5.0, 3.0)
    assert record.best_evaluated_regret == pytest.approx(0.75)
