"""The external tasks: one contract for all, and each simulation against an independent one."""

import pickle

import gymnasium
import numpy as np
import pytest

from noisewise_bench.problem import Problem
from noisewise_bench.problems import TASKS, make
from noisewise_bench.problems.tasks import cartpole, lqr, pendulum
from noisewise_bench.problems.tasks.hpo import HPO
from noisewise_bench.problems.tasks.logistic import LogisticRegression
from noisewise_bench.problems.tasks.mlp_digits import MLPDigits

DIMENSIONS = {
    "lqr": 40,
    "hpo-digits": 5,
    "hpo-breast-cancer": 5,
    "cartpole": 43,
    "cartpole-ht": 43,
    "pendulum": 41,
    "pendulum-ht": 41,
    "mlp-digits-b4": 265,
    "mlp-digits-b16": 265,
    "mlp-digits-b256": 265,
    "logistic": 31,
}


def population(problem, n, seed=0):
    """Rows drawn as an optimiser would draw its first ones."""
    low, high = problem.bounds
    steps = np.random.default_rng(seed).standard_normal((n, len(problem.x0)))
    return np.clip(problem.x0 + 0.3 * np.min(high - low) * steps, low, high)


@pytest.mark.parametrize("task", TASKS)
def test_every_task_is_a_problem(task):
    problem = make(f"task/{task}/s2")
    assert isinstance(problem, Problem)
    assert len(problem.x0) == DIMENSIONS[task]
    assert problem.budget > 0
    low, high = problem.bounds
    assert np.all((low < problem.x0) & (problem.x0 < high))
    X = population(problem, 6)
    values = problem.noisy(X, np.random.default_rng(1))
    assert values.shape == (6,)
    assert np.all(np.isfinite(values) & (values >= 0.0))
    again = pickle.loads(pickle.dumps(problem))
    assert again.name == problem.name
    np.testing.assert_array_equal(again.noisy(X, np.random.default_rng(1)), values)
    other = problem.noisy(X, np.random.default_rng(2))
    assert np.array_equal(other, values) == (task == "mlp-digits-b256")  # the one without noise
    truth = problem.regret(X[:2])
    np.testing.assert_array_equal(again.regret(X[:2]), truth)
    np.testing.assert_allclose(problem.regret(X[1:2]), truth[1:], rtol=1e-12)


@pytest.mark.parametrize(
    "task", ["hpo-digits", "cartpole", "cartpole-ht", "pendulum", "mlp-digits-b4", "logistic"]
)
def test_truth_is_the_mean_of_what_is_observed(task):
    """Also for the simulated truths, within five standard errors of both estimates."""
    problem = make(f"task/{task}/s1")
    x = population(problem, 1, seed=3)
    n = 1000
    values = problem.noisy(np.repeat(x, n, axis=0), np.random.default_rng(4))
    exact = not getattr(problem, "truth_is_costly", False)
    error = np.std(values) * np.sqrt(1 / n + (0 if exact else 1 / problem.n_truth))
    truth = problem.regret(x)[0] + (problem.fopt if task == "logistic" else 0.0)
    assert abs(np.mean(values) - truth) < 5 * error


def test_lqr_equals_a_plain_loop():
    problem = lqr.LQR(seed=3)
    A, B = problem._A, problem._B
    inner = (A - 0.1 * np.eye(8)) / 0.9
    assert np.max(np.abs(np.linalg.eigvals(inner))) == pytest.approx(1.2)
    assert np.sqrt(np.mean(B**2)) == pytest.approx(0.6)
    K = np.random.default_rng(0).uniform(-0.5, 0.5, 40)
    rng = np.random.default_rng(7)
    x, shocks, cost = 0.5 * rng.standard_normal((1, 8))[0], rng.standard_t(3, (30, 1, 8)), 0.0
    for shock in shocks[:, 0]:
        u = 2 * np.tanh(-K.reshape(5, 8) @ x / 2)
        cost += x @ x + 0.05 * u @ u
        spread = 0.25 * min(5, 1 + 2 * np.linalg.norm(x) / np.sqrt(8))
        x = A @ x + B @ u + spread * shock
    shown = problem.noisy(K[None], np.random.default_rng(7))[0]
    assert shown == pytest.approx(cost + 5 * x @ x)


def test_lqr_punishes_divergence():
    problem = lqr.LQR(seed=3)
    problem._A = 10.0 * problem._A
    assert problem.noisy(np.zeros((1, 40)), np.random.default_rng(0))[0] == 1e30
    assert not np.array_equal(lqr.LQR(1)._A, lqr.LQR(2)._A)


def policy(x, inputs, hidden, observed):
    cut = inputs * hidden
    inner = np.tanh(x[:cut].reshape(hidden, inputs) @ observed + x[cut : cut + hidden])
    return inner @ x[cut + hidden : -1] + x[-1]


def test_cartpole_moves_like_gymnasiums():
    env = gymnasium.make("CartPole-v1").unwrapped
    problem = make("task/cartpole/s1")
    lengths = []
    for seed, x in enumerate(population(problem, 8)):
        env.reset(seed=0)
        env.state = np.random.default_rng(seed).uniform(-0.05, 0.05, (1, 4))[0]
        steps, over = 0, False
        while not over and steps < 200:
            _, _, over, _, _ = env.step(int(policy(x, 4, 7, np.array(env.state)) > 0))
            steps += 1
        assert problem.noisy(x[None], np.random.default_rng(seed))[0] == 200 - steps
        lengths.append(steps)
    assert len(set(lengths)) > 3


def test_cartpole_with_heavy_tails_costs_more_for_falling_early():
    problem = make("task/cartpole-ht/s1")
    upright = np.zeros(43)
    upright[[0, 1, 2, 3]] = [0.1, 0.2, 2.0, 1.0]  # one unit that leans against the fall
    upright[35] = 1.0
    rows = np.vstack([np.zeros(43), upright])
    fallen, balanced = problem.regret(rows)
    assert fallen > cartpole.MISSING_STEP_COST * 180
    assert balanced < 0.5 * fallen


def test_pendulum_moves_like_gymnasiums():
    env = gymnasium.make("Pendulum-v1").unwrapped
    problem = pendulum.Pendulum()
    problem._scale = 0.0
    for seed, x in enumerate(population(problem, 3)):
        rng = np.random.default_rng(seed)
        env.reset(seed=0)
        env.state = np.array([rng.uniform(-np.pi, np.pi, 1)[0], rng.uniform(-1, 1, 1)[0]])
        cost = 0.0
        for _ in range(200):
            th, w = env.state
            a = 2 * np.tanh(policy(x, 3, 8, np.array([np.cos(th), np.sin(th), w])))
            cost -= env.step(np.array([a]))[1]
        assert problem.noisy(x[None], np.random.default_rng(seed))[0] == pytest.approx(cost)


@pytest.mark.parametrize("data", ["digits", "breast-cancer"])
def test_hpo_rewards_training(data):
    """Hardly any training leaves the loss of a coin; a sensible rate learns."""
    untrained, trained = HPO(1, data).regret(
        np.array([[-4.0, -6.0, -3.0, 8.0, -3.0], [-1.0, -6.0, 0.0, 8.0, -3.0]])
    )
    assert untrained == pytest.approx(np.log(2), abs=0.02)
    assert trained < 0.2
    far, edge = np.array([[-9.0, -4.0, 0.0, 60.0, -9.0], [-4.0, -4.0, 0.0, 8.0, -3.0]])
    assert HPO(1, data).regret(far[None]) == HPO(1, data).regret(edge[None])
    with pytest.raises(ValueError, match="data is 'iris'"):
        HPO(1, "iris")


def test_mlp_noise_falls_with_the_batch():
    x = population(MLPDigits(), 1)
    rows = np.repeat(x, 400, axis=0)
    spreads = []
    for batch in (4, 16, 256):
        problem = MLPDigits(1, batch)
        assert problem.regret(np.zeros((1, 265)))[0] == pytest.approx(np.log(2))
        spreads.append(np.ptp(problem.noisy(rows, np.random.default_rng(0))))
    assert spreads[0] > 1.5 * spreads[1] > 0.0
    assert spreads[2] == 0.0  # a batch of all rows is no sample
    X = population(problem, 20)
    values = problem.noisy(X, np.random.default_rng(0))
    np.testing.assert_array_equal(problem.noisy(X[3:7], np.random.default_rng(1)), values[3:7])
    np.testing.assert_array_equal(problem.regret(X), values)
    with pytest.raises(ValueError, match="batch is 0"):
        MLPDigits(1, 0)


@pytest.mark.parametrize("seed", [1, 2, 50])
def test_logistic_knows_its_optimum(seed):
    problem = LogisticRegression(seed)
    low, high = problem.bounds
    assert np.all((low < problem.xopt) & (problem.xopt < high))
    around = problem.xopt + 1e-3 * np.random.default_rng(0).standard_normal((50, 31))
    assert problem.regret(problem.xopt[None])[0] == 0.0
    assert np.all(problem.regret(around) > 1e-8)


def test_a_seed_must_not_be_negative():
    with pytest.raises(ValueError, match="seed is -1"):
        lqr.LQR(-1)
