"""The model of ranks behind expected weights: its posterior and its choice of scales."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from noisewise._types import FloatArray
from noisewise.gp.ranking import chosen, matern, posterior, scores


def _data(noise: float, n: int = 60, seed: int = 0) -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3)) / np.sqrt(3.0)
    f = (Z * [1.0, 2.0, -1.0]).sum(axis=1)
    return Z, f, f + noise * rng.normal(size=n)


def test_the_posterior_is_the_textbook_one() -> None:
    """Mean and covariance by inverting the whole matrix, for any length scale and share."""
    Z, _, y = _data(0.5)
    t = scores(y)
    for length, signal in ((0.5, 0.3), (2.0, 0.9)):
        mean, root = posterior(Z, t, 7, length, signal)
        r = np.sqrt(((Z[:, None] - Z) ** 2).sum(axis=2)) / length
        K = signal * (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)
        inverse = np.linalg.inv(K + (1 - signal) * np.eye(60))
        residual = t - t.mean()
        a = residual @ inverse @ residual / 60
        np.testing.assert_allclose(mean, K[:7] @ inverse @ residual, atol=1e-8)
        expected = a * (K[:7, :7] - K[:7] @ inverse @ K[:, :7])
        np.testing.assert_allclose(root @ root.T, expected, atol=1e-8)
    assert matern(np.zeros(1))[0] == 1.0


def test_more_noise_is_seen_as_less_signal() -> None:
    shares = []
    for noise in (0.01, 1.0, 100.0):
        data = [_data(noise, seed=seed) for seed in range(10)]
        shares.append(float(np.mean([chosen(Z, scores(y))[1] for Z, _, y in data])))
    assert shares[0] > 0.95 > shares[1] > 0.5 > 0.2 > shares[2]


def test_the_posterior_knows_more_than_the_values() -> None:
    Z, f, y = _data(1.5)
    t = scores(y)
    mean, _ = posterior(Z, t, 20, *chosen(Z, t))
    assert spearmanr(mean, f[:20])[0] > spearmanr(y[:20], f[:20])[0] + 0.1


def test_equal_values_say_nothing() -> None:
    Z = np.random.default_rng(0).normal(size=(8, 3))
    t = scores(np.full(8, 4.0))
    mean, root = posterior(Z, t, 5, *chosen(Z, t))
    assert np.abs(mean).max() == np.abs(root).max() == 0.0
