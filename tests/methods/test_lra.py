"""LRA-CMA-ES: learning rates that follow the signal-to-noise ratio."""

from __future__ import annotations

import math

import cmaes
import noisy
import numpy as np
import pytest

import noisewise as nw
from noisewise.cma.covariance import Covariance, Diagonal, DiagonalState, Full, FullState
from noisewise.cma.learning_rate import LearningRate, mean_movement, shape_movement
from noisewise.cma.strategy import State, Strategy
from noisewise.cma.weights import Log, rank_weights
from noisewise.methods import CMAES, LRACMAES


@pytest.mark.parametrize(("d", "population"), [(2, 6), (5, 7), (10, 10), (20, 30)])
@pytest.mark.parametrize("noise", [0.0, 100.0])
def test_parity_with_cmaes_over_200_generations(d: int, population: int, noise: float) -> None:
    """Equal samples, an ellipsoid: mean, step size, covariance and both rates stay equal."""
    peer = cmaes.CMA(
        mean=np.full(d, 3.0), sigma=2.0, seed=3, lr_adapt=True, population_size=population
    )
    covariance = Full(laziness=math.inf)
    strategy, adaptation = Strategy(d, covariance), LearningRate(covariance)
    state, signals = strategy.start(np.full(d, 3.0), 2.0), adaptation.start(d)
    profile = Log(active=True).weights(population)
    rng = np.random.default_rng(1)
    for _ in range(200):
        X = np.array([peer.ask() for _ in range(population)])
        f = X * X @ 10.0 ** np.linspace(0.0, 3.0, d) + noise * rng.standard_normal(population)
        peer.tell(list(zip(X, f, strict=True)))
        after, _ = strategy.update(state, X, rank_weights(f, profile))
        signals, state = adaptation.adapt(signals, state, after)
        np.testing.assert_allclose(state.mean, peer._mean, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(state.sigma, peer._sigma, rtol=1e-6)
        scale = np.abs(peer._C).max()
        np.testing.assert_allclose(state.covariance.C / scale, peer._C / scale, atol=1e-6)
    assert signals.mean.eta == pytest.approx(peer._eta_mean, rel=1e-6)
    assert signals.shape.eta == pytest.approx(peer._eta_Sigma, rel=1e-6)


def _random_states(seed: int, n: int) -> tuple[FullState, FullState]:
    rng = np.random.default_rng(seed)
    states = []
    for _ in range(2):
        A = rng.standard_normal((n, n + 3))
        D2, B = np.linalg.eigh(A @ A.T)
        states.append(FullState((B * D2) @ B.T, B, np.sqrt(D2)))
    return states[0], states[1]


def test_blending_interpolates_and_has_determinant_one() -> None:
    before, after = _random_states(0, 5)
    for eta in (0.0, 0.3, 1.0):
        state, growth = Full().blend(before, after, 1.7, eta)
        blended = before.C + eta * (1.7 * after.C - before.C)
        np.testing.assert_allclose(growth**2 * state.C, blended, rtol=1e-10)
        assert np.linalg.det(state.C) == pytest.approx(1.0)
        np.testing.assert_allclose((state.B * state.D**2) @ state.B.T, state.C, atol=1e-10)


def test_a_diagonal_covariance_is_treated_as_the_full_matrix_it_stands_for() -> None:
    c, e = np.array([1.0, 4.0, 0.25]), np.array([2.0, 1.0, 0.5])
    full = [FullState(np.diag(v), np.eye(3), np.sqrt(v)) for v in (c, e)]
    diagonal = [DiagonalState(v, np.sqrt(v)) for v in (c, e)]
    wide = Full().movement(full[0], full[1], 0.8)
    np.testing.assert_allclose(
        np.diagonal(wide), Diagonal().movement(diagonal[0], diagonal[1], 0.8), rtol=1e-12
    )
    state, growth = Full().blend(full[0], full[1], 0.8, 0.4)
    slim, slim_growth = Diagonal().blend(diagonal[0], diagonal[1], 0.8, 0.4)
    assert slim_growth == pytest.approx(growth)
    np.testing.assert_allclose(np.diagonal(state.C), slim.C, rtol=1e-12)


def test_squared_movement_is_twice_the_divergence_to_first_order() -> None:
    C, _ = _random_states(1, 4)
    S = np.random.default_rng(2).standard_normal((4, 4))
    step = 1e-4
    C2 = C.C + step * (S + S.T)
    zero = np.zeros(4)
    before = State(zero, 1.3, C, zero, zero)
    D2, B = np.linalg.eigh(C2)
    after = State(
        step * np.arange(4.0), 1.3 * (1.0 + step), FullState(C2, B, np.sqrt(D2)), zero, zero
    )
    P, Q = before.sigma**2 * C.C, after.sigma**2 * C2
    m = after.mean
    divergence = 0.5 * (
        np.trace(np.linalg.solve(P, Q))
        - 4.0
        + m @ np.linalg.solve(P, m)
        - np.linalg.slogdet(Q)[1]
        + np.linalg.slogdet(P)[1]
    )
    moved = [mean_movement(Full(), before, after), shape_movement(Full(), before, after)]
    assert sum(np.vdot(v, v) for v in moved) == pytest.approx(2.0 * divergence, rel=1e-2)


@pytest.mark.parametrize("covariance", [Full(laziness=math.inf), Diagonal()])
def test_gamma_zero_keeps_the_whole_update(covariance: Covariance) -> None:
    n, rng = 4, np.random.default_rng(0)
    strategy, adaptation = Strategy(n, covariance), LearningRate(covariance, gamma=0.0)
    before, signals = strategy.start(np.ones(n), 0.7), adaptation.start(n)
    X = before.mean + 0.7 * rng.standard_normal((8, n))
    after, _ = strategy.update(before, X, Log().weights(8))
    signals, kept = adaptation.adapt(signals, before, after)
    assert (signals.mean.eta, signals.shape.eta) == (1.0, 1.0)
    np.testing.assert_allclose(kept.mean, after.mean, rtol=1e-12)
    np.testing.assert_allclose(
        kept.sigma**2 * kept.covariance.C, after.sigma**2 * after.covariance.C, atol=1e-12
    )


def _learning_rates(steps: np.ndarray) -> list[float]:
    """Learning rates of the mean after a given series of its movements."""
    adaptation = LearningRate(Diagonal())
    strategy = Strategy(steps.shape[1], Diagonal())
    before = strategy.start(np.zeros(steps.shape[1]), 1.0)
    signals, seen = adaptation.start(steps.shape[1]), []
    for step in steps:
        after = State(step, 1.0, before.covariance, before.p_sigma, before.p_c)
        signals, _ = adaptation.adapt(signals, before, after)
        seen.append(signals.mean.eta)
    return seen


def test_learning_rates_fall_on_a_random_walk_and_recover_on_a_straight_line() -> None:
    rng = np.random.default_rng(0)
    walk = rng.standard_normal((300, 10))
    line = np.ones((300, 10)) + 0.1 * rng.standard_normal((300, 10))
    seen = _learning_rates(np.vstack((walk, line)))
    assert seen[299] < 0.1
    assert seen[-1] == 1.0


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_it_comes_closer_than_cma_es_under_strong_noise(covariance: str) -> None:
    given = {"noise": noisy.gaussian(10.0), "budget": 1000}
    plain = noisy.mean_log_regret(CMAES(covariance=covariance), **given)
    assert noisy.mean_log_regret(LRACMAES(covariance=covariance), **given) < plain - 0.6


def test_history_has_the_rate_at_which_the_mean_moved() -> None:
    """c_mean is what is left of the step of the profile: one at first, far less under noise."""
    rng, n, k = np.random.default_rng(0), 4, 8
    opt = nw.Optimizer(
        np.full(n, 3.0), budget=50 * k, sigma0=1.0, method=LRACMAES(population=k), rng=0, confirm=0
    )
    weights = np.maximum(Log(active=True).weights(k), 0.0)
    moved = []
    while not opt.done:
        mean = opt._run.memory.state.mean.copy()
        trials = opt.ask()
        values = rng.standard_normal(k)
        X = np.array([t.x for t in trials])[values.argsort()]
        opt.tell([t.id for t in trials], values)
        step = weights @ (X - mean)
        moved.append(float((opt._run.memory.state.mean - mean) @ step) / float(step @ step))
    found = opt.result().history["c_mean"]
    np.testing.assert_allclose(found, moved, rtol=1e-9)
    assert found[0] > 0.5
    assert found[-1] < 0.2


def test_history_of_fixed_rates_has_ones() -> None:
    assert set(noisy.run(LRACMAES(gamma=0.0), budget=200).history["c_mean"]) == {1.0}


def test_points_that_do_not_move_leave_the_learning_rates_defined() -> None:
    stuck = noisy.run(LRACMAES(), d=2, budget=200, x0=[1.0, 1.0], bounds=[(1.0, 1.0 + 1e-12)] * 2)
    assert np.isfinite(stuck.history["sigma"]).all()


@pytest.mark.parametrize(
    "wrong", [{"alpha": 0.0}, {"beta_mean": 1.5}, {"beta_sigma": 0.0}, {"gamma": -1.0}]
)
def test_options_say_what_is_wrong(wrong: dict[str, float]) -> None:
    [name] = wrong
    with pytest.raises(ValueError, match=f"^{name} must be"):
        LRACMAES(**wrong)  # type: ignore[arg-type]
