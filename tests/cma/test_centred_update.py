"""The centred update: a control variate, nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from noisewise.cma.covariance import Diagonal, Full
from noisewise.cma.strategy import Strategy, centring
from noisewise.cma.weights import Log

N, K = 6, 12


def steps(covariance: Diagonal | Full, centred: bool, runs: int = 4000) -> np.ndarray:
    """Changes of the mean when weights are handed out at random."""
    rng = np.random.default_rng(0)
    strategy = Strategy(N, covariance)
    state = strategy.start(np.zeros(N), 1.0)
    out = np.empty((runs, N))
    for i in range(runs):
        X = strategy.sample(state, K, rng)
        w = rng.permutation(Log().weights(K))
        out[i] = strategy.update(state, X, w, sampled=X if centred else None)[0].mean
    return out


@pytest.mark.parametrize("covariance", [Diagonal(), Full()])
def test_centring_takes_the_average_of_the_sample_out_of_the_step(
    covariance: Diagonal | Full,
) -> None:
    """Under random weights the variance falls from sum w^2 to sum w^2 - 1/k; the mean stays 0."""
    w = Log().weights(K)
    plain, centred = steps(covariance, False), steps(covariance, True)
    assert plain.var() == pytest.approx(w @ w, rel=0.05)
    assert centred.var() == pytest.approx(w @ w - 1.0 / K, rel=0.05)
    assert np.abs(centred.mean(axis=0)).max() < 0.03


@pytest.mark.parametrize("covariance", [Diagonal(), Full(laziness=0.0)])
def test_equal_weights_say_nothing(covariance: Diagonal | Full) -> None:
    """If all candidates weigh the same, a centred update moves neither mean nor covariance but
    for the decay of the rank-one term."""
    rng = np.random.default_rng(1)
    strategy = Strategy(N, covariance, mu_eff=4.0)
    state = strategy.start(np.zeros(N), 1.0)
    X = strategy.sample(state, K, rng)
    after, info = strategy.update(state, X, np.full(K, 1.0 / K), sampled=X)
    np.testing.assert_allclose(after.mean, 0.0, atol=1e-12)
    np.testing.assert_allclose(after.p_c, 0.0, atol=1e-12)
    kept = 1.0 - info.rates.c_1
    expected = kept * np.eye(N) if isinstance(covariance, Full) else np.full(N, kept)
    np.testing.assert_allclose(after.covariance.C, expected, atol=1e-12)


def test_mean_weights_move_the_mean_and_nothing_else() -> None:
    rng = np.random.default_rng(2)
    strategy = Strategy(N, Diagonal())
    state = strategy.start(np.zeros(N), 1.0)
    X = strategy.sample(state, K, rng)
    w = Log().weights(K)
    scores = np.linspace(1.0, -1.0, K)
    plain, _ = strategy.update(state, X, w, sampled=X)
    moved, _ = strategy.update(state, X, w, mean_weights=scores, sampled=X)
    np.testing.assert_allclose(moved.mean, scores @ X)
    assert moved.sigma == plain.sigma
    np.testing.assert_array_equal(moved.covariance.C, plain.covariance.C)


@pytest.mark.parametrize(("n", "k"), [(2, 6), (5, 8), (10, 10), (40, 15)])
@pytest.mark.parametrize("noise", [0.0, 1.0, 4.0])
def test_centring_is_the_regression_of_the_weighted_mean_on_the_plain_one(
    n: int, k: int, noise: float
) -> None:
    """On a sphere, at about the best step size; noise in standard deviations of the values."""
    rng = np.random.default_rng(n)
    w = Log().weights(k)
    Z = rng.standard_normal((4000, k, n))
    start = np.eye(n)[0] * np.sqrt(n) / 1.1
    values = ((start + Z) ** 2).sum(axis=2)
    spread = values.std(axis=1, keepdims=True)
    values += noise * spread * rng.standard_normal(values.shape)
    order = values.argsort(axis=1)
    best = np.einsum("j,ijn->in", w, np.take_along_axis(Z, order[:, :, None], axis=1))
    plain = Z.mean(axis=1)
    slope = ((best - best.mean(axis=0)) * plain).sum() / (plain**2).sum()
    reliability = 1.0 / (1.0 + noise**2)
    assert centring(n, 1.0 / float(w @ w), reliability) == pytest.approx(slope, abs=0.1)


def test_reliable_ranks_leave_more_of_the_average_in_the_step() -> None:
    rng = np.random.default_rng(3)
    strategy = Strategy(N, Diagonal())
    state = strategy.start(np.zeros(N), 1.0)
    X, w = strategy.sample(state, K, rng), Log().weights(K)
    after, info = strategy.update(state, X, w, sampled=X, reliability=0.5)
    b = N / (N + 0.5 * info.mu_eff)
    np.testing.assert_allclose(after.mean, w @ X - b * X.mean(axis=0))
