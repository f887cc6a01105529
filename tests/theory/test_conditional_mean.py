"""PEM is the conditional mean of the hard-rank update, and what follows from that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise._types import FloatArray
from noisewise.cma.covariance import Diagonal, Full
from noisewise.cma.strategy import State, Strategy
from noisewise.cma.weights import Log, PowerLift, Profile, Uniform
from noisewise.measured.samples import ranks
from noisewise.methods import PEM

PROFILES = (Log(), Uniform(), PowerLift())
K, N, DRAWS = 9, 4, 500


@pytest.fixture
def X(rng: np.random.Generator) -> FloatArray:
    return rng.normal(size=(K, N))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def _draws(X: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Skewed noise that grows with the value."""
    f = (X * X).sum(axis=1)
    return np.asarray(f + (0.5 + f) * rng.exponential(size=(n, len(X))))


def _expected(Y: FloatArray, X: FloatArray, profile: Profile) -> FloatArray:
    """Weights of exact PEM for noise that takes exactly the rows of Y."""
    method = PEM(draws=lambda X, n, rng: Y, n_draws=len(Y), profile=profile)
    memory = method.start(support.setup(N))
    weights, _ = method.weigh(memory, support.population(Y[0], X), np.random.default_rng(0))
    assert weights.mean is None
    return weights.covariance


def _start(covariance: Any = None, sigma: float = 0.8) -> tuple[Strategy, State]:
    strategy = Strategy(N, covariance or Diagonal(), mu_eff=3.0)
    return strategy, strategy.start(np.array([0.5, -0.3, 0.2, 1.0]), sigma)


@pytest.mark.parametrize("profile", PROFILES)
def test_mean_of_updates_is_update_of_pem(
    profile: Profile, X: FloatArray, rng: np.random.Generator
) -> None:
    """Lemma 1: averaged over the noise, the hard-rank step of the mean is the step of PEM."""
    w, Y = profile.weights(K), _draws(X, DRAWS, rng)
    strategy, state = _start()
    hard = [strategy.update(state, X, w[ranks(y)])[0] for y in Y]
    soft = strategy.update(state, X, _expected(Y, X, profile))[0]
    np.testing.assert_allclose(np.mean([h.mean for h in hard], axis=0), soft.mean, atol=1e-13)
    assert np.std([h.mean for h in hard], axis=0).min() > 0.01  # the noise did matter


def test_lemma_holds_for_every_statistic_that_is_linear_in_the_weights(
    X: FloatArray, rng: np.random.Generator
) -> None:
    """With fixed rates the paths and the rank-mu update are conditional means too."""
    w, Y = Log().weights(K), _draws(X, DRAWS, rng)
    strategy, state = _start(Full(), sigma=3.0)
    hard = [strategy.update(state, X, w[ranks(y)]) for y in Y]
    soft, info = strategy.update(state, X, _expected(Y, X, Log()))
    assert info.moving
    assert all(i.moving for _, i in hard)
    for path in ("p_sigma", "p_c"):
        mean = np.mean([getattr(h, path) for h, _ in hard], axis=0)
        np.testing.assert_allclose(mean, getattr(soft, path), atol=1e-13)

    # The rank-one part is quadratic in p_c; what is left without it is linear.
    def rank_mu(s: State) -> FloatArray:
        return np.asarray(s.covariance.C - info.rates.c_1 * np.outer(s.p_c, s.p_c))

    np.testing.assert_allclose(
        np.mean([rank_mu(h) for h, _ in hard], axis=0), rank_mu(soft), atol=1e-13
    )


def test_pem_is_the_l2_projection(X: FloatArray, rng: np.random.Generator) -> None:
    """Lemma 2: no other step is closer to the random one in mean square, by exactly |a - PEM|^2."""
    w, Y = Log().weights(K), _draws(X, DRAWS, rng)
    steps = np.array([w[ranks(y)] @ X for y in Y])
    pem = _expected(Y, X, Log()) @ X

    def loss(a: FloatArray) -> float:
        return float(((steps - a) ** 2).sum(axis=1).mean())

    for a in pem + rng.normal(size=(20, N)):
        assert loss(a) == pytest.approx(loss(pem) + float((a - pem) @ (a - pem)), rel=1e-12)
        assert loss(a) > loss(pem)


def test_jensen_gap_is_half_the_variance_on_the_quadratic(
    X: FloatArray, rng: np.random.Generator
) -> None:
    """Theorem 1 with equality: on |x|^2/2 noise costs half the variance of the update."""
    w, Y = Log().weights(K), _draws(X, DRAWS, rng)
    strategy, state = _start()
    after = np.array([strategy.update(state, X, w[ranks(y)])[0].mean for y in Y])
    pem = strategy.update(state, X, _expected(Y, X, Log()))[0].mean

    gap = 0.5 * (after * after).sum(axis=1).mean() - 0.5 * pem @ pem
    variance = ((after - after.mean(axis=0)) ** 2).sum(axis=1).mean()
    assert gap == pytest.approx(0.5 * variance, rel=1e-12)
    assert gap > 0.05


def test_jensen_gap_is_at_least_that_where_curvature_is_at_least_one(
    X: FloatArray, rng: np.random.Generator
) -> None:
    """Theorem 1: with curvature of at least alpha the gap is at least alpha/2 of the variance."""
    w, Y = Uniform().weights(K), _draws(X, DRAWS, rng)
    steps = np.array([w[ranks(y)] @ X for y in Y])

    def f(x: FloatArray) -> FloatArray:  # Hessian between 1 and 3
        return np.asarray(((x * x) + np.sqrt(1.0 + x * x) - 0.5 * x * x).sum(axis=-1))

    mean = steps.mean(axis=0)
    gap = float(f(steps).mean() - f(mean))
    assert gap >= 0.5 * float(((steps - mean) ** 2).sum(axis=1).mean())


@pytest.mark.parametrize(("rates", "drift"), [("per-generation", (-3, 3)), ("fixed", (-90, -9))])
def test_rates_must_follow_the_expected_weights(rates: str, drift: tuple[float, float]) -> None:
    """Without any signal the step size should not move; with mu_eff of the profile it collapses,
    because expected weights make shorter steps than the profile's mu_eff promises."""
    method = PEM(draws=lambda X, n, rng: rng.normal(size=(n, len(X))), rates=rates)
    noise = np.random.default_rng(3)
    r = nw.minimize(
        lambda X: noise.normal(size=len(X)),
        np.zeros(10),
        sigma0=1.0,
        budget=2000,
        method=method,
        rng=1,
        vectorized=True,
    )
    assert drift[0] < np.log(r.history["sigma"][-1]) < drift[1]
