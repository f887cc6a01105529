"""Depth: how many generations a budget pays for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisewise as nw
from noisewise.methods import RBPEM


def _depth(budget: int, costs: list[int]) -> int:
    """T(B) = max{T: C_0 + ... + C_(T-1) <= B} (Eq. (12))."""
    return int((np.cumsum(costs) <= budget).sum())


@given(
    population=st.integers(1, 40),
    k_max=st.integers(0, 20),
    budget=st.integers(1, 3000),
    seed=st.integers(0, 10**6),
)
def test_bounds_hold_for_any_overhead(population: int, k_max: int, budget: int, seed: int) -> None:
    """Eq. (37): floor(B/(lambda + K_max)) <= T <= floor(B/lambda) for any K_t <= K_max."""
    extra = np.random.default_rng(seed).integers(0, k_max + 1, size=budget // population + 1)
    T = _depth(budget, [population + int(K) for K in extra])
    assert budget // (population + k_max) <= T <= budget // population


def _expected_depth(budget: int, costs: list[int], p: list[float]) -> float:
    """E T for independent costs, exactly: by the cost of the first generation."""
    E = np.zeros(budget + 1)
    for left in range(budget + 1):
        E[left] = sum(q * (1.0 + E[left - c]) for c, q in zip(costs, p, strict=True) if c <= left)
    return float(E[budget])


@st.composite
def _laws(draw: st.DrawFn) -> tuple[list[int], list[float]]:
    """A law of the cost of a generation: values and probabilities."""
    costs = draw(st.lists(st.integers(1, 60), min_size=1, max_size=4, unique=True))
    raw = [draw(st.integers(1, 100)) for _ in costs]
    return costs, [r / sum(raw) for r in raw]


@given(law=_laws(), budget=st.integers(0, 300))
def test_expected_depth(law: tuple[list[int], list[float]], budget: int) -> None:
    """T + 1 is a stopping time: mu E[T + 1] = B + E[overshoot], where the overshoot is at least 1,
    at most the largest cost, and at most E C^2 / mu on average (Lorden). Hence
    (B + 1)/mu - 1 <= E T <= min(B + C_max, B + E C^2/mu)/mu - 1."""
    costs, p = law
    mean, square = (sum(q * c**n for c, q in zip(costs, p, strict=True)) for n in (1, 2))
    depth = _expected_depth(budget, costs, p)
    slack = 1e-9
    assert (budget + 1) / mean - 1.0 <= depth + slack
    assert depth <= (budget + max(costs)) / mean - 1.0 + slack
    assert depth <= (budget + square / mean) / mean - 1.0 + slack


def test_the_published_bound_fails_where_costs_vary() -> None:
    """E T <= B/mu, which treats T itself as a stopping time, is wrong: it is not known at the end
    of generation T that the next one will not fit. The excess is at most Var C / mu^2."""
    costs, p, budget = [1, 100], [0.99, 0.01], 39  # lambda = 1, K in {0, 99}
    mean = 1.99
    depth = _expected_depth(budget, costs, p)
    assert depth == pytest.approx(32.1, abs=0.05)
    assert budget / mean == pytest.approx(19.6, abs=0.05)
    assert depth > budget / mean
    variance = 99.0**2 * 0.01 * 0.99
    assert depth <= budget / mean + variance / mean**2
    rng = np.random.default_rng(0)
    drawn = [_depth(budget, rng.choice(costs, size=40, p=p).tolist()) for _ in range(4000)]
    assert np.mean(drawn) == pytest.approx(depth, abs=4.0 * np.std(drawn) / 4000**0.5)


@given(population=st.integers(4, 40), k_max=st.integers(0, 4), budget=st.integers(1, 600))
def test_the_approximation_holds_where_costs_hardly_vary(
    population: int, k_max: int, budget: int
) -> None:
    """K_t uniform on 0..K_max with K_max <= lambda: E T is B/mu up to one generation, because
    Var C/mu^2 is at most 1/12 then."""
    costs = [population + K for K in range(k_max + 1)]
    depth = _expected_depth(budget, costs, [1.0 / len(costs)] * len(costs))
    mean = population + k_max / 2.0
    assert budget / mean - 1.0 < depth <= budget / mean + 1.0 / 12.0


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
        confirm=0,
    )
    assert (r.history["population"] == population).all()
    assert budget // (population + k_max) <= r.nit <= budget // population
    assert r.nit == 24
    assert r.n_reevaluations == 24 * k_max


@given(
    population=st.integers(2, 16),
    k_max=st.integers(0, 4),
    generations=st.integers(1, 6),
    rest=st.integers(0, 19),
)
def test_a_run_has_as_many_generations_as_fit_or_one_more(
    population: int, k_max: int, generations: int, rest: int
) -> None:
    """T(B) of Eq. (12) counts whole generations. What is left is shared by the last two, so a run
    has T(B) generations or one more; no evaluation is left, and a whole number leaves none over."""
    again = min(k_max, population)
    cost = population + again
    rest %= cost
    budget = generations * cost + rest
    noise = np.random.default_rng(0)
    r = nw.minimize(
        lambda x: float(x @ x) + noise.normal(),
        np.ones(3),
        sigma0=1.0,
        budget=budget,
        method=RBPEM(k_max=k_max, population=population),
        rng=0,
        confirm=0,
    )
    T = _depth(budget, [cost] * budget)
    assert generations == T
    assert r.nfev == budget
    assert r.nit - T in ((0, 1) if rest else (0,))
    assert (r.history["population"][: T - 1] == population).all()


def test_one_more_generation_than_fits() -> None:
    """d = 5 and B = 203: 22 generations of 9 evaluations fit; 21 and two smaller ones are run."""
    noise = np.random.default_rng(0)
    r = nw.minimize(
        lambda x: float(x @ x) + noise.normal(),
        np.ones(5),
        sigma0=1.0,
        budget=203,
        method=RBPEM(),
        rng=0,
        confirm=0,
    )
    assert _depth(203, [9] * 203) == 22
    assert r.nit == 23
    assert r.history["population"].tolist() == [8.0] * 21 + [6.0] * 2
    assert r.nfev == 203
