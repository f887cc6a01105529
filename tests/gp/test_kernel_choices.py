"""The kernel of points with choices against a naive loop and finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisewise._types import FloatArray
from noisewise.gp import kernel
from noisewise.gp.kernel import Hyper
from noisewise.gp.prior import Prior
from noisewise.gp.process import Posterior, fit, log_posterior
from noisewise.gp.values import Merged, merge

OPTIONS = st.lists(st.integers(2, 5), min_size=1, max_size=3).map(tuple)


def points(rng: np.random.Generator, n: int, d: int, options: tuple[int, ...]) -> FloatArray:
    return np.hstack([rng.random((n, d)), rng.integers(0, options, (n, len(options)))])


def some_hyper(rng: np.random.Generator, d: int, options: tuple[int, ...]) -> Hyper:
    numbers = rng.normal(-0.5, 0.4, d)
    signal, trend, same, apart = rng.normal([0.0, -1.0, -0.5, -0.5], 0.3)
    return Hyper(numbers, signal, trend, -1.5, None, options, same, apart)


def groups(rng: np.random.Generator, n: int, d: int, options: tuple[int, ...]) -> Merged:
    at = np.concatenate([np.arange(n), rng.integers(0, n, n)])
    z = rng.standard_normal(2 * n)
    return merge(points(rng, n, d, options), z, at, np.where(at % 3 == 0, 0.05, 0.0))


def by_hand(x: FloatArray, w: FloatArray, hyper: Hyper) -> float:
    """k(x, w), one coordinate after the other."""
    d, q = len(hyper.lengths), len(hyper.options)
    product, square = 1.0, 0.0
    for i in range(d):
        a, b = ((v[i] - 0.5) / math.exp(hyper.lengths[i]) for v in (x, w))
        product += a * b
        square += (a - b) ** 2
    equal = sum(x[d + j] == w[d + j] for j in range(q))
    r = math.sqrt(5.0 * square)
    matern = math.exp(2 * hyper.signal) * (1 + r + r * r / 3) * math.exp(-r)
    matern *= math.exp(-math.exp(hyper.apart) * (q - equal))
    trend = math.exp(2 * hyper.trend) * product**2
    return kernel.C0 + math.exp(2 * hyper.same) * equal + matern + trend


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(0, 3), options=OPTIONS)
def test_the_kernel_is_that_of_a_naive_loop(seed: int, d: int, options: tuple[int, ...]) -> None:
    rng = np.random.default_rng(seed)
    X, W = points(rng, 5, d, options), points(rng, 4, d, options)
    hyper = some_hyper(rng, d, options)
    Z, V = kernel.scaled(X, hyper), kernel.scaled(W, hyper)
    expected = [[by_hand(x, w, hyper) for w in W] for x in X]
    np.testing.assert_allclose(kernel.covariance(Z, V, hyper), expected, rtol=1e-12)
    own = [[by_hand(x, w, hyper) for w in X] for x in X]
    np.testing.assert_allclose(kernel.with_derivatives(Z, hyper)[0], own, rtol=1e-12)
    np.testing.assert_allclose(kernel.variance(Z, hyper), np.diagonal(own), rtol=1e-12)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(0, 3), options=OPTIONS, shared=st.booleans())
def test_gradient_of_the_posterior_density(
    seed: int, d: int, options: tuple[int, ...], shared: bool
) -> None:
    rng = np.random.default_rng(seed)
    data, prior = groups(rng, 8, d, options), Prior.standard(d + len(options), shared, options)
    if shared:
        data = Merged(*list(vars(data).values())[:5], rng.integers(0, 3, len(data.X)))
    hyper = some_hyper(rng, d, options)
    theta = np.append(hyper.vector(), [-1.0] * shared)
    _, gradient = log_posterior(theta, data, prior)
    assert len(gradient) == len(theta) == len(prior.mean)
    for i, step in enumerate(1e-5 * np.eye(len(theta))):
        up, down = (log_posterior(theta + s, data, prior)[0] for s in (step, -step))
        assert gradient[i] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-4)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 3), options=OPTIONS)
def test_gradient_of_the_mean(seed: int, d: int, options: tuple[int, ...]) -> None:
    rng = np.random.default_rng(seed)
    process = Posterior.of(groups(rng, 8, d, options), some_hyper(rng, d, options))
    x = points(rng, 1, d, options)[0]
    mean, slope = process.mean_slope(x)
    assert mean == pytest.approx(float(process.predict(x[None])[0][0]))
    assert slope[d:].tolist() == [0.0] * len(options)
    for i in range(d):
        step = 1e-5 * (np.arange(len(x)) == i)
        up, down = process.mean(np.array([x + step, x - step]))
        assert slope[i] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-4)


def test_hyperparameters_come_back_from_a_vector() -> None:
    for options, shared in (((), None), ((2, 4), None), ((3,), -0.5)):
        rng = np.random.default_rng(0)
        same, apart = (0.2, -0.3) if options else (0.0, 0.0)
        hyper = Hyper(rng.random(2), 0.1, 0.2, 0.3, shared, options, same, apart)
        again = Hyper.of(hyper.vector(), shared is not None, options)
        assert str(again) == str(hyper)
        assert Prior.standard(2 + len(options), shared is not None, options).start().options == (
            options
        )


def test_what_choices_do_is_learnt() -> None:
    """Effects of single options from few values: the model foretells combinations never seen."""
    rng = np.random.default_rng(1)
    options = (2, 2, 2, 3, 3)
    X = points(rng, 60, 1, options)
    effects = [rng.standard_normal(k) for k in options]

    def value(x: FloatArray) -> float:
        return float(sum(e[int(o)] for e, o in zip(effects, x[1:], strict=True))) + x[0] ** 2

    z = np.array([value(x) for x in X]) + 0.1 * rng.standard_normal(60)

    prior = Prior.standard(6, options=options)
    data = merge(X, (z - z.mean()) / z.std(), np.arange(60), np.zeros(60))
    hyper, _ = fit(data, prior, [prior.start()])
    new = points(rng, 200, 1, options)
    told = z.mean() + z.std() * Posterior.of(data, hyper).mean(new)
    truth = np.array([value(x) for x in new])
    assert np.sqrt(np.mean((told - truth) ** 2)) < 0.12 * truth.std()
