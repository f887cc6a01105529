"""When the residual bootstrap is right: a large pool of the right noise about the right centre."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from theory_tools import Normal, pem_weights

import noisewise as nw
import support
from noisewise._types import FloatArray
from noisewise.cma.weights import Log, PowerLift, Profile, Uniform, expected_weights
from noisewise.measured.noise import residuals, spread_of
from noisewise.measured.samples import Samples
from noisewise.methods import RBPEM, NoiseModel
from noisewise.methods.rbpem import RBPEMMemory

F = np.array([0.0, 0.2, 0.5, 0.6, 1.1, 1.3, 2.0, 2.1])
NOISE = 0.7


def _ready(pool: int, b: int, rng: np.random.Generator) -> tuple[RBPEM, RBPEMMemory]:
    """RB-PEM with ``b`` rankings that knows the scale and has seen ``pool`` residuals."""
    method = RBPEM(noise=NoiseModel(scale="constant", pool_size=pool), n_bootstrap=b)
    memory = method.start(support.setup())
    memory.pool.insert(rng.normal(size=pool), np.ones(pool), 0)
    memory.scale = (NOISE, 0.0)
    return method, memory


def _error(profile: Profile, pool: int, b: int, seed: int) -> float:
    """Largest error of a bootstrapped weight about true centres."""
    rng, w = np.random.default_rng(seed), profile.weights(len(F))
    method, memory = _ready(pool, b, rng)
    order = method.rankings(memory, support.population(F), rng, spread_of(F))
    exact = pem_weights(F, np.full(len(F), NOISE), w, Normal())
    return float(np.abs(expected_weights(order, w) - exact).max())


@pytest.mark.parametrize("profile", [Log(), Uniform(), PowerLift()])
def test_bootstrap_approaches_pem(profile: Profile) -> None:
    """About true centres, RB-PEM becomes exact PEM as pool and bootstrap grow, like 1/sqrt(N)."""
    few = np.mean([_error(profile, 64, 64, seed) for seed in range(20)])
    many = np.mean([_error(profile, 6400, 6400, seed) for seed in range(20)])
    assert few / many == pytest.approx(10.0, rel=0.4)
    assert _error(profile, 200_000, 200_000, 0) < 0.002


def test_neither_pool_nor_bootstrap_is_enough_alone() -> None:
    """A small pool bounds the accuracy however many rankings are drawn, and the reverse."""
    both = np.mean([_error(Log(), 20_000, 20_000, seed) for seed in range(5)])
    assert np.mean([_error(Log(), 32, 20_000, seed) for seed in range(5)]) > 4.0 * both
    assert np.mean([_error(Log(), 20_000, 32, seed) for seed in range(5)]) > 4.0 * both


def test_observed_centres_smooth_twice() -> None:
    """About observed values the bootstrap adds the noise a second time: on average its weights
    are those of PEM with noise sqrt(2) times as large, not those of PEM."""
    rng, w = np.random.default_rng(0), Log().weights(len(F))
    method, memory = _ready(4000, 32, rng)
    rows = []
    for _ in range(3000):
        population = support.population(F + NOISE * rng.normal(size=len(F)))
        spread = spread_of(population.samples.first)
        rows.append(expected_weights(method.rankings(memory, population, rng, spread), w))
    found = np.mean(rows, axis=0)
    once, twice = (pem_weights(F, np.full(len(F), s), w, Normal()) for s in (NOISE, NOISE * 2**0.5))
    assert np.abs(found - twice).max() < 0.01
    assert np.abs(found - once).max() > 0.04


@given(
    y=st.lists(st.integers(-4, 4), min_size=2, max_size=4),
    pool=st.lists(st.integers(-6, 6), min_size=1, max_size=4),
    seed=st.integers(0, 10**6),
)
def test_one_scale_for_all_never_reorders(y: list[int], pool: list[int], seed: int) -> None:
    """About observed values with one scale, the better value has at least the weight of the worse
    one, whatever the pool and the (decreasing) profile: the weights of hard ranks, flattened.
    Exactly, over all draws."""
    k = len(y)
    profile = -np.sort(-np.random.default_rng(seed).normal(size=k))
    drawn = np.array(y) + np.array(list(product(pool, repeat=k)))
    weights = expected_weights(drawn.argsort(axis=1, kind="stable"), profile)
    for i, j in product(range(k), repeat=2):
        assert y[i] >= y[j] or weights[i] >= weights[j] - 1e-9


def test_scales_that_differ_can_reorder() -> None:
    """The better value is the less certain one, and only the last of three gets nothing."""
    y, s = np.array([0.9, 1.0, 1.1]), np.array([9.0, 0.001, 0.001])
    drawn = y + s * np.random.default_rng(0).normal(size=(2000, 3))
    weights = expected_weights(drawn.argsort(axis=1, kind="stable"), np.array([0.5, 0.5, 0.0]))
    assert weights[1] > weights[0] + 0.2


def test_vectorised_bootstrap_is_the_naive_double_loop() -> None:
    """One gather, one sort and one count do what b rankings of k candidates do one by one."""
    k, b = 7, 40
    w = Log().weights(k)
    method, memory = _ready(33, b, np.random.default_rng(1))
    values = np.array([3.0, 1.0, 1.0, 2.0, 0.5, 4.0, np.inf])  # with a tie and a failure
    order = method.rankings(
        memory, support.population(values), np.random.default_rng(5), spread_of(values)
    )
    fast = expected_weights(order, w)
    rng, slow = np.random.default_rng(5), np.zeros(k)
    drawn = np.floor(rng.random((b, k)) * 33).astype(int)
    for row in drawn:
        y = [values[i] + NOISE * memory.pool.z[row[i]] for i in range(k)]
        for i in range(k):
            better = sum(y[j] < y[i] or (y[j] == y[i] and j < i) for j in range(k))
            slow[i] += w[better] / b
    np.testing.assert_allclose(fast, slow, atol=1e-14)


def test_pool_concentrates_like_one_over_sqrt_n() -> None:
    """Prop. adaptive_pool: W1 between the pool and its law falls with slope -1/2 in log N."""
    rng, sizes = np.random.default_rng(0), np.array([16, 64, 256, 1024, 4096])
    law = np.clip(stats.norm.ppf((np.arange(40_000) + 0.5) / 40_000), -3.0, 3.0)

    def distance(n: int) -> float:
        return stats.wasserstein_distance(np.sort(np.clip(rng.normal(size=n), -3.0, 3.0)), law)

    mean = [np.mean([distance(n) for _ in range(40)]) for n in sizes]
    slope = np.polyfit(np.log(sizes), np.log(mean), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.05)


def test_pairs_forget_skewness() -> None:
    """Residuals of pairs have the variance of the noise but the law of (e1 - e2)/sqrt(2): for
    skewed noise the pool does not converge to the noise, however large it gets."""
    rng = np.random.default_rng(0)
    pairs = rng.exponential(size=(20_000, 2)) - 1.0
    _, eps, _ = residuals(Samples(pairs))
    difference = (pairs[:, 0] - pairs[:, 1]) / np.sqrt(2.0)
    symmetric = np.sort(np.concatenate((difference, -difference)))
    assert eps.var() == pytest.approx(1.0, rel=0.05)
    assert stats.wasserstein_distance(eps, symmetric) < 1e-12
    assert stats.wasserstein_distance(eps, rng.exponential(size=40_000) - 1.0) > 0.2


def _found_scale(target: str, profile: Profile, k_max: int) -> tuple[float, float]:
    """Noise scale and misranking found where there is nothing but noise of scale one."""
    noise, model = np.random.default_rng(0), NoiseModel(scale="constant")
    opt = nw.Optimizer(
        np.zeros(10),
        budget=6000,
        sigma0=1.0,
        method=RBPEM(noise=model, target=target, profile=profile, k_max=k_max, population=15),
        rng=0,
    )
    scales: list[float] = []
    while not opt.done:
        trials = opt.ask()
        opt.tell([t.id for t in trials], noise.normal(size=len(trials)))
        scales.append(opt._run.memory.scale[0] * np.sqrt(np.pi / 2.0))
    return float(np.median(scales[20:])), float(np.nanmean(opt.result().history["misranking"]))


@pytest.mark.parametrize(
    ("target", "profile", "k_max", "scale", "misranking"),
    [
        ("boundary", Uniform(), 15, (0.95, 1.05), (0.32, 0.345)),  # everyone: unbiased
        ("boundary", Uniform(), 1, (0.6, 0.8), (0.2, 0.27)),
        ("instability", Log(), 1, (1.15, 1.5), (0.36, 0.48)),
    ],
)
def test_reevaluations_chosen_by_rank_see_the_noise_with_a_bias(
    target: str,
    profile: Profile,
    k_max: int,
    scale: tuple[float, float],
    misranking: tuple[float, float],
) -> None:
    """Who is looked at again for its rank was unlucky in a known way: at the boundary the noise
    looks smaller than it is, at the top larger. Only looking at everyone is unbiased."""
    s, P = _found_scale(target, profile, k_max)
    assert scale[0] < s < scale[1]
    assert misranking[0] < P < misranking[1]


def test_scales_that_look_back_lag_behind_a_converging_run() -> None:
    """When values and noise shrink together, a scale fitted to old residuals is far too large
    and costs convergence; measured against the spread of each generation it is not."""

    def regret(scale: str) -> float:
        noise = np.random.default_rng(0)

        def fun(X: FloatArray) -> FloatArray:
            return np.asarray((X * X).sum(axis=1) * (1.0 + 0.1 * noise.normal(size=len(X))))

        method = RBPEM(noise=NoiseModel(scale=scale))
        r = nw.minimize(
            fun, np.full(10, 3.0), sigma0=1.0, budget=2000, method=method, rng=0, vectorized=True
        )
        return float(np.log10(r.x @ r.x))

    assert regret("spread") < regret("constant") - 2.0


def test_failed_candidates_weigh_nothing() -> None:
    """Even where fewer succeeded than the profile rewards, and one was looked at again."""
    rng = np.random.default_rng(0)
    values = np.full((8, 2), np.nan)
    values[:, 0] = [1.0, np.inf, np.inf, 2.0, np.inf, np.inf, np.inf, np.inf]
    values[0, 1] = 1.5
    method = RBPEM()
    memory = method.start(support.setup())
    for _ in range(2):
        found, memory = method.weigh(memory, support.population(values), rng)
    weights = found.covariance
    assert memory.bootstrapped == 2
    np.testing.assert_array_equal(weights > 0.0, values[:, 0] < np.inf)
    assert weights.sum() == pytest.approx(1.0)
