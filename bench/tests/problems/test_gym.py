"""Gymnasium environments as problems."""

import pickle

import gymnasium
import numpy as np
import pytest

from noisewise_bench.problem import Problem
from noisewise_bench.problems.gym import Gym, _actions


def test_cartpole_with_a_linear_policy():
    problem = Gym("CartPole-v1")
    assert isinstance(problem, Problem)
    assert len(problem.x0) == (4 + 1) * 2
    upright = np.zeros(10)
    upright[4:8] = [0.1, 0.2, 2.0, 1.0]  # the second action wins where the pole leans right
    X = np.vstack([problem.x0, upright])
    values = problem.noisy(X, np.random.default_rng(0))
    np.testing.assert_array_equal(values, problem.noisy(X, np.random.default_rng(0)))
    fallen, balanced = problem.regret(X)
    assert balanced == -500.0
    assert -12.0 < fallen < -8.0
    np.testing.assert_array_equal(problem.regret(X), [fallen, balanced])


def test_pendulum_with_a_hidden_layer_equals_a_plain_loop():
    problem = pickle.loads(pickle.dumps(Gym("Pendulum-v1", hidden=4)))
    assert problem.name == "gym/Pendulum-v1/h4"
    assert len(problem.x0) == (3 + 1) * 4 + (4 + 1)
    x = np.random.default_rng(0).uniform(-2, 2, 21)
    env = gymnasium.make("Pendulum-v1")
    seed = np.random.default_rng(9).integers(2**31, size=1)[0]
    seen, _ = env.reset(seed=int(seed))
    total, over = 0.0, False
    while not over:
        inner = np.tanh(x[:12].reshape(4, 3) @ seen + x[12:16])
        torque = 2 * np.tanh(x[16:20] @ inner + x[20])
        seen, reward, _, over, _ = env.step(np.array([torque], dtype=np.float32))
        total += reward
    assert problem.noisy(x[None], np.random.default_rng(9))[0] == pytest.approx(-total, rel=1e-3)


def test_says_what_it_cannot_drive():
    with pytest.raises(ValueError, match="observes a Box"):
        Gym("FrozenLake-v1")
    with pytest.raises(ValueError, match="hidden is -1"):
        Gym("CartPole-v1", hidden=-1)


def test_numbered_actions_may_start_anywhere_and_others_must_be_bounded():
    problem = Gym("CartPole-v1")
    problem._env.unwrapped.action_space = gymnasium.spaces.Discrete(2, start=3)
    assert problem._act(problem._unpack(np.arange(10.0)), np.ones(4)) == 4
    problem._env.unwrapped.action_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))
    with pytest.raises(ValueError, match="Discrete or bounded Box"):
        _actions(gymnasium, problem._env)
