"""Small real tasks: what every one must do, and plain loops that compute the same."""

import pickle

import numpy as np
import pytest

from noisewise_bench.problem import Problem
from noisewise_bench.problems import SMALL_TASKS, make, suite
from noisewise_bench.problems.tasks import small_games, small_simulators
from noisewise_bench.problems.tasks.small_games import Blotto, Pig
from noisewise_bench.problems.tasks.small_models import Softmax
from noisewise_bench.problems.tasks.small_simulators import Inventory, Queue

DIMENSIONS = {
    "svm": 2,
    "tree": 3,
    "kernel-ridge": 2,
    "sgd": 4,
    "softmax": 21,
    "inventory": 2,
    "inventory-4": 8,
    "queue": 3,
    "pig": 3,
    "blotto": 6,
    "cartpole": 10,
    "pendulum": 4,
}


def points(problem, n, seed=0):
    low, high = problem.bounds
    return np.random.default_rng(seed).uniform(low, high, (n, len(low)))


@pytest.mark.parametrize("task", SMALL_TASKS)
def test_every_task_keeps_the_contract(task):
    problem = make(f"small-task/{task}/s2")
    assert isinstance(problem, Problem)
    assert len(problem.x0) == DIMENSIONS[task]
    assert 40 <= problem.budget <= 150
    low, high = problem.bounds
    assert np.all((low < problem.x0) & (problem.x0 < high))
    X = points(problem, 4)
    values = problem.noisy(X, np.random.default_rng(1))
    assert values.shape == (4,)
    assert np.all(np.isfinite(values) & (values >= 0.0))
    again = pickle.loads(pickle.dumps(problem))
    assert again.name == problem.name == f"small-task/{task}/s2"
    np.testing.assert_array_equal(again.noisy(X, np.random.default_rng(1)), values)
    truth = problem.regret(X[[0, 1, 0]])
    assert np.all(truth > 0.0)
    assert truth[0] == truth[2]
    np.testing.assert_allclose(again.regret(X[1:2]), truth[1:2], rtol=1e-12)


@pytest.mark.parametrize("task", ["softmax", "inventory", "queue", "pig", "blotto"])
def test_truth_is_the_mean_of_what_is_observed(task):
    problem = make(f"small-task/{task}/s1")
    x = points(problem, 1, seed=3)
    values = problem.noisy(np.repeat(x, 2000, axis=0), np.random.default_rng(4))
    simulated = 0.0 if task == "softmax" else 1.0 / problem.n_truth
    error = np.std(values) * np.sqrt(1 / 2000 + simulated)
    assert abs(np.mean(values) - problem.regret(x)[0]) < 5 * error


def test_seeds_are_different_problems_where_they_draw_something():
    for task in sorted(set(SMALL_TASKS) - {"cartpole", "pendulum", "tree", "svm", "sgd"}):
        first, second = (make(f"small-task/{task}/s{s}") for s in (1, 2))
        X = points(first, 3)
        assert not np.allclose(first.regret(X), second.regret(X)), task


def test_suite_names_every_task_and_seed():
    assert len(suite("small-tasks", instances=[1, 2])) == 2 * len(SMALL_TASKS)


def test_inventory_equals_a_plain_loop():
    problem = Inventory(3, products=2)
    X = np.array([[20.4, 55.0, 60.0, 30.0], [0.0, 10.0, 5.0, 0.0]])
    days = small_simulators.DAYS
    demand = np.random.default_rng(5).poisson(problem._demand, (2, days, 2))
    costs = []
    for x, wanted in zip(np.rint(X), demand, strict=True):
        stock = [x[0] + x[2], x[1] + x[3]]
        coming = [[], []]
        cost = 0.0
        for day in range(days):
            any_order = False
            for k in range(2):
                stock[k] += sum(amount for when, amount in coming[k] if when == day)
                coming[k] = [(when, amount) for when, amount in coming[k] if when > day]
                sold = min(stock[k], wanted[day, k])
                stock[k] -= sold
                cost += 12.0 * (wanted[day, k] - sold) + stock[k]
                position = stock[k] + sum(amount for _, amount in coming[k])
                if position <= x[k]:
                    amount = x[k] + x[2 + k] - position
                    coming[k].append((day + int(problem._delay[k]), amount))
                    any_order |= amount > 0
            cost += 60.0 * any_order
        costs.append(cost / days)
    np.testing.assert_allclose(problem.noisy(X, np.random.default_rng(5)), costs, rtol=1e-12)


def test_queue_equals_a_plain_loop():
    problem, X = Queue(2), np.array([[0.5, 1.0, 0.2], [2.0, -0.5, 4.0]])
    draws = np.random.default_rng(6).exponential(1.0, (2, small_simulators.CUSTOMERS, 4))
    costs = []
    for x, drawn in zip(X, draws, strict=True):
        free, now, spent = [0.0, 0.0, 0.0], 0.0, []
        for customer in drawn:
            now += customer[3]
            at = now
            for k in range(3):
                free[k] = at = max(at, free[k]) + customer[k] / 2.0 ** x[k]
            spent.append(at - now)
        costs.append(2.0 * np.mean(spent) + np.dot(2.0**x, problem._price))
    np.testing.assert_allclose(problem.noisy(X, np.random.default_rng(6)), costs, rtol=1e-12)


def test_a_turn_of_pig_stops_where_it_should():
    rng = np.random.default_rng(1)
    totals = small_games._turn(np.full(20_000, 20.0), np.full(20_000, 50.0), rng)
    scored = totals[totals > 0]
    assert scored.min() >= 20
    assert scored.max() <= 25
    # the known probability that holding at twenty scores nothing
    assert np.mean(totals == 0) == pytest.approx(0.6245, abs=0.02)


def test_holding_at_once_or_never_loses_pig():
    problem = Pig(1)
    sensible, at_once, never = problem.regret(
        np.array([[20.0, 0.0, 0.0], [0.0, 0.0, 0.0], [40.0, 20.0, 20.0]])
    )
    assert sensible < min(at_once, never)


def test_blotto_divides_by_the_sum_and_gives_up_with_nothing():
    problem = Blotto(1)
    x = points(problem, 1)
    np.testing.assert_array_equal(problem.regret(x), problem.regret(0.5 * x))
    assert problem.regret(np.zeros((1, 6)))[0] == 1.0


def test_softmax_equals_a_plain_loop():
    problem = Softmax(1)
    x = points(problem, 1, seed=2)[0]
    W = x.reshape(3, 7)
    losses = []
    for features, label in zip(problem._features, problem._labels, strict=True):
        z = W @ features
        losses.append(np.log(np.sum(np.exp(z))) - z[label])
    expected = np.mean(losses) + 0.005 * np.sum(x * x)
    assert problem.regret(x[None])[0] == pytest.approx(expected, rel=1e-12)
