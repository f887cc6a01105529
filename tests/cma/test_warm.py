"""Warm starts of evolution strategies: what is promising, and when it is given up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisewise as nw
import support
from noisewise._types import FloatArray
from noisewise.cma import warm
from noisewise.problem.earlier import Earlier

METHODS = ["cma-es", "sep-cma-es", "rb-pem", "watchful", "probe-switch", "psa-cma-es", "ra-cma-es"]
OPTIMUM = np.full(5, 2.0)


def earlier(d: int = 5, n: int = 100, seed: int = 3) -> tuple[FloatArray, FloatArray]:
    X = np.random.default_rng(seed).uniform(-5.0, 5.0, (n, d))
    return X, ((X - OPTIMUM[:d]) ** 2).sum(axis=1)


def run(method: str, data: object, sign: float = 1.0) -> nw.Result:
    noise = np.random.default_rng(1)

    def fun(x: FloatArray) -> float:
        return float(sign * ((x - OPTIMUM) ** 2).sum() + 0.5 * noise.normal())

    bounds = (np.full(5, -5.0), np.full(5, 5.0))
    return nw.minimize(fun, bounds=bounds, budget=200, method=method, rng=2, data=data, confirm=0)


def test_promising_is_the_moments_of_the_mixture() -> None:
    """N(m, S) has mean and covariance of the kernels around the best, up to shrinkage."""
    X, y = earlier(d=2, n=2000)
    found = warm.promising(X, y, 3.0)
    best = X[np.argsort(y)[:200]]
    S = found.sigma**2 * found.C
    np.testing.assert_allclose(found.mean, best.mean(axis=0))
    np.testing.assert_allclose(
        S, (0.6**2) * np.eye(2) + np.cov(best.T, ddof=0), rtol=0.05, atol=0.05
    )
    assert np.linalg.det(found.C) == pytest.approx(1.0)


@given(st.integers(1, 6), st.integers(3, 40), st.integers(0, 9))
def test_the_step_size_stays_within_its_limits(d: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-6, 6)
    found = warm.promising(X, rng.normal(size=n), 1.0)
    values = found.sigma**2 * np.linalg.eigvalsh(found.C)
    assert values.min() >= 0.99 * warm._ALPHA**2
    assert values.max() <= 1.01 * (1.0 + warm._ALPHA**2)


def test_a_wide_matrix_and_a_diagonal_one_agree() -> None:
    X, y = earlier(d=3)
    full = warm.promising(X[:, :1], y, 1.0)
    limit, warm._FULL_UP_TO = warm._FULL_UP_TO, 0
    try:
        diagonal = warm.promising(X[:, :1], y, 1.0)
    finally:
        warm._FULL_UP_TO = limit
    assert diagonal.C.shape == (1,)
    assert diagonal.sigma == pytest.approx(full.sigma)


def test_replicates_count_once_and_doubtful_values_less() -> None:
    X = np.array([[0.0], [1.0], [1.0], [2.0]])
    nothing = np.full(4, math.nan)
    merged, y = warm._merged(Earlier(X, np.array([3.0, 1.0, 2.0, np.inf]), nothing))
    assert merged.ravel().tolist() == [0.0, 1.0]
    assert y.tolist() == [3.0, 1.5]
    three = Earlier(X[[0, 1, 3]], np.array([0.0, 1.0, 2.0]), np.array([10.0, 0.0, 0.0]))
    assert warm._merged(three)[1][0] > 0.5  # drawn towards the mean of all


def test_nothing_is_learnt_from_constant_or_too_few_values() -> None:
    X, y = earlier()
    nothing = np.full(len(y), math.nan)
    state = nw.methods.CMAES().start(support.setup(d=5)).state
    assert warm.prepare(Earlier(X, np.ones(len(y)), nothing), state) is None
    assert warm.prepare(Earlier(X[:2], y[:2], nothing[:2]), state) is None
    assert warm.prepare(Earlier(X, np.full(len(y), np.inf), nothing), state) is None


def test_ranks_agree_as_they_should() -> None:
    a = np.arange(10.0)
    assert warm._agreement(a, a) == pytest.approx(3.0)  # sqrt(k - 1)
    assert warm._agreement(a, -a) == pytest.approx(-3.0)
    assert warm._agreement(a, np.ones(10)) == 0.0
    assert warm._lower(a, a + 0.0) == 0.0
    assert warm._lower(a, a + 100.0) == pytest.approx(50.0 / math.sqrt(100 * 21 / 12))
    assert warm._lower(np.full(3, np.inf), a) < 0.0


@pytest.mark.parametrize("method", METHODS)
def test_good_data_are_gone_on_from(method: str) -> None:
    assert "went on from 999 rows of earlier data" in run(method, earlier(n=999)).message


@pytest.mark.parametrize("method", METHODS)
def test_with_contrary_data_the_run_is_the_one_without(method: str) -> None:
    X, y = earlier()
    with_data, without = run(method, (X, -y)), run(method, None)
    assert "dropped: new values disagree" in with_data.message
    np.testing.assert_array_equal(with_data.x, without.x)


def test_a_jump_that_does_not_pay_is_taken_back() -> None:
    """Values that get worse where the data point: the cold distribution comes back."""
    method = nw.methods.CMAES()
    memory = method.start(support.setup(d=2))
    X = np.random.default_rng(0).normal(size=(40, 2)) + 5.0
    nothing = np.full(40, math.nan)
    method.absorb(memory, Earlier(X, ((X - 5.0) ** 2).sum(axis=1), nothing))
    rng = np.random.default_rng(1)
    cold = None
    for distance in (1.0, -1.0):  # nearer is better, then the nearer generation is worse
        at = memory.state.sigma * rng.normal(size=(8, 2)) + memory.state.mean
        values = distance * ((at - 5.0) ** 2).sum(axis=1) + (0.0 if distance > 0 else 1e3)
        before = memory.state
        memory, _ = method.learn(memory, support.population(values, at), None, rng)  # type: ignore[arg-type]
        if distance > 0:
            assert memory.warm.stage == warm.TRYING
            assert abs(memory.state.mean - 5.0).max() < 1.0
            cold = memory.warm.cold
        else:
            assert before is not memory.state
    assert memory.warm.stage == warm.DROPPED
    assert memory.state is cold


def test_data_that_come_late_are_refused_and_said_so() -> None:
    opt = support.start(nw.methods.CMAES(), budget=60)
    while opt.generation < 1:
        for trial in opt.ask():
            opt.tell(trial.id, support.noisy(trial))
    opt.add(np.zeros((4, 3)), np.arange(4.0))
    assert opt.result().warnings[-1] == (
        "method cma-es had no use for 4 rows of earlier data when they were added"
    )
