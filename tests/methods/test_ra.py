"""RA-CMA-ES: as many evaluations as it takes for two halves of them to agree."""

from __future__ import annotations

import noisy
import numpy as np
import pytest

import noisewise as nw
from noisewise.cma.weights import Log
from noisewise.measured.samples import Samples
from noisewise.methods import LRACMAES, RACMAES
from noisewise.methods.racmaes import Agreement, halves


def test_halves_take_turns_and_leave_the_odd_one_out() -> None:
    one, two = halves(Samples(np.array([[1.0, 10.0, 3.0, 30.0, 99.0], [2.0, 4.0, 6.0, 8.0, 0.0]])))
    np.testing.assert_array_equal(one, [2.0, 4.0])
    np.testing.assert_array_equal(two, [20.0, 6.0])


def test_a_half_without_a_value_borrows_the_other() -> None:
    one, two = halves(Samples(np.array([[1.0, np.inf], [2.0, np.nan], [np.inf, 3.0]])))
    np.testing.assert_array_equal(one, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(two, one)
    alone = halves(Samples(np.array([[1.0], [2.0]])))
    np.testing.assert_array_equal(alone[0], alone[1])


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.9])
def test_the_correlation_is_estimated(shared: float) -> None:
    rng, zero = np.random.default_rng(0), np.zeros(50)
    agreement = Agreement(zero, zero)
    drift = rng.standard_normal(50)
    for _ in range(200):
        common, one, two = rng.standard_normal((3, 50))
        agreement = agreement.after(
            drift + np.sqrt(shared) * common + np.sqrt(1.0 - shared) * one,
            drift + np.sqrt(shared) * common + np.sqrt(1.0 - shared) * two,
            0.1,
        )
    assert agreement.correlation == pytest.approx(shared, abs=0.1)


def test_nothing_seen_counts_as_agreement() -> None:
    assert Agreement(np.zeros(3), np.zeros(3)).correlation == 1.0


def test_without_noise_it_is_lra_cma_es_at_a_fifth_more_evaluations() -> None:
    ours = noisy.run(RACMAES(), budget=1800)
    twin = noisy.run(LRACMAES(profile=Log()), budget=1400)
    n = min(ours.nit, twin.nit) - 3
    assert n > 100
    np.testing.assert_array_equal(ours.history["sigma"][:n], twin.history["sigma"][:n])
    repeats = noisy.evaluations_per_generation(ours)[:n] / ours.history["population"][:n]
    assert set(repeats) == {1.0, 2.0}
    assert repeats.mean() == pytest.approx(1.2, abs=0.1)


def test_noise_raises_the_evaluations() -> None:
    result = noisy.run(RACMAES(), noisy.only, budget=4000)
    repeats = noisy.evaluations_per_generation(result) / result.history["population"]
    assert repeats[:10].mean() < 1.5
    assert repeats[-10:].mean() > 10.0


@pytest.mark.parametrize("K", [1.2, 2.0, 7.5])
def test_evaluations_stay_where_the_halves_agree_as_wanted(K: float) -> None:
    method = RACMAES()
    wanted = 0.8 ** (min(K - 1.0, 1.0) * (1.0 + np.log(K / 1.2)))
    assert method.wanted(K, wanted) == pytest.approx(K)
    assert method.wanted(K, 0.5 * wanted) == pytest.approx(K * np.exp(0.05))
    assert method.wanted(K, -1.0) == pytest.approx(K * np.exp(0.1))
    assert method.wanted(K, 1.0) == pytest.approx(
        max(1.2, K * np.exp(-0.1 * min(1.0, 1.0 / wanted - 1.0)))
    )


def test_it_stays_near_under_multiplicative_noise_where_lra_cma_es_does_not() -> None:
    def multiplicative(rng: np.random.Generator, f: np.ndarray) -> np.ndarray:
        return f * (1.0 + rng.standard_normal(len(f)))

    given = {"noise": multiplicative, "budget": 2000}
    lra = noisy.mean_log_regret(LRACMAES(), **given)
    assert noisy.mean_log_regret(RACMAES(), **given) < lra - 0.6


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_it_comes_closer_than_cma_es_under_constant_noise(covariance: str) -> None:
    given = {"noise": noisy.gaussian(1.0), "budget": 1500}
    plain = noisy.mean_log_regret(nw.methods.CMAES(covariance=covariance), **given)
    assert noisy.mean_log_regret(RACMAES(covariance=covariance), **given) < plain - 0.5


def test_options_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"^correlation must be"):
        RACMAES(correlation=1.5)
