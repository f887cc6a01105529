"""The vectorised update equals the one in plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from naive import Naive

from noisewise._types import FloatArray
from noisewise.cma.covariance import Covariance, Diagonal, Full
from noisewise.cma.strategy import State, Strategy
from noisewise.cma.weights import Log, PowerLift, Profile, Uniform


def weights_of(profile: Profile, k: int, soft: bool, rng: np.random.Generator) -> FloatArray:
    """Weights in ask order: of one ranking, or averaged over several as PEM does."""
    w = profile.weights(k, rng.random())
    rankings = [rng.permutation(w) for _ in range(4 if soft else 1)]
    mean = np.mean(rankings, axis=0)
    positive = np.maximum(mean, 0.0)
    return np.asarray(np.where(mean > 0.0, mean / positive.sum(), mean))


def assert_close(found: Any, expected: Any, scale: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * scale)


def assert_same(state: State, twin: Naive, diagonal: bool) -> None:
    C = np.array(twin.C)
    expected = np.diagonal(C) if diagonal else C
    size = float(np.abs(C).max())
    assert_close(state.covariance.C, expected, size)
    assert_close(state.mean, twin.mean, twin.sigma * size**0.5)
    assert_close(state.sigma, twin.sigma, 0.0)
    assert_close(state.p_sigma, twin.p_sigma, 1.0)
    assert_close(state.p_c, twin.p_c, size**0.5)
    assert_close(state.unfilled, twin.unfilled, 0.0)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("c_mean", [1.0, 0.3])
@pytest.mark.parametrize("profile", [Log(), Log(active=True), Uniform(), PowerLift()])
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_update(n: int, diagonal: bool, profile: Profile, c_mean: float, soft: bool) -> None:
    rng = np.random.default_rng(n)
    model: Covariance = Diagonal() if diagonal else Full(laziness=0.0)
    strategy = Strategy(n, model)
    mean = rng.normal(size=n)
    state, twin = strategy.start(mean, 0.7), Naive(mean.tolist(), 0.7, diagonal)
    for _ in range(15):
        k = int(rng.integers(2, 12))  # the population may change from one update to the next
        # Not the strategy's own samples: long steps make p_sigma long, so both h_sigma occur.
        X = state.mean + state.sigma * rng.normal(size=(k, n)) * rng.choice([0.5, 1.0, 3.0])
        weights = weights_of(profile, k, soft, rng)
        state, _ = strategy.update(state, X, weights, c_mean)
        twin.update(X.tolist(), weights.tolist(), c_mean)
        assert_same(state, twin, diagonal)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_weiszfeld_update(n: int, diagonal: bool, centred: bool) -> None:
    rng = np.random.default_rng(n)
    model: Covariance = Diagonal() if diagonal else Full(laziness=0.0)
    strategy = Strategy(n, model, recombination="weiszfeld")
    state, twin = strategy.start(np.ones(n), 0.7), Naive([1.0] * n, 0.7, diagonal, weiszfeld=True)
    for _ in range(15):
        X = strategy.sample(state, 8, rng)
        weights = weights_of(Log(active=not centred), 8, True, rng)
        raw = X if centred else None
        state, _ = strategy.update(state, X, weights, 0.8, None, raw)
        twin.update(X.tolist(), weights.tolist(), 0.8, None, raw if raw is None else raw.tolist())
        assert_same(state, twin, diagonal)


@pytest.mark.parametrize("lifted", [False, True])
@pytest.mark.parametrize("repaired", [False, True])
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_centred_update(n: int, diagonal: bool, repaired: bool, lifted: bool) -> None:
    """Measured against what was sampled; ``lifted``: with weights of the mean of their own."""
    rng = np.random.default_rng(n)
    model: Covariance = Diagonal() if diagonal else Full(laziness=0.0)
    strategy = Strategy(n, model)
    state, twin = strategy.start(np.zeros(n), 0.7), Naive([0.0] * n, 0.7, diagonal)
    for _ in range(15):
        k = int(rng.integers(5, 12))
        raw = strategy.sample(state, k, rng)
        X = np.clip(raw, -1.0, 1.5) if repaired else raw
        weights = weights_of(Log(), k, True, rng)
        mean_weights = rng.normal(size=k) / k
        mean_weights -= mean_weights.mean()
        state, _ = strategy.update(state, X, weights, 0.8, mean_weights if lifted else None, raw)
        listed = mean_weights.tolist() if lifted else None
        twin.update(X.tolist(), weights.tolist(), 0.8, listed, raw.tolist())
        assert_same(state, twin, diagonal)


@pytest.mark.parametrize("diagonal", [False, True])
def test_centred_update_without_any_selection(diagonal: bool) -> None:
    """Equal weights for all say nothing, so the mean stays; nothing is divided by zero."""
    rng = np.random.default_rng(0)
    model: Covariance = Diagonal() if diagonal else Full(laziness=0.0)
    strategy = Strategy(3, model)
    state = strategy.start(np.ones(3), 1.0)
    for k in (2, 3, 7, 49):
        X = strategy.sample(state, k, rng)
        new, _ = strategy.update(state, X, np.full(k, 1.0 / k), sampled=X)
        np.testing.assert_allclose(new.mean, state.mean, rtol=1e-12)
        assert np.isfinite(new.covariance.D).all()


def test_fixed_mu_eff_overrides_that_of_the_weights() -> None:
    rng = np.random.default_rng(0)
    strategy = Strategy(3, Full(), mu_eff=2.5)
    state = strategy.start(np.zeros(3), 1.0)
    X = rng.normal(size=(6, 3))
    for profile in (Log(), Uniform()):
        _, info = strategy.update(state, X, profile.weights(6))
        assert info.mu_eff == 2.5
        assert info.rates == Full().rates(3, 2.5)


def test_lazy_decomposition_changes_only_what_is_sampled() -> None:
    """Between two decompositions C goes on learning; B and D wait."""
    rng = np.random.default_rng(0)
    lazy = Strategy(10, Full(laziness=10.0))
    state = lazy.start(np.zeros(10), 1.0)
    twin = Naive([0.0] * 10, 1.0, diagonal=False)
    X = rng.normal(size=(10, 10))
    state, _ = lazy.update(state, X, Log().weights(10))
    twin.update(X.tolist(), Log().weights(10).tolist(), 1.0)
    assert_same(state, twin, diagonal=False)
    np.testing.assert_array_equal(state.covariance.D, np.ones(10))
    while state.covariance.stale > 0.0:
        state, _ = lazy.update(state, state.mean + rng.normal(size=(10, 10)), Log().weights(10))
    B, D, C = state.covariance.B, state.covariance.D, state.covariance.C
    np.testing.assert_allclose((B * D**2) @ B.T, C, atol=1e-12)
