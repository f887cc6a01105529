"""PSA-CMA-ES: the population follows how well successive updates agree."""

from __future__ import annotations

import dataclasses

import noisy
import numpy as np
import pytest

import noisewise as nw
from noisewise.cma.covariance import Covariance, Diagonal, Full
from noisewise.cma.learning_rate import mean_movement, shape_movement
from noisewise.cma.strategy import Strategy
from noisewise.cma.weights import Log
from noisewise.methods import CMAES, PSACMAES
from noisewise.methods.psacmaes import expected_movement
from noisewise.problem.box import Box


@pytest.mark.parametrize("covariance", [Full(laziness=0.0), Diagonal()])
@pytest.mark.parametrize(
    # The published approximation neglects that p_c is long when the step size grows, which
    # shows where the learning rates are large.
    ("n", "population", "within"),
    [(10, 10, 0.05), (20, 12, 0.05), (10, 40, 0.15)],
)
def test_expected_movement_is_what_random_selection_does(
    covariance: Covariance, n: int, population: int, within: float
) -> None:
    rng, profile = np.random.default_rng(0), Log().weights(population)
    strategy, box = Strategy(n, covariance), Box.of(np.full(n, -np.inf), np.full(n, np.inf))
    state, filled_c = strategy.start(np.zeros(n), 1.0), 0.0
    observed, expected = [], []
    for _ in range(1200):
        X = box.repaired(strategy.sample(state, population, rng))
        after, info = strategy.update(state, X, profile)
        c_c = info.rates.c_c
        filled_c = (1.0 - c_c) ** 2 * filled_c + info.moving * c_c * (2.0 - c_c)
        a = covariance.scatter(n)
        expected.append(expected_movement(a, profile, 1.0, after, info, filled_c))
        moved = [m(covariance, state, after) for m in (mean_movement, shape_movement)]
        observed.append(sum(float(np.vdot(v, v)) for v in moved))
        state = dataclasses.replace(after, sigma=1.0, mean=np.zeros(n))
    assert np.mean(observed[100:]) == pytest.approx(np.mean(expected[100:]), rel=within)


def test_scatter_is_the_variance_of_what_a_model_learns() -> None:
    z = np.random.default_rng(0).standard_normal((20000, 6))
    outer = z[:, :, None] * z[:, None, :] - np.eye(6)
    assert Full().scatter(6) == pytest.approx((outer**2).sum(axis=(1, 2)).mean(), rel=0.03)
    assert Diagonal().scatter(6) == pytest.approx(((z * z - 1.0) ** 2).sum(axis=1).mean(), rel=0.03)


def test_pure_noise_grows_the_population_to_the_largest() -> None:
    result = noisy.run(PSACMAES(largest=60), noisy.only, budget=4000)
    population = result.history["population"]
    assert population[0] == 8
    assert population[:-2].max() == 60
    assert np.median(population[10:-2]) > 40


def test_a_slope_keeps_the_population_small() -> None:
    result = nw.minimize(
        lambda X: X.sum(axis=1),
        [0.0] * 5,
        sigma0=1.0,
        budget=1000,
        vectorized=True,
        rng=0,
        method=PSACMAES(),
    )
    assert np.median(result.history["population"]) < 14
    noise = noisy.run(PSACMAES(), noisy.only, budget=1000)
    assert np.median(noise.history["population"]) > 30


def test_by_default_a_generation_takes_a_twentieth_of_the_budget_at_most() -> None:
    result = noisy.run(PSACMAES(), noisy.only, budget=2000)
    assert 90 <= result.history["population"].max() <= 100


def test_the_step_size_keeps_its_distance_to_the_best_one() -> None:
    small, large = (PSACMAES()._best_step(k, 0.0, 10) for k in (10, 40))
    # On the sphere the best step size grows with mu_eff while that is small against n.
    assert 1.5 < large / small < 4.0


def test_it_comes_closer_than_cma_es_under_noise() -> None:
    given = {"noise": noisy.gaussian(1.0), "budget": 2000}
    plain = noisy.mean_log_regret(CMAES(), **given)
    assert noisy.mean_log_regret(PSACMAES(), **given) < plain - 0.5
    slim = noisy.mean_log_regret(PSACMAES(covariance="diagonal"), **given)
    assert slim < plain - 0.5


def test_negative_weights_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^profile must have no negative weights"):
        PSACMAES(profile=Log(active=True))


@pytest.mark.parametrize("wrong", [{"alpha": 0.0}, {"beta": 2.0}, {"largest": 1}])
def test_options_say_what_is_wrong(wrong: dict[str, float]) -> None:
    [name] = wrong
    with pytest.raises(ValueError, match=f"^{name} must be"):
        PSACMAES(**wrong)  # type: ignore[arg-type]
