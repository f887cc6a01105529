"""Rank weights as sums over cutoffs: expected weights, their variance, and the log weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import support
from noisewise._types import FloatArray, IntArray
from noisewise.cma.weights import (
    Log,
    PowerLift,
    Profile,
    Uniform,
    expected_weights,
    weight_variance,
)
from noisewise.methods import RBPEM, NoiseModel

PROFILES: tuple[Profile, ...] = (Log(), Log(active=True), Uniform(), PowerLift())
_TABLES = st.tuples(st.integers(1, 12), st.integers(2, 14)).flatmap(
    lambda shape: hnp.arrays(float, shape, elements=st.floats(-9, 9))
)


def _membership(order: IntArray) -> FloatArray:
    """p[i, k-1] = share of rankings in which candidate i is among the k best."""
    ranks = order.argsort(axis=1)
    cutoffs = np.arange(1, order.shape[1])
    return np.asarray((ranks[:, :, None] < cutoffs).mean(axis=0))


@given(table=_TABLES, profile=st.sampled_from(PROFILES))
def test_expected_weight_is_a_sum_over_cutoffs(table: FloatArray, profile: Profile) -> None:
    """Eq. (19): w*_i = w_lambda + sum_k delta_k p_ik."""
    order = table.argsort(axis=1)
    w = profile.weights(table.shape[1])
    delta = w[:-1] - w[1:]
    np.testing.assert_allclose(
        expected_weights(order, w), w[-1] + _membership(order) @ delta, atol=1e-13
    )


@given(table=_TABLES, profile=st.sampled_from(PROFILES))
def test_instability_is_a_double_sum_over_cutoffs(table: FloatArray, profile: Profile) -> None:
    """Eq. (48): U_i = sum_kl delta_k delta_l (p_min(k,l) - p_k p_l)."""
    order = table.argsort(axis=1)
    w = profile.weights(table.shape[1])
    delta, p = w[:-1] - w[1:], _membership(order)
    smaller = np.minimum.outer(np.arange(len(delta)), np.arange(len(delta)))
    covariance = p[:, smaller] - p[:, :, None] * p[:, None, :]
    U = np.einsum("k,l,ikl->i", delta, delta, covariance)
    np.testing.assert_allclose(weight_variance(order, w), U, atol=1e-13)


@given(table=_TABLES)
def test_instability_of_truncation_is_that_of_one_coin(table: FloatArray) -> None:
    """For uniform top-mu weights U_i = p(1 - p)/mu^2, with p the probability of being elite."""
    order, k = table.argsort(axis=1), table.shape[1]
    mu = max(1, k // 2)
    p = _membership(order)[:, mu - 1]
    U = weight_variance(order, Uniform().weights(k))
    np.testing.assert_allclose(U, p * (1.0 - p) / mu**2, atol=1e-13)


def test_reevaluations_go_to_the_boundary_or_to_the_top() -> None:
    """Largest U: at the elite boundary for uniform weights, at the top for log weights."""
    k = 12
    noise, rng = NoiseModel(scale="constant"), np.random.default_rng(0)
    chosen = {}
    for profile in (Uniform(), Log()):
        method = RBPEM(
            noise=noise, target="instability", k_max=4, n_bootstrap=4000, profile=profile
        )
        memory = method.start(support.setup())
        memory.pool.insert(rng.normal(size=512), np.ones(512), 0)
        memory.scale = (1.0, 0.0)
        population = support.population(np.arange(k))
        chosen[type(profile)] = set(method.request(memory, population, rng).tolist())
    assert chosen[Uniform] == {4, 5, 6, 7}  # mu = 6: two on either side
    assert chosen[Log] == {0, 1, 2, 3}


@pytest.mark.parametrize("n", [2, 3, 15, 60, 401])
def test_drops_of_the_log_weights(n: int) -> None:
    """Eq. (43) and (44): log(1 + 1/k)/Z inside, log(1 + 1/(2 mu))/Z at mu, nothing below."""
    w, mu = Log().weights(n), max(1, n // 2)
    Z = float((np.log(mu + 0.5) - np.log(np.arange(1, mu + 1))).sum())
    delta = w[:-1] - w[1:]
    inner = np.arange(1, mu)
    np.testing.assert_allclose(delta[: mu - 1], np.log(1.0 + 1.0 / inner) / Z, rtol=1e-9)
    assert delta[mu - 1] == pytest.approx(np.log(1.0 + 1.0 / (2.0 * mu)) / Z, rel=1e-12)
    np.testing.assert_array_equal(delta[mu:], 0.0)


@pytest.mark.parametrize("mu", [2, 5, 50, 5000])
def test_sizes_of_the_log_weights(mu: int) -> None:
    """Z = mu + 1/2 - log(2 pi mu)/2 up to 1/mu; the largest drop, at the top, is log 2 / Z."""
    w = Log().weights(2 * mu)
    delta = w[:-1] - w[1:]
    Z = mu + 0.5 - 0.5 * np.log(2.0 * np.pi * mu)
    assert w[0] == pytest.approx(np.log(mu + 0.5) / Z, rel=0.3 / mu)
    assert delta[0] == pytest.approx(np.log(2.0) / Z, rel=0.3 / mu)
    assert delta.argmax() == 0
