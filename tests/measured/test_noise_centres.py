"""Centres: what the bootstrap scatters about."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

import support
from noisewise._types import FloatArray
from noisewise.measured import centres
from noisewise.measured.noise import fit_scale, spread_of
from noisewise.measured.population import Population
from noisewise.methods import RBPEM, NoiseModel
from noisewise.methods.rbpem import RBPEMMemory


@given(k=st.integers(2, 20), n=st.integers(1, 30), i=st.integers(0, 19), seed=st.integers(0, 99))
def test_ridge_never_uses_a_candidates_own_value(k: int, n: int, i: int, seed: int) -> None:
    """Cross-fitting: whatever y_i is, its centre stays where it is relative to the level that
    all candidates share and that ranks do not see; others move."""
    i %= k
    rng = np.random.default_rng(seed)
    Z, y = rng.normal(size=(k, n)), rng.normal(size=k)
    before = centres.ridge(Z, y) - y.mean()
    y[i] += 100.0
    after = centres.ridge(Z, y) - y.mean()
    assert after[i] == pytest.approx(before[i], abs=1e-9)
    if k > 3:  # a fold of one has no slope
        assert np.abs(after - before).max() > 1e-6


@given(k=st.integers(2, 20), n=st.integers(1, 30), i=st.integers(0, 19), seed=st.integers(0, 99))
def test_as_printed_the_level_does_not_use_the_value_either(
    k: int, n: int, i: int, seed: int
) -> None:
    """c_i stays where it is, whatever y_i is."""
    i %= k
    rng = np.random.default_rng(seed)
    Z, y = rng.normal(size=(k, n)), rng.normal(size=k)
    before = centres.ridge(Z, y, shared_level=False)
    y[i] += 100.0
    after = centres.ridge(Z, y, shared_level=False)
    assert after[i] == before[i]
    other = (np.arange(k) - i) % 2 == 1  # who learns from i
    assert np.abs(after - before)[other].max() > 1e-6
    np.testing.assert_array_equal(after[~other], before[~other])


def test_as_printed_coordinates_are_not_whitened() -> None:
    """(x - m) / sigma: along an axis in which the distribution is wide, a slope is shrunk less."""
    rng = np.random.default_rng(0)
    method = RBPEM(noise=NoiseModel(centre="cross-fitted", scale="constant"))
    memory = method.start(support.setup(2))
    C = np.array([9.0, 1.0])
    memory.state.covariance = method.strategy(memory).covariance.of(C)
    memory.state.mean, memory.state.sigma = np.array([1.0, -2.0]), 0.5
    X = memory.state.mean + 0.5 * np.sqrt(C) * rng.normal(size=(9, 2))
    population = support.population(X @ [1.0, 1.0] + rng.normal(size=9), X)
    c, _ = method.centre_and_scale(memory, population, 1.0)
    Z = (X - [1.0, -2.0]) / 0.5
    y = population.samples.first
    np.testing.assert_allclose(c, centres.ridge(Z, y, shared_level=False), rtol=1e-12)
    white = centres.ridge(Z / np.sqrt(C), y, shared_level=False)
    assert np.abs(c - white).max() > 0.05


def test_as_printed_the_scale_is_a_function_of_the_centre() -> None:
    """The line is fitted at f^, not at the median of the evaluations it is residuals of."""
    rng = np.random.default_rng(0)
    method = RBPEM(noise=NoiseModel(centre="cross-fitted", scale="linear", widen=False))
    memory = method.start(support.setup(6))
    population = _population(1.0, 30.0, rng)
    method.observe(memory, population)
    c, s = method.centre_and_scale(memory, population, 1.0)
    again = np.array([0, 0, 1, 1])
    np.testing.assert_array_equal(memory.recent[0, :4], c[again])
    size = np.abs(population.samples.values[:2, 0] - population.samples.values[:2, 1]) / 2.0
    np.testing.assert_allclose(np.abs(memory.recent[1, :4]), size[again])
    assert memory.scale == fit_scale("linear", c[again], memory.recent[1, :4])
    np.testing.assert_allclose(s, memory.scale[0] + memory.scale[1] * np.abs(c))


def test_ridge_predicts_where_there_is_enough_to_learn_from() -> None:
    """With many more candidates than dimensions its ranks follow the truth; with fewer, much less
    than the observed values do."""
    rng = np.random.default_rng(0)

    def skill(k: int, n: int) -> float:
        found = []
        for _ in range(200):
            Z = rng.normal(size=(k, n))
            f = Z.sum(axis=1) / np.sqrt(n)
            found.append(spearmanr(centres.ridge(Z, f + rng.normal(size=k)), f)[0])
        return float(np.mean(found))

    assert skill(200, 5) > 0.9
    assert 0.15 < skill(15, 40) < 0.4  # the observed values have 0.65


def test_ridge_does_not_select_against_what_it_sees() -> None:
    """Where nothing can be predicted all centres are equal. Folds with levels of their own would
    make the fold that looked worse the better one."""
    y = np.random.default_rng(0).normal(size=14)
    np.testing.assert_allclose(centres.ridge(np.zeros((14, 3)), y), y.mean())


def _truth(X: FloatArray) -> FloatArray:
    return np.asarray((X * X * np.linspace(1.0, 10.0, X.shape[1])).sum(axis=1))


def _method(centre: str) -> RBPEM:
    return RBPEM(noise=NoiseModel(centre=centre, scale="constant"), n_bootstrap=16)


def _ready(centre: str, noise: float, rng: np.random.Generator) -> tuple[RBPEM, RBPEMMemory]:
    """A method that has seen 40 generations about a moving mean."""
    method = _method(centre)
    memory = method.start(support.setup(6))
    for t in range(40):
        method.observe(memory, _population(3.0 - 0.05 * t, noise, rng))
    memory.state.mean, memory.state.sigma = np.full(6, 1.0), 0.5  # of the generation to come
    return method, memory


def _population(mean: float, noise: float, rng: np.random.Generator) -> Population:
    """Twelve candidates about ``mean`` in six dimensions, two of them evaluated twice."""
    X = mean + 0.5 * rng.normal(size=(12, 6))
    values = _truth(X)[:, None] + noise * rng.normal(size=(12, 2))
    values[2:, 1] = np.nan
    return support.population(values, X)


def _skill(centre: str, noise: float) -> float:
    """Mean rank correlation of centres and truth."""
    rng = np.random.default_rng(0)
    method, memory = _ready(centre, noise, rng)
    found = []
    for _ in range(60):
        population = _population(1.0, noise, rng)
        spread = spread_of(population.samples.first)
        c, _ = method.centre_and_scale(memory, population, spread)
        found.append(spearmanr(c, _truth(population.X))[0])
    return float(np.mean(found))


@pytest.mark.parametrize("noise", [20.0, 60.0])
def test_archive_beats_the_observation_under_noise(noise: float) -> None:
    """Earlier generations know more about f than one noisy value."""
    assert _skill("archive", noise) > _skill("observed", noise) + 0.1


def test_archive_follows_the_observation_without_noise() -> None:
    """Where values are exact, a prediction only counts as far as it is right."""
    assert _skill("archive", 0.0) == pytest.approx(1.0)


def test_archive_starts_as_the_observation() -> None:
    """Until there are two generations of points there is nothing to borrow from."""
    rng, method = np.random.default_rng(0), _method("archive")
    memory = method.start(support.setup(6))
    population = _population(1.0, 1.0, rng)
    spread = method.observe(memory, population)
    c, _ = method.centre_and_scale(memory, population, spread)
    np.testing.assert_array_equal(c, population.samples.median())


@pytest.mark.parametrize("centre", centres.CENTRES)
def test_failed_candidates_stay_last(centre: str) -> None:
    """A candidate without a value has no centre, and spoils nobody else's."""
    rng = np.random.default_rng(0)
    method, memory = _ready(centre, 1.0, rng)
    population = _population(1.0, 1.0, rng)
    population.samples.values[[1, 5]] = np.inf
    spread = method.observe(memory, population)
    c, s = method.centre_and_scale(memory, population, spread)
    np.testing.assert_array_equal(np.flatnonzero(c == np.inf), [1, 5])
    assert np.isfinite(s).all()
    order = method.rankings(memory, population, rng, spread_of(population.samples.first))
    assert order.shape == (16, 12)
    assert (order[:, :-2] != 1).all()
