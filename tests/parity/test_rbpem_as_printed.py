"""`RBPEM.printed` does what the text of the paper says, generation by generation."""

from __future__ import annotations

import numpy as np
import pytest
from naive_rbpem import NaiveRBPEM, power_lift

import support
from noisewise._types import FloatArray
from noisewise.measured.population import Population
from noisewise.methods import RBPEM
from noisewise.methods.method import Now

_GENERATIONS = 150


def _noisy(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    f = (X * X * np.linspace(1.0, 5.0, X.shape[1])).sum(axis=1) + 3.0
    return np.asarray(f * (1.0 + 0.4 * rng.standard_t(3.0, size=len(X))))


@pytest.mark.parametrize("k_max", [1, 3])
def test_printed_rb_pem_equals_its_twin_in_plain_loops(k_max: int) -> None:
    """Which candidates are re-evaluated, pool, scale, weights and the step of the mean, Eq. (30),
    over more generations than the window of the scale and any ring of residuals."""
    n, b = 3, 8
    method = RBPEM.printed(k_max=k_max, n_bootstrap=b)
    memory = method.start(support.setup(n))
    memory.state.mean[:] = 2.0
    noise, search, random = (np.random.default_rng(seed) for seed in (1, 2, 3))
    twin_random = np.random.default_rng(3)
    twin = NaiveRBPEM(k_max, b, lambda: float(twin_random.random()))
    for t in range(_GENERATIONS):
        now, state = Now(1000, 1000), memory.state
        X = method.propose(memory, 7, np.empty((0, n)), now, search)
        Z = ((X - state.mean) / state.sigma).tolist()
        population = Population.of(X, X)
        population.began = t / _GENERATIONS
        w = power_lift(7, population.began)
        assert method.request(memory, population, random).tolist() == list(range(7))
        population.samples.values[:, 0] = _noisy(X, noise)
        population.wave = 1
        again = method.request(memory, population, random)
        assert again.tolist() == twin.reevaluated(Z, population.samples.first.tolist(), w)
        second = np.full(7, np.nan)
        second[again] = _noisy(X[again], noise)
        population.samples.values = np.column_stack((population.samples.values[:, 0], second))
        population.wave = 2
        values = [[v for v in row if v == v] for row in population.samples.values.tolist()]
        weights = twin.weights(Z, values, w)
        step = sum(a * (x - state.mean) for a, x in zip(weights, X, strict=True))
        expected = state.mean + step
        memory, info = method.learn(memory, population, now, random)
        np.testing.assert_allclose(memory.pool.z, twin.pool, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(memory.scale, (twin.s0, twin.s1), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(memory.state.mean, expected, rtol=1e-9, atol=1e-12)
        assert info.row[1] == pytest.approx(1.0 / sum(a * a for a in weights))  # mu_eff
    assert memory.pool.size == 2 * k_max * _GENERATIONS  # all residuals so far
