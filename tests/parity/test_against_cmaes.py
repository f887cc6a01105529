"""With equal samples and weights the core follows the package `cmaes`, generation by generation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from noisewise._types import FloatArray
from noisewise.cma.covariance import Covariance, Diagonal, DiagonalState, Full, Rates
from noisewise.cma.strategy import State, Strategy
from noisewise.cma.weights import Log, rank_weights
from noisewise.problem.box import Box

cmaes = pytest.importorskip("cmaes")

GENERATIONS = 200
DIMENSIONS = (2, 5, 10, 40)


def ellipsoid(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Badly scaled, noisy enough that ranks are often wrong."""
    scales = np.logspace(0.0, 3.0, X.shape[1])
    f = (scales * X * X).sum(axis=1)
    return np.asarray(f * np.exp(0.3 * rng.normal(size=len(X))))


def side_by_side(
    theirs: Any, strategy: Strategy, profile: FloatArray, box: Box, seed: int
) -> Iterator[tuple[int, State]]:
    """Feed both the same repaired samples, drawn by ours, and the same values."""
    rng = np.random.default_rng(seed)
    state = strategy.start(theirs.mean, theirs._sigma)
    for generation in range(GENERATIONS):
        X = box.repaired(strategy.sample(state, theirs.population_size, rng))
        values = ellipsoid(X, rng)
        state, _ = strategy.update(state, X, rank_weights(values, profile))
        theirs.tell(list(zip(X.copy(), values.tolist(), strict=True)))
        yield generation, state


def assert_equal(state: State, theirs: Any, generation: int) -> None:
    where = f"generation {generation}"
    C = state.covariance.C
    size = np.abs(C).max()
    reach = state.sigma * math.sqrt(size)  # the mean crosses zero: compare to the spread
    np.testing.assert_allclose(state.sigma, theirs._sigma, rtol=1e-8, err_msg=where)
    np.testing.assert_allclose(C, theirs._C, rtol=1e-8, atol=1e-8 * size, err_msg=where)
    np.testing.assert_allclose(state.mean, theirs.mean, rtol=1e-8, atol=1e-8 * reach, err_msg=where)
    np.testing.assert_allclose(state.p_sigma, theirs._p_sigma, rtol=1e-8, atol=1e-8, err_msg=where)
    np.testing.assert_allclose(
        state.p_c, theirs._pc, rtol=1e-8, atol=1e-8 * math.sqrt(size), err_msg=where
    )


def box_of(d: int, bounded: bool) -> Box:
    side = 2.5 if bounded else np.inf
    return Box.of(np.full(d, -side), np.full(d, side))


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_full_covariance_with_active_weights(d: int, bounded: bool) -> None:
    theirs = cmaes.CMA(mean=np.full(d, 2.0), sigma=1.5)
    profile = Log(active=True).weights(theirs.population_size)
    strategy = Strategy(d, Full(laziness=0.0))
    for generation, state in side_by_side(theirs, strategy, profile, box_of(d, bounded), seed=d):
        assert_equal(state, theirs, generation)
    assert state.sigma != 1.5


@dataclass(frozen=True)
class TheirRates(Covariance):
    """A diagonal model that learns at given rates."""

    given: Rates
    model: Diagonal = field(default_factory=Diagonal)

    def rates(self, n: int, mu_eff: float) -> Rates:
        return self.given

    def start(self, n: int) -> DiagonalState:
        return self.model.start(n)

    def of(self, C: FloatArray) -> DiagonalState:
        return self.model.of(C)

    def stretch(self, state: Any, Z: FloatArray) -> FloatArray:
        return self.model.stretch(state, Z)

    def whiten(self, state: Any, Y: FloatArray) -> FloatArray:
        return self.model.whiten(state, Y)

    def update(self, *args: Any) -> DiagonalState:
        return self.model.update(*args)

    def movement(self, before: Any, after: Any, q: float) -> FloatArray:
        return self.model.movement(before, after, q)

    def blend(self, before: Any, after: Any, q: float, eta: float) -> tuple[Any, float]:
        return self.model.blend(before, after, q, eta)

    def scatter(self, n: int) -> float:
        return self.model.scatter(n)


def rates_of(theirs: Any) -> Rates:
    """The rates their separable variant learns at, which are not our defaults."""
    c_sigma, c_c, mu_eff = theirs._c_sigma, theirs._cc, theirs._mu_eff
    return (
        Diagonal()
        .rates(theirs.dim, mu_eff)
        ._replace(
            c_sigma=c_sigma,
            d_sigma=theirs._d_sigma,
            c_c=c_c,
            c_1=theirs._c1,
            c_mu=theirs._cmu,
            g_sigma=math.sqrt(c_sigma * (2.0 - c_sigma) * mu_eff),
            g_c=math.sqrt(c_c * (2.0 - c_c) * mu_eff),
        )
    )


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_diagonal_covariance(d: int, bounded: bool) -> None:
    theirs = cmaes.SepCMA(mean=np.full(d, 2.0), sigma=1.5)
    k = theirs.population_size
    mu = k // 2
    profile = np.maximum(math.log(mu + 1) - np.log(np.arange(1, k + 1)), 0.0)
    profile /= profile.sum()
    strategy = Strategy(d, TheirRates(rates_of(theirs)))
    for generation, state in side_by_side(theirs, strategy, profile, box_of(d, bounded), seed=d):
        assert_equal(state, theirs, generation)
    assert state.sigma != 1.5


@pytest.mark.parametrize("d", DIMENSIONS)
def test_default_rates_are_theirs(d: int) -> None:
    theirs = cmaes.CMA(mean=np.zeros(d), sigma=1.0)
    rates = Full().rates(d, theirs._mu_eff)
    found = (rates.c_sigma, rates.d_sigma, rates.c_c, rates.c_1, rates.c_mu)
    expected = (theirs._c_sigma, theirs._d_sigma, theirs._cc, theirs._c1, theirs._cmu)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_repair_is_theirs(d: int) -> None:
    """On a cube; ours scales coordinates of other widths first."""
    bounds = np.column_stack((np.full(d, -1.0), np.full(d, 1.5)))
    theirs = cmaes.CMA(mean=np.zeros(d), sigma=2.0, bounds=bounds)
    X = np.random.default_rng(d).normal(scale=2.0, size=(50, d))
    expected = [theirs._repair_infeasible_params(x) for x in X]
    found = Box.of(bounds[:, 0], bounds[:, 1]).repaired(X)
    np.testing.assert_array_equal(found, expected)
    assert (found != X).any()
