"""Gaussian process regression against scikit-learn, finite differences and naive twins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisewise._types import FloatArray
from noisewise.gp import kernel
from noisewise.gp.kernel import Hyper
from noisewise.gp.prior import Prior
from noisewise.gp.process import Posterior, fit, log_likelihood, log_posterior
from noisewise.gp.values import Measurements, Merged, merge


def random_hyper(rng: np.random.Generator, d: int) -> Hyper:
    return Hyper(rng.normal(-0.5, 0.4, d), rng.normal(0, 0.3), rng.normal(-1, 0.3), -1.5)


def random_groups(rng: np.random.Generator, n: int, d: int) -> Merged:
    """Points of which some are measured several times, with known variances for a few."""
    X = rng.random((n, d))
    at = np.concatenate([np.arange(n), rng.integers(0, n, n)])
    var = np.where(at % 3 == 0, 0.05, 0.0)
    return merge(X, rng.standard_normal(2 * n), at, var)


def plain(X: FloatArray, z: FloatArray) -> Merged:
    return Merged(X, z, np.ones(len(z)), np.zeros(len(z)), np.zeros(len(z)))


def test_parity_with_scikit_learn() -> None:
    """Same kernel, same values: likelihood, mean and standard deviation."""
    process = pytest.importorskip("sklearn.gaussian_process")
    k = pytest.importorskip("sklearn.gaussian_process.kernels")
    rng = np.random.default_rng(3)
    X, Xs, d = rng.random((25, 3)), rng.random((40, 3)), 3
    z = np.sin(4 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(25)
    lengths = np.array([0.4, 0.9, 0.6])
    hyper = Hyper(np.log(lengths), np.log(0.8), np.log(0.3), np.log(0.1))

    def prior_mean(points: FloatArray) -> FloatArray:
        return np.asarray(kernel.KAPPA * 0.3 * np.sum(((points - 0.5) / lengths) ** 2, axis=1))

    # scikit-learn's dot product has no length scales: both sides get points divided by them.
    same = k.ConstantKernel(kernel.C0) + 0.8**2 * k.Matern(np.ones(d), nu=2.5)
    same = same + 0.3**2 * k.DotProduct(1.0) ** 2
    theirs = process.GaussianProcessRegressor(same, alpha=0.1**2, optimizer=None)
    theirs.fit((X - 0.5) / lengths, z - prior_mean(X))
    ours = Posterior.of(plain(X, z), hyper)
    mean, sd = theirs.predict((Xs - 0.5) / lengths, return_std=True)
    found, var = ours.predict(Xs)
    np.testing.assert_allclose(found, mean + prior_mean(Xs), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(np.sqrt(var), sd, rtol=1e-5)
    value, _ = log_likelihood(hyper.vector(), plain(X, z))
    assert value == pytest.approx(theirs.log_marginal_likelihood(), rel=1e-7)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 4), n=st.integers(1, 12))
def test_gradient_of_the_posterior_density(seed: int, d: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    groups, prior = random_groups(rng, n, d), Prior.standard(d)
    theta = random_hyper(rng, d).vector()
    _, gradient = log_posterior(theta, groups, prior)
    for i, step in enumerate(1e-5 * np.eye(len(theta))):
        up = log_posterior(theta + step, groups, prior)[0]
        down = log_posterior(theta - step, groups, prior)[0]
        assert gradient[i] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-4)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 3))
def test_gradient_of_the_mean(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    process = Posterior.of(random_groups(rng, 8, d), random_hyper(rng, d))
    x = rng.random(d)
    mean, slope = process.mean_slope(x)
    assert mean == pytest.approx(float(process.predict(x[None])[0][0]))
    for i, step in enumerate(1e-5 * np.eye(d)):
        up, down = process.mean(np.array([x + step, x - step]))
        assert slope[i] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-4)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), known=st.booleans())
def test_merged_replicates_have_the_likelihood_of_single_values(seed: int, known: bool) -> None:
    rng = np.random.default_rng(seed)
    X, at = rng.random((5, 2)), rng.integers(0, 5, 14)
    z, var = rng.standard_normal(14), np.where(at == 1, 0.2, 0.0) * known
    theta = random_hyper(rng, 2).vector()
    single = Merged(X[at], z, np.ones(14), np.zeros(14), var)
    merged = merge(X, z, at, var)
    assert len(merged.X) == len(set(at.tolist()))
    value, gradient = log_likelihood(theta, merged)
    expected, slope = log_likelihood(theta, single)
    assert value == pytest.approx(expected, rel=1e-7)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-5)
    x = rng.random((3, 2))
    hyper = Hyper.of(theta)
    for a, b in zip(
        Posterior.of(merged, hyper).predict(x), Posterior.of(single, hyper).predict(x), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_leave_one_out_equals_leaving_one_out() -> None:
    rng = np.random.default_rng(5)
    groups, hyper = random_groups(rng, 9, 2), random_hyper(rng, 2)
    process = Posterior.of(groups, hyper)
    mean, var = process.leave_one_out()
    density = process.loo_density()
    total = log_likelihood(hyper.vector(), groups)[0]
    for i in range(len(groups.X)):
        keep = np.arange(len(groups.X)) != i
        rest = Merged(
            groups.X[keep], groups.mean[keep], groups.count[keep], groups.scatter[keep],
            groups.known[keep],
        )  # fmt: skip
        m, v = Posterior.of(rest, hyper).predict(groups.X[[i]])
        tau = np.exp(2 * hyper.noise) + groups.known[i]
        assert mean[i] == pytest.approx(m[0], rel=1e-6)
        assert var[i] == pytest.approx(v[0] + tau / groups.count[i], rel=1e-6)
        # p(group | rest) = p(all) / p(rest)
        assert density[i] == pytest.approx(
            total - log_likelihood(hyper.vector(), rest)[0], rel=1e-6, abs=1e-6
        )


def test_believed_points_keep_the_mean_and_shrink_the_variance() -> None:
    rng = np.random.default_rng(6)
    process = Posterior.of(random_groups(rng, 6, 2), random_hyper(rng, 2))
    pending, x = rng.random((3, 2)), rng.random((5, 2))
    believed = process.given(pending)
    naive = Posterior.of(believed.groups, believed.hyper)
    (m0, v0), (m1, v1), (m2, v2) = (p.predict(x) for p in (process, believed, naive))
    np.testing.assert_allclose(m1, m0, rtol=1e-9)
    np.testing.assert_allclose(m2, m1, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(v2, v1, rtol=1e-5)
    assert (v1 < v0).all()


def test_the_joint_covariance_has_the_variances_of_the_points() -> None:
    rng = np.random.default_rng(7)
    process = Posterior.of(random_groups(rng, 6, 1), random_hyper(rng, 1))
    x = np.array([[0.1], [0.15], [0.9]])
    mean, C = process.joint(x)
    np.testing.assert_allclose(process.predict(x)[0], mean, rtol=1e-12)
    np.testing.assert_allclose(process.predict(x)[1], np.diagonal(C), rtol=1e-7)
    assert np.linalg.eigvalsh(C).min() > -1e-9


def test_fit_recovers_the_noise_and_ignores_useless_coordinates() -> None:
    rng = np.random.default_rng(8)
    X = rng.random((120, 3))
    z = np.sin(6 * X[:, 0]) + 0.2 * rng.standard_normal(120)
    prior = Prior.standard(3)
    hyper, value = fit(plain(X, z / z.std()), prior, [prior.start()])
    assert np.exp(hyper.noise) * z.std() == pytest.approx(0.2, rel=0.3)
    assert hyper.lengths[0] < min(hyper.lengths[1:]) - 0.5
    assert value > log_posterior(prior.start().vector(), plain(X, z / z.std()), prior)[0]


@pytest.mark.parametrize("n", [1, 2, 30])
def test_degenerate_points_do_not_break_the_fit(n: int) -> None:
    """One place measured again and again, with the same value and without merging."""
    groups = plain(np.full((n, 2), 0.5), np.zeros(n))
    hyper, value = fit(groups, Prior.standard(2), [Prior.standard(2).start()])
    mean, var = Posterior.of(groups, replace(hyper, noise=-11.0)).predict(np.full((1, 2), 0.4))
    assert np.isfinite([value, mean[0], var[0]]).all()
    assert var[0] > 0


def test_measurements_find_replicates_and_keep_failures() -> None:
    measured = Measurements.empty(2).add(
        np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([1.0, np.inf])
    )
    measured = measured.add(np.array([[-0.0, 1.0]]), np.array([3.0]), np.array([np.nan]))
    assert len(measured.X) == 2
    np.testing.assert_array_equal(measured.at, [0, 1, 0])
    np.testing.assert_array_equal(measured.ok, [True, False, True])
    np.testing.assert_array_equal(measured.var, 0.0)


def test_around_keeps_near_points_and_some_others_and_all_their_values() -> None:
    X = np.linspace(0, 1, 5)[:, None]
    measured = Measurements.empty(1).add(np.vstack([X, X]), np.arange(10.0))
    kept = measured.part(measured.nearby(np.array([0.0]), np.ones(1), 4))
    np.testing.assert_array_equal(kept.X[:, 0], [0.0, 0.25, 0.5, 1.0])
    np.testing.assert_array_equal(kept.y, [0.0, 1.0, 2.0, 4.0, 5.0, 6.0, 7.0, 9.0])
    np.testing.assert_array_equal(kept.at, [0, 1, 2, 3, 0, 1, 2, 3])


@pytest.mark.parametrize("most", [1, 2, 3, 7, 19, 20])
def test_around_keeps_as_many_as_it_may(most: int) -> None:
    X = np.linspace(0, 1, 20)[:, None]
    measured = Measurements.empty(1).add(X, X[:, 0])
    kept = measured.part(measured.nearby(np.zeros(1), np.ones(1), most))
    assert len(np.unique(kept.X)) == len(kept.y) == most


def test_covariance_of_the_gradient() -> None:
    """Against differences of joint covariances of the values."""
    rng = np.random.default_rng(9)
    process = Posterior.of(random_groups(rng, 5, 2), random_hyper(rng, 2))
    x, h = np.array([0.3, 0.8]), 1e-3
    ends = np.array([x + h * e for e in np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])])
    D = np.array([[1, -1, 0, 0], [0, 0, 1, -1]]) / (2 * h)
    numeric = D @ process.joint(ends)[1] @ D.T
    np.testing.assert_allclose(process.gradient_covariance(x), numeric, rtol=0.02, atol=1e-3)


def test_smoothed_values_are_the_mean_at_the_own_points() -> None:
    rng = np.random.default_rng(10)
    process = Posterior.of(random_groups(rng, 7, 2), random_hyper(rng, 2))
    np.testing.assert_allclose(process.smoothed(), process.mean(process.groups.X), atol=1e-7)
    more = process.given(rng.random((2, 2)))
    np.testing.assert_allclose(more.smoothed(), more.mean(more.groups.X), atol=1e-7)


# -- what a seed adds to all values that share it


def with_seeds(rng: np.random.Generator, m: int, seeds: int) -> tuple[Merged, Merged]:
    """Values of which some share point and seed, merged and single."""
    X, at = rng.random((5, 2)), rng.integers(0, 5, m)
    z, seed = rng.standard_normal(m), rng.integers(0, seeds, m)
    single = Merged(X[at], z, np.ones(m), np.zeros(m), np.zeros(m), seed)
    return merge(X, z, at, np.zeros(m), seed), single


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_shared_seeds_against_a_naive_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    merged, single = with_seeds(rng, 14, 3)
    hyper = replace(random_hyper(rng, 2), shared=float(rng.normal(-0.7, 0.3)))
    Z, of = kernel.scaled(single.X, hyper), single.seed
    assert of is not None
    noise = np.exp(2 * hyper.noise) * np.eye(14) + np.exp(2 * hyper.shared) * (of[:, None] == of)
    K = kernel.covariance(Z, Z, hyper) + noise
    off = single.mean - kernel.bowl(Z, hyper)
    alpha = np.linalg.solve(K, off)
    expected = -0.5 * (off @ alpha + np.linalg.slogdet(2 * np.pi * K)[1])
    theta = hyper.vector()
    value, gradient = log_likelihood(theta, merged)
    assert value == pytest.approx(expected, rel=1e-6)
    numeric = [
        (log_likelihood(theta + step, merged)[0] - log_likelihood(theta - step, merged)[0]) / 2e-5
        for step in 1e-5 * np.eye(len(theta))
    ]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-4)
    process, x = Posterior.of(merged, hyper), rng.random((3, 2))
    W = kernel.scaled(x, hyper)
    mean = kernel.bowl(W, hyper) + kernel.covariance(W, Z, hyper) @ alpha
    np.testing.assert_allclose(process.mean(x), mean, atol=1e-6)
    for one in (process, process.given(x)):
        np.testing.assert_allclose(one.smoothed(), one.mean(one.groups.X), atol=1e-6)
    added = np.exp(2 * hyper.shared) * np.array([alpha[of == s].sum() for s in range(4)])
    np.testing.assert_allclose(process.added(np.arange(4), 4), added, atol=1e-6)


def test_seeds_of_their_own_are_noise() -> None:
    rng = np.random.default_rng(3)
    _, single = with_seeds(rng, 9, 1)
    hyper = replace(random_hyper(rng, 2), shared=-0.5)
    own = replace(single, seed=np.arange(9))
    total = float(np.log(np.exp(2 * hyper.noise) + np.exp(2 * hyper.shared))) / 2
    alike = replace(hyper, noise=total, shared=None)
    expected = log_likelihood(alike.vector(), replace(single, seed=None))[0]
    assert log_likelihood(hyper.vector(), own)[0] == pytest.approx(expected, rel=1e-9)
    assert Posterior.of(own, hyper).noise() == pytest.approx(np.exp(2 * total))


def test_the_fit_finds_what_seeds_add() -> None:
    rng = np.random.default_rng(4)
    X, seed = rng.random((80, 1)), np.arange(80) % 8
    z = np.sin(6 * X[:, 0]) + 1.5 * rng.standard_normal(8)[seed] + 0.1 * rng.standard_normal(80)
    groups = replace(plain(X, z), seed=seed)
    prior = Prior.standard(1, shared=True)
    hyper = fit(groups, prior, [Prior.standard(1).start()])[0]
    assert hyper.shared is not None
    assert 0.5 < np.exp(hyper.shared) < 3.0
    assert np.exp(hyper.noise) < 0.3
    x = np.linspace(0.05, 0.95, 9)[:, None]
    off = Posterior.of(groups, hyper).mean(x) - np.sin(6 * x[:, 0])
    assert np.ptp(off) < 0.3


def test_unknown_seeds_are_shared_with_none() -> None:
    X = np.array([[0.0], [1.0]])
    measured = Measurements.empty(1).add(X, np.zeros(2)).add(X, np.zeros(2), seed=np.array([4, 4]))
    measured = measured.add(X, np.zeros(2))
    assert measured.seed is not None
    assert measured.seed[2:4].tolist() == [4, 4]
    assert len(set(measured.seed.tolist())) == 5
    assert measured.newest(3).seed is not None
    near = measured.part(measured.nearby(np.zeros(1), np.ones(1), 1)).seed
    assert near is not None
    assert near.tolist() == measured.seed[::2].tolist()
