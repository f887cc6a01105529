"""Depth: how many generations a budget pays for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisewise as nw
from noisewise.methods import RBPEM


def _depth(budget: int, costs: list[int]) -> int:
    """T(B) = max{T: C_0 + ... + C_(T-1) <= B} (Eq. depth_def)."""
    return int((np.cumsum(costs) <= budget).sum())


@given(
    population=st.integers(1, 40),
    k_max=st.integers(0, 20),
    budget=st.integers(1, 3000),
    seed=st.integers(0, 10**6),
)
def test_bounds_hold_for_any_overhead(population: int, k_max: int, budget: int, seed: int) -> None:
    """Eq. depth_bounds: floor(B/(lambda + K_max)) <= T <= floor(B/lambda) for any K_t <= K_max."""
    extra = np.random.default_rng(seed).integers(0, k_max + 1, size=budget // population + 1)
    T = _depth(budget, [population + int(K) for K in extra])
    assert budget // (population + k_max) <= T <= budget // population


def test_expected_depth() -> None:
    """Wald: B/(lambda + E K) - 1 < E T <= B/(lambda + E K) for independent K_t."""
    rng = np.random.default_rng(0)
    population, budget, mean_cost = 10, 300, 12.0
    depths = [
        _depth(budget, [population + int(K) for K in rng.integers(0, 5, size=31)])
        for _ in range(4000)
    ]
    assert budget / mean_cost - 1.0 < np.mean(depths) <= budget / mean_cost
    assert np.ptp(depths) >= 2


@pytest.mark.parametrize("k_max", [0, 1, 3, 8])
def test_bounds_hold_in_a_run(k_max: int) -> None:
    """RB-PEM pays for as many generations as if every one cost lambda + K_max, and no fewer."""
    population = 8
    budget = 24 * (population + k_max)
    noise = np.random.default_rng(0)
    r = nw.minimize(
        lambda x: float(x @ x) + noise.normal(),
        np.ones(4),
        sigma0=1.0,
        budget=budget,
        method=RBPEM(k_max=k_max, population=population),
        rng=0,
    )
    assert (r.history["population"] == population).all()
    assert budget // (population + k_max) <= r.nit <= budget // population
    assert r.nit == 24
    assert r.n_reevaluations == 24 * k_max
