"""Noise laws on the noiseless functions, and pycma's noisy ellipsoids."""

import pickle

import cma
import numpy as np
import pytest
from scipy import stats

from noisewise_bench.problem import Problem
from noisewise_bench.problems.additive import LAWS, AdditiveNoise, NoisySphere
from noisewise_bench.problems.registry import LATE_FUNCTIONS, LATE_LAWS, LATE_LEVEL

N = 4000


def errors(problem, x, seed=0):
    """Noisy minus true values of one point."""
    rows = np.tile(x, (N, 1))
    shown = problem.noisy(rows, np.random.default_rng(seed)) - getattr(problem, "fopt", 0.0)
    return shown - problem.regret(rows)


@pytest.mark.parametrize("law", LAWS)
def test_law_has_its_distribution(law):
    problem = AdditiveNoise(8, 2, 5, law, 0.1)
    start = problem.regret(problem.x0[None])[0]
    x = np.array([1.0, -2.0, 0.5, 3.0, 0.0])
    t, drawn = problem.regret(x[None])[0], errors(problem, x)
    assert problem.unit == start
    if law == "none":
        np.testing.assert_allclose(drawn, 0.0, atol=1e-12 * t)
    elif law == "lognormal":
        z = (np.log1p(drawn / t) + 0.1**2 / 2) / 0.1
        assert stats.kstest(z, "norm").pvalue > 1e-3
        assert np.mean(drawn) == pytest.approx(0.0, abs=4 * 0.1 * t / np.sqrt(N))
    else:
        scale = 0.1 * start * (np.sqrt(np.mean(x**2)) if law == "radial" else 1.0)
        shape = stats.t(3, scale=3**-0.5) if law == "t3" else stats.norm
        assert stats.kstest(drawn / scale, shape.cdf).pvalue > 1e-3


def test_radial_noise_is_absent_at_the_start():
    problem = AdditiveNoise(1, 1, 10, "radial", 0.5, absolute=True)
    np.testing.assert_allclose(errors(problem, problem.x0), 0.0, atol=1e-12)
    assert np.std(errors(problem, np.full(10, 2.0))) == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize("law", LATE_LAWS)
@pytest.mark.parametrize("function", LATE_FUNCTIONS)
def test_late_noise_hides_the_ranking_only_late(function, law):
    """Mean rank displacement of two draws: small at the start, near chance (1/3) at the end."""
    problem, rng = AdditiveNoise(function, 1, 10, law, LATE_LEVEL), np.random.default_rng(0)

    def displacement(centre, step):
        found = []
        for _ in range(30):
            X = np.clip(centre + step * rng.standard_normal((10, 10)), -5, 5)
            first, second = (problem.noisy(X, rng).argsort().argsort() for _ in range(2))
            found.append(np.abs(first - second).sum() / 10**2)
        return np.mean(found)

    assert displacement(problem.x0, 3.0) < 0.05
    assert displacement(problem.xopt, 0.01) > 0.25


@pytest.mark.parametrize(("dimension", "noise"), [(33, 1.0), (14, 8.1)])
def test_noisysphere_is_pycmas(dimension, noise):
    problem = NoisySphere(dimension, noise)
    assert isinstance(problem, Problem)
    assert problem.bounds is None
    assert problem.sigma0 == 1.0
    X = np.random.default_rng(0).standard_normal((5, dimension))
    theirs = [cma.ff.noisysphere(x, noise=0, cond=1e4, noise_offset=0) for x in X]
    np.testing.assert_allclose(problem.regret(X), theirs, rtol=1e-8)
    rows = np.tile(X[0], (N, 1))
    z = np.log(problem.noisy(rows, np.random.default_rng(1)) / theirs[0]) * dimension / noise
    assert stats.kstest(z, "norm").pvalue > 1e-3


@pytest.mark.parametrize(
    "problem", [AdditiveNoise(21, 1, 3, "t3", 0.2), NoisySphere(14, 8.1)], ids=lambda p: p.name
)
def test_pickled_problem_is_the_same(problem):
    again = pickle.loads(pickle.dumps(problem))
    X = np.tile(problem.x0, (3, 1))
    values = [p.noisy(X, np.random.default_rng(3)) for p in (problem, again)]
    np.testing.assert_array_equal(*values)
    assert again.name == problem.name


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AdditiveNoise(101, 1, 5), "function is 101, it takes an integer 1 to 24"),
        (lambda: AdditiveNoise(1, 1, 5, "cauchy"), "law is 'cauchy', it takes one of gaussian"),
        (lambda: AdditiveNoise(1, 1, 5, "t3", -1.0), "level is -1.0"),
        (lambda: NoisySphere(1, 1.0), "dimension is 1"),
        (lambda: NoisySphere(9, np.inf), "noise is inf"),
    ],
)
def test_says_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()
