"""watchful: what it sees, what it does, what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.methods import CMAES, Watchful
from noisewise.methods.watchful import GROW, SHRINK


def sphere(x: np.ndarray) -> float:
    return float(x @ x)


def noisy_sphere(seed: int, spread: float = 1.0):
    noise = np.random.default_rng(seed)
    return lambda x: float(x @ x) * noise.lognormal(0.0, spread)


def candidates(method: nw.methods.Method, generations: int) -> list[bytes]:
    """The points a method evaluates first, generation by generation, without re-evaluations."""
    opt = nw.Optimizer(np.ones(6), sigma0=0.5, budget=3000, method=method, rng=3)
    seen = []
    while opt.generation < generations:
        for trial in opt.ask():
            if trial.kind == "candidate":
                seen.append(trial.x.tobytes())
            opt.tell(trial.id, sphere(trial.x))
    return seen


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_on_a_deterministic_objective_watchful_is_cma_es(covariance: str) -> None:
    """Every candidate of the first 100 generations is the same, to the bit."""
    watchful = candidates(Watchful(covariance=covariance), 100)
    assert watchful == candidates(CMAES(covariance=covariance), 100)


@pytest.mark.parametrize("budget", [400, 2000, 10000])
def test_a_deterministic_objective_costs_at_most_one_percent(budget: int) -> None:
    r = nw.minimize(sphere, np.ones(5), sigma0=1.0, budget=budget, rng=0, method="watchful")
    assert 1 <= r.n_reevaluations <= 0.01 * budget
    assert "agreed exactly" in r.message


def test_noise_makes_the_population_grow_and_the_message_say_so() -> None:
    r = nw.minimize(noisy_sphere(1), np.ones(10), sigma0=1.0, budget=2000, rng=0, method="watchful")
    population = r.history["population"]
    assert population[0] == 10
    assert population[:-2].max() >= 40
    assert r.n_reevaluations < 0.08 * 2000
    assert "population 10 -> 4" in r.message
    assert 0.2 < r.misranking < 0.45


@pytest.mark.parametrize(("d", "generations"), [(4, 12.0), (100, 40.0), (1000, 75.0)])
def test_a_short_budget_pays_for_enough_generations(d: int, generations: float) -> None:
    opt = nw.Optimizer(np.ones(d), sigma0=0.5, budget=50 * d, method="watchful", confirm=0)
    assert opt._run.memory.largest == pytest.approx(50 * d / generations)


@pytest.mark.parametrize("seed", range(6))
def test_failed_reevaluations_are_no_sign_of_determinism(seed: int) -> None:
    """It goes on looking until two values of one candidate can be compared."""
    noise = np.random.default_rng(seed)
    looks: list[str] = []
    opt = nw.Optimizer(np.ones(10), sigma0=1.0, budget=1000, rng=seed, method="watchful")
    while opt.generation < 6:
        for trial in opt.ask():
            again = trial.kind == "reevaluation"
            looks += [trial.kind] * again
            failed = again and len(looks) <= 2
            opt.tell(trial.id, np.nan if failed else sphere(trial.x) * noise.lognormal())
    assert len(looks) >= 4
    assert Watchful().explain(opt._run.memory).deterministic is False
    message = opt.result().message
    assert "agreed exactly" not in message
    assert "disagree" in message or "too few to say" in message


def test_wins_and_losses_that_agree_are_no_sign_of_determinism() -> None:
    """Nine games in ten are lost far from the best place, so a few of them agree by luck."""
    claims = 0
    for seed in range(20):
        noise = np.random.default_rng(seed)

        def lost(x: np.ndarray, noise: np.random.Generator = noise) -> float:
            return float(noise.random() < 0.9 - 0.8 * np.exp(-0.1 * sphere(x)))

        given: dict[str, Any] = {"sigma0": 0.5, "budget": 300, "rng": seed, "method": "watchful"}
        claims += "agreed exactly" in nw.minimize(lost, np.full(10, 1.5), **given).message
    assert claims <= 2


def test_equal_values_are_no_sign_of_determinism() -> None:
    """One value everywhere says nothing, steps that depend on the point do."""
    given: dict[str, Any] = {"sigma0": 1.0, "budget": 400, "rng": 0, "method": "watchful"}
    flat = nw.minimize(lambda x: 1.0, np.ones(6), **given)
    assert "so do different points" in flat.message
    steps = nw.minimize(lambda x: np.floor(4.0 * sphere(x)), np.ones(6), **given)
    assert "agreed exactly" in steps.message


def test_without_a_single_pair_it_claims_nothing() -> None:
    opt = nw.Optimizer(np.ones(3), sigma0=1.0, budget=60, rng=0, method="watchful")
    while not opt.done:
        for trial in opt.ask():
            failed = trial.kind == "reevaluation"
            opt.tell(trial.id, np.nan if failed else sphere(trial.x))
    assert "no candidate could be evaluated twice" in opt.result().message


def test_population_changes_within_its_limits() -> None:
    """After the first generation by at most GROW up and SHRINK down, but for the last ones."""
    r = nw.minimize(
        noisy_sphere(2, 0.3), np.ones(10), sigma0=1.0, budget=4000, rng=1, method="watchful"
    )
    population = r.history["population"][1:-2]
    ratio = population[1:] / population[:-1]
    assert (population[1:] <= np.ceil(population[:-1] * GROW) + 1).all()
    assert (population[1:] >= np.floor(population[:-1] / SHRINK) - 1).all()
    assert ratio.max() > 1.0


def test_population_goes_back_when_the_noise_fades() -> None:
    noise = np.random.default_rng(5)
    calls = 0

    def fading(x: np.ndarray) -> float:
        nonlocal calls
        calls += 1
        return float(x @ x) * (noise.lognormal() if calls < 1500 else 1.0)

    r = nw.minimize(fading, np.ones(8), sigma0=1.0, budget=6000, rng=0, method="watchful")
    population = r.history["population"]
    assert population.max() > 3 * population[0]
    assert population[-3] == population[0]


def test_late_additive_noise_is_seen() -> None:
    """Noise far below the first differences between candidates, far above the last."""
    noise = np.random.default_rng(7)
    r = nw.minimize(
        lambda x: float(x @ x) + 1e-3 * noise.normal(),
        np.ones(10),
        sigma0=1.0,
        budget=4000,
        rng=0,
        method="watchful",
    )
    population = r.history["population"]
    assert (population[:20] <= 14).all()
    assert population.max() >= 30


def test_it_beats_separable_cma_es_on_a_noisy_sphere() -> None:
    gains = []
    for seed in range(10):
        regret = {}
        for method in ("watchful", "sep-cma-es"):
            r = nw.minimize(
                noisy_sphere(seed), np.ones(10), sigma0=1.0, budget=2000, rng=seed, method=method
            )
            regret[method] = sphere(r.x)
        gains.append(np.log10(regret["sep-cma-es"] / regret["watchful"]))
    assert sum(gain > 0.0 for gain in gains) >= 9
    assert np.median(gains) > 0.5


def test_a_failed_candidate_never_pulls_the_mean() -> None:
    noise = np.random.default_rng(2)

    def walled(x: np.ndarray) -> float:
        return np.nan if x[0] > 0.5 else float(x @ x) * noise.lognormal()

    r = nw.minimize(walled, np.full(4, -1.0), sigma0=0.5, budget=1000, rng=1, method="watchful")
    assert r.n_failures > 0
    assert r.x[0] <= 0.5
    assert sphere(r.x) < 1.0
