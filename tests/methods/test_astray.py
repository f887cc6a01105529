"""A search that ranks lead astray goes back and follows values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisewise as nw
from noisewise._data import decode, encode
from noisewise._types import FloatArray
from noisewise.cma.covariance import MODELS
from noisewise.cma.strategy import State, Strategy
from noisewise.methods.kept import Averages

STATE = State(np.zeros(2), 1.0, None, np.zeros(2), np.zeros(2))


def level(x: FloatArray) -> float:
    """The expected value of `tempting`."""
    r = float(np.linalg.norm(x - 1.0))
    return 0.8 * math.exp(-0.3 * r) + 0.2 * r * r


def tempting(x: FloatArray, rng: np.random.Generator) -> float:
    """Most values fall with the distance from the origin, but the others rise faster."""
    r = float(np.linalg.norm(x - 1.0))
    return math.exp(-0.3 * r) if rng.random() < 0.8 else r * r


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_ranks_do_not_lead_ever_farther_away(covariance: str) -> None:
    noise = np.random.default_rng(0)
    r = nw.minimize(
        lambda x: tempting(x, noise),
        np.ones(8),
        sigma0=0.3,
        budget=4000,
        method=nw.methods.Watchful(covariance=covariance),
        confirm=0,
        rng=0,
    )
    assert "went back" in r.message
    plain = nw.minimize(
        lambda x: tempting(x, noise),
        np.ones(8),
        sigma0=0.3,
        budget=4000,
        method="cma-es",
        confirm=0,
        rng=0,
    )
    assert level(r.x) < 3.0 < level(plain.x)


def test_a_search_that_goes_well_is_left_alone() -> None:
    noise = np.random.default_rng(0)
    for seed in range(3):
        r = nw.minimize(
            lambda x: x @ x * (1.0 + noise.normal()),
            np.full(6, 2.0),
            sigma0=1.0,
            budget=2000,
            method="watchful",
            confirm=0,
            rng=seed,
        )
        assert "went back" not in r.message


@given(
    st.lists(st.integers(2, 300), min_size=1, max_size=20),
    st.floats(-1e6, 1e6),
    st.integers(0, 2**32 - 1),
)
def test_falling_averages_never_alarm(sizes: list[int], offset: float, seed: int) -> None:
    averages, rng = Averages(), np.random.default_rng(seed)
    for i, size in enumerate(sizes):
        values = offset - 100.0 * i + rng.uniform(-1.0, 1.0, size)
        assert not averages.astray(values, STATE, 1000)


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e3), st.integers(0, 2**32 - 1))
def test_rising_averages_alarm_after_two_blocks(offset: float, scale: float, seed: int) -> None:
    """Whatever the level of the values: sums of squares are taken about one of them."""
    averages, rng = Averages(), np.random.default_rng(seed)
    told = [
        averages.astray(offset + scale * (rise + rng.uniform(-1.0, 1.0, 100)), STATE, 1000)
        for rise in (0.0, 5.0, 5.0)
    ]
    assert told == [False, False, True]
    assert averages.state is STATE
    assert averages.times == 1


def test_one_worse_block_is_no_evidence() -> None:
    averages, rng = Averages(), np.random.default_rng(0)
    for rise in (0.0, 5.0, 0.0, 5.0, 0.0):
        assert not averages.astray(rise + rng.normal(size=100), STATE, 1000)


def test_a_drift_of_the_whole_function_does_not_stop_the_search() -> None:
    """Values that rise with time, wherever they are measured, look like going astray."""
    noise, calls = np.random.default_rng(0), iter(range(10**6))
    r = nw.minimize(
        lambda x: x @ x + 0.01 * next(calls) + noise.normal(),
        np.full(6, 3.0),
        sigma0=1.0,
        budget=6000,
        method="watchful",
        confirm=0,
        rng=0,
    )
    assert "went back" in r.message
    assert r.x @ r.x < 2.0


def test_averages_are_data() -> None:
    averages = Averages()
    averages.astray(np.arange(150.0), STATE, 1000)
    averages.astray(np.arange(50.0), STATE, 1000)
    again = decode(encode(averages))
    assert encode(again) == encode(averages)
    assert again.lowest == 74.5
    assert again.n == 50


@pytest.mark.parametrize("model", ["full", "diagonal"])
def test_move_by_hand(model: str) -> None:
    """Mean and step size against their formulas; the shape stays."""
    rng = np.random.default_rng(1)
    n, k, mu_eff = 3, 6, 2.5
    strategy = Strategy(n, MODELS[model])
    state = strategy.start(rng.normal(size=n), 0.7, np.diag([1.0, 4.0, 0.25]))
    X = strategy.sample(state, k, rng)
    w = rng.normal(size=k)
    w -= w.mean()
    new, update = strategy.move(state, X, w, mu_eff)
    step = sum(w[i] * (X[i] - state.mean) / 0.7 for i in range(k))
    np.testing.assert_allclose(new.mean, state.mean + 0.7 * step)
    rates = MODELS[model].rates(n, mu_eff)
    whitened = step / np.array([1.0, 2.0, 0.5]) / math.sqrt(float(w @ w))
    path = math.sqrt(rates.c_sigma * (2.0 - rates.c_sigma)) * whitened
    np.testing.assert_allclose(new.p_sigma, path)
    length = math.sqrt(float(path @ path))
    grown = math.exp(rates.c_sigma / rates.d_sigma * (length / rates.chi_n - 1.0))
    assert new.sigma == pytest.approx(0.7 * grown)
    assert new.covariance is state.covariance
    np.testing.assert_allclose(update.step, step)


def test_shape_weights_that_are_the_weights_change_nothing() -> None:
    rng = np.random.default_rng(2)
    strategy = Strategy(4, MODELS["diagonal"])
    state = strategy.start(np.zeros(4), 1.0)
    X = strategy.sample(state, 8, rng)
    w = np.array([0.5, 0.3, 0.2, 0, 0, 0, 0, 0.0])
    mean = w - 1.0 / 8.0
    plain, _ = strategy.update(state, X, w, 1.0, mean, X, 0.3)
    shaped, _ = strategy.update(state, X, w, 1.0, mean, X, 0.3, w)
    np.testing.assert_allclose(shaped.covariance.C, plain.covariance.C, rtol=1e-14)
    # Weights that sum to zero: no rank-one update, and nothing is forgotten.
    still, _ = strategy.update(state, X, w, 1.0, mean, X, 0.3, np.zeros(8))
    np.testing.assert_allclose(still.covariance.C, state.covariance.C)
