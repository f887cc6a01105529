"""What the strategy promises besides its equations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise._types import FloatArray
from noisewise.cma.covariance import Covariance, Diagonal, Full, diagonal_rates, full_rates
from noisewise.cma.strategy import State, Strategy, safe_sigma
from noisewise.cma.weights import Log, Profile, Uniform

MODELS: list[Covariance] = [Full(), Full(laziness=0.0), Diagonal()]
PROFILES: list[Profile] = [Log(), Log(active=True), Uniform()]


def evolved(strategy: Strategy, generations: int, seed: int = 0, active: bool = True) -> State:
    """After a few generations on a badly scaled ellipsoid."""
    rng = np.random.default_rng(seed)
    state = strategy.start(np.full(strategy.n, 3.0), 1.0)
    scales = np.logspace(0, 2, strategy.n)
    profile = Log(active=active)
    for _ in range(generations):
        X = strategy.sample(state, 10, rng)
        weights = np.empty(10)
        weights[(X * X @ scales).argsort()] = profile.weights(10)
        state, _ = strategy.update(state, X, weights)
    return state


def matrix(state: State) -> FloatArray:
    C = state.covariance.C
    return np.asarray(np.diag(C) if C.ndim == 1 else C)


@pytest.mark.parametrize("model", MODELS)
def test_samples_follow_the_distribution(model: Covariance) -> None:
    strategy = Strategy(3, model)
    state = evolved(strategy, 30)
    X = strategy.sample(state, 200_000, np.random.default_rng(1))
    C = state.sigma**2 * matrix(state)
    if isinstance(model, Full):  # samples follow the last decomposition
        cov = state.covariance
        C = state.sigma**2 * (cov.B * cov.D**2) @ cov.B.T
    size = np.sqrt(np.outer(np.diag(C), np.diag(C)))
    np.testing.assert_allclose((X.mean(axis=0) - state.mean) / np.sqrt(np.diag(C)), 0.0, atol=0.02)
    np.testing.assert_allclose(np.cov(X.T) / size, C / size, atol=0.02)


@pytest.mark.parametrize("model", MODELS)
def test_whitening_undoes_stretching(model: Covariance) -> None:
    state = evolved(Strategy(4, model), 20)
    Z = np.random.default_rng(0).normal(size=(6, 4))
    Y = model.stretch(state.covariance, Z.copy())
    back = model.whiten(state.covariance, Y)
    # C^(-1/2) A Z is a rotation of Z.
    np.testing.assert_allclose(np.linalg.norm(back, axis=1), np.linalg.norm(Z, axis=1), rtol=1e-9)
    np.testing.assert_allclose(model.whiten(state.covariance, Y[2]), back[2], rtol=1e-12)


@given(
    n=st.integers(1, 8),
    k=st.integers(2, 15),
    profile=st.sampled_from(PROFILES),
    model=st.sampled_from(MODELS),
    seed=st.integers(0, 1000),
    c_mean=st.floats(0.1, 1.0),
)
def test_candidates_may_come_in_any_order(
    n: int, k: int, profile: Profile, model: Covariance, seed: int, c_mean: float
) -> None:
    rng = np.random.default_rng(seed)
    strategy = Strategy(n, model)
    state = strategy.start(rng.normal(size=n), 2.0)
    X = strategy.sample(state, k, rng)
    weights = rng.permutation(profile.weights(k))
    shuffle = rng.permutation(k)
    one, _ = strategy.update(state, X, weights, c_mean)
    two, _ = strategy.update(state, X[shuffle], weights[shuffle], c_mean)
    np.testing.assert_allclose(one.mean, two.mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(one.sigma, two.sigma, rtol=1e-10)
    np.testing.assert_allclose(matrix(one), matrix(two), rtol=1e-9, atol=1e-12)


@given(
    n=st.integers(1, 6),
    model=st.sampled_from(MODELS),
    profile=st.sampled_from(PROFILES),
    seed=st.integers(0, 10**6),
)
def test_the_covariance_stays_positive_definite(
    n: int, model: Covariance, profile: Profile, seed: int
) -> None:
    """Under random selection, with steps of any length and negative weights."""
    rng = np.random.default_rng(seed)
    strategy = Strategy(n, model)
    state = strategy.start(np.zeros(n), 1.0)
    for _ in range(25):
        k = int(rng.integers(2, 20))
        X = state.mean + state.sigma * rng.choice([1e-3, 1.0, 30.0]) * rng.normal(size=(k, n))
        state, info = strategy.update(state, X, rng.permutation(profile.weights(k)))
        values = np.linalg.eigvalsh(matrix(state))
        assert values.min() > 0.0
        assert np.isfinite(values).all()
        assert 1.0 <= info.mu_eff <= k


def test_update_changes_nothing_in_place() -> None:
    for model in MODELS:
        strategy = Strategy(3, model)
        state = evolved(strategy, 5)
        before = [np.copy(v) for v in (state.mean, state.p_sigma, state.p_c, matrix(state))]
        X = strategy.sample(state, 8, np.random.default_rng(0))
        kept, weights = X.copy(), Log(active=True).weights(8).copy()
        strategy.update(state, X, weights)
        np.testing.assert_array_equal(X, kept)
        np.testing.assert_array_equal(weights, Log(active=True).weights(8))
        after = (state.mean, state.p_sigma, state.p_c, matrix(state))
        for a, b in zip(after, before, strict=True):
            np.testing.assert_array_equal(a, b)


def test_start_copies_the_mean() -> None:
    mean = np.zeros(2)
    state = Strategy(2, Full()).start(mean, 1.0)
    mean[0] = 5.0
    assert state.mean[0] == 0.0


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_a_covariance_beyond_repair_starts_again(model: Covariance, bad: float) -> None:
    strategy = Strategy(3, model)
    state = strategy.start(np.zeros(3), 1.0)
    X = np.random.default_rng(0).normal(size=(6, 3))
    X[0] = bad
    with np.errstate(all="ignore"):
        new = model.update(
            state.covariance, 0.5, model.rates(3, 3.0), state.p_c, Log().weights(6), X, None, 0.0
        )
    if model == Full():  # decomposed when it is due
        given = (new, 0.5, model.rates(3, 3.0), state.p_c, np.ones(6), np.zeros((6, 3)), None, 0.0)
        new = Full(laziness=0.0).update(*given)
    assert np.isfinite(model.stretch(new, np.ones((1, 3)))).all()


def test_a_covariance_that_vanishes_starts_again() -> None:
    for model in MODELS[1:]:
        state = model.start(2)
        given = (np.zeros(2), np.ones(3) / 3, np.zeros((3, 2)), None, 0.0)
        new = model.update(state, 0.0, model.rates(2, 2.0), *given)
        np.testing.assert_array_equal(new.D, [1.0, 1.0])


def test_a_degenerate_covariance_is_lifted() -> None:
    Y = np.array([[1.0, 0.0], [2.0, 0.0]])
    for model in MODELS[1:]:
        given = (np.zeros(2), np.ones(2), Y, None, 0.0)
        new = model.update(model.start(2), 0.0, model.rates(2, 2.0), *given)
        assert new.D.min() > 0.0
        assert new.D.max() / new.D.min() <= 1.1e7


def test_step_size_grows_at_most_by_e_and_never_overflows() -> None:
    strategy = Strategy(2, Diagonal())
    state = strategy.start(np.zeros(2), 1.0)
    X = np.full((4, 2), 1e6)
    new, _ = strategy.update(state, X, Log().weights(4))
    assert new.sigma <= math.e * state.sigma * (1.0 + 1e-12)
    assert safe_sigma(1e300) == 1e150
    assert safe_sigma(0.0) == 1e-150
    for sigma in (1e150, 1e-150):
        state = strategy.start(np.zeros(2), sigma)
        for _ in range(5):
            X = strategy.sample(state, 6, np.random.default_rng(0))
            state, _ = strategy.update(state, X, Log().weights(6))
        assert np.isfinite(state.mean).all()
        assert 1e-150 <= state.sigma <= 1e150


@given(n=st.integers(1, 500), mu_eff=st.floats(1.0, 1000.0))
def test_rates_are_rates(n: int, mu_eff: float) -> None:
    full, diagonal = full_rates(n, mu_eff), diagonal_rates(n, mu_eff)
    for rates in (full, diagonal):
        assert 0.0 < rates.c_sigma < 1.0
        assert rates.d_sigma >= 1.0
        assert 0.0 < rates.c_c <= 1.0
        assert 0.0 < rates.c_1 < 1.0
        assert rates.c_mu >= -1e-15
        assert rates.c_1 + rates.c_mu <= 1.0
    assert diagonal.c_1 + diagonal.c_mu >= full.c_1 + full.c_mu - 1e-7


def test_fewer_parameters_are_learnt_faster() -> None:
    n, mu_eff = 20, 5.0
    assert diagonal_rates(n, mu_eff).c_mu == pytest.approx((n + 2) / 3 * full_rates(n, mu_eff).c_mu)


@pytest.mark.parametrize("model", [Full(laziness=0.0), Diagonal()])
def test_the_ellipsoid_is_learnt(model: Covariance) -> None:
    """Standard deviations follow the inverse square root of the curvature."""
    strategy = Strategy(5, model)
    state = evolved(strategy, 400, active=False)
    spread = np.sqrt(np.diagonal(matrix(state))) * np.sqrt(np.logspace(0, 2, 5))
    assert spread.max() / spread.min() < 3.0
    assert np.abs(state.mean).max() < 1e-6


@pytest.mark.parametrize("model", [Full(laziness=0.0), Diagonal()])
def test_movement_and_blend_agree_with_the_matrices(model: Covariance) -> None:
    strategy = Strategy(3, model)
    before, after = evolved(strategy, 10), evolved(strategy, 12)
    q, eta = 1.7, 0.4
    A, B = matrix(before), matrix(after)
    moved = model.movement(before.covariance, after.covariance, q)
    values, vectors = np.linalg.eigh(A)
    root = (vectors / np.sqrt(values)) @ vectors.T
    expected = root @ (q * B - A) @ root / math.sqrt(2.0)
    found = np.diag(moved) if moved.ndim == 1 else moved
    np.testing.assert_allclose(found, expected, atol=1e-9)
    blended, growth = model.blend(before.covariance, after.covariance, q, eta)
    C = np.diag(blended.C) if blended.C.ndim == 1 else blended.C
    np.testing.assert_allclose(growth**2 * C, A + eta * (q * B - A), rtol=1e-9, atol=1e-12)
    assert np.linalg.det(C) == pytest.approx(1.0)


@pytest.mark.parametrize("model", [Full(), Diagonal()])
def test_scatter_is_what_samples_scatter(model: Covariance) -> None:
    Z = np.random.default_rng(0).normal(size=(40_000, 4))
    outer = np.einsum("ij,ik->ijk", Z, Z) - np.eye(4)
    if isinstance(model, Diagonal):
        outer = np.einsum("ijj->ij", outer)[:, :, None]
    assert (outer**2).sum(axis=(1, 2)).mean() == pytest.approx(model.scatter(4), rel=0.05)


def test_repeated_weiszfeld_steps_reach_the_geometric_median() -> None:
    """Each step of the mean is one step of Weiszfeld's iteration, and an outlier has no say
    beyond its direction."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1e6, 1e6]])
    strategy = Strategy(2, Diagonal(), mu_eff=2.0, recombination="weiszfeld")
    mean = np.array([0.4, 0.3])
    for _ in range(300):
        mean = strategy.update(strategy.start(mean, 1.0), X, np.full(4, 0.25))[0].mean
    directions = (X - mean) / np.linalg.norm(X - mean, axis=1)[:, None]
    np.testing.assert_allclose(directions.sum(axis=0), 0.0, atol=1e-6)
    assert np.abs(mean).max() < 1.0


def test_a_weiszfeld_step_survives_candidates_on_the_mean() -> None:
    X = np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    strategy = Strategy(2, Diagonal(), recombination="weiszfeld")
    new, _ = strategy.update(strategy.start(np.ones(2), 1.0), X, np.array([0.4, 0.3, 0.3]))
    np.testing.assert_allclose(new.mean, 1.0, atol=1e-9)


def test_a_slow_diagonal_differs_from_the_diagonal_in_its_rates_only() -> None:
    fast, slow = Diagonal(), Diagonal(slow=True)
    assert slow.rates(40, 4.5) == full_rates(40, 4.5)
    assert slow.rates(40, 4.5).c_mu < 0.1 * fast.rates(40, 4.5).c_mu
    before = fast.start(3)
    given = (0.9, fast.rates(3, 2.0), np.ones(3), np.full(4, 0.25), np.ones((4, 3)), None, 0.0)
    np.testing.assert_array_equal(slow.update(before, *given).C, fast.update(before, *given).C)
