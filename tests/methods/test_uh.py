"""UH-CMA-ES: the rank-change measure, the treatment, and the whole."""

from __future__ import annotations

import cma
import noisy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.cma.weights import Log
from noisewise.methods import CMAES, UHCMAES
from noisewise.methods.uhcmaes import rank_change

_EVALUATIONS = UHCMAES(treatment="evaluations", max_evaluations=8)


def _values(seed: int, k: int, again: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of k candidates, and of the ``again`` that were evaluated once more."""
    rng = np.random.default_rng(seed)
    old = rng.standard_normal(k)
    new = np.full(k, np.nan)
    new[rng.permutation(k)[:again]] = rng.standard_normal(again)
    return old, new


@pytest.mark.parametrize("theta", [0.2, 0.5, 1.0])
@pytest.mark.parametrize(("k", "again"), [(5, 2), (10, 2), (15, 4), (40, 40)])
def test_the_measure_is_that_of_pycma(k: int, again: int, theta: float) -> None:
    for seed in range(20):
        old, new = _values(seed, k, again)
        handler = cma.NoiseHandler(10)
        handler.theta, handler.cum = theta, 1.0
        handler.idx = np.flatnonzero(~np.isnan(new))
        handler.fit, handler.fitre = list(old), list(np.where(np.isnan(new), old, new))
        mean, each = handler.update_measure()
        ours = rank_change(old, new).excess(theta)
        np.testing.assert_allclose(ours, each, rtol=0.0, atol=1e-12)
        assert ours.mean() == pytest.approx(mean, abs=1e-12)


@given(seed=st.integers(0, 10**6), k=st.integers(2, 20))
def test_it_does_not_matter_which_value_came_first(seed: int, k: int) -> None:
    old, new = _values(seed, k, k)
    np.testing.assert_array_equal(
        rank_change(old, new).excess(0.5), rank_change(new, old).excess(0.5)
    )


@given(seed=st.integers(0, 10**6), k=st.integers(2, 20))
def test_values_that_repeat_exactly_are_tolerated(seed: int, k: int) -> None:
    old, _ = _values(seed, k, 0)
    change = rank_change(old, old)
    assert (change.delta == 0).all()
    assert (change.excess(0.0) == -1.0).all()


def test_pure_noise_is_more_than_tolerated_on_average() -> None:
    excess = [rank_change(*_values(seed, 12, 3)).excess(0.5).mean() for seed in range(400)]
    assert np.mean(excess) > 0.5


def test_without_noise_it_is_cma_es_apart_from_the_reevaluations() -> None:
    plain = noisy.run(CMAES(profile=Log(active=True)), budget=600)
    ours = noisy.run(UHCMAES(), budget=900)
    n = min(plain.nit, ours.nit) - 3
    assert n > 50
    np.testing.assert_array_equal(ours.history["sigma"][:n], plain.history["sigma"][:n])
    spent = noisy.evaluations_per_generation(ours)[:n]
    assert set(spent - ours.history["population"][:n]) == {2.0}
    assert ours.misranking == 0.0


def test_noise_raises_the_evaluations_per_candidate_up_to_the_limit() -> None:
    result = noisy.run(_EVALUATIONS, noisy.only, budget=4000)
    per_candidate = noisy.evaluations_per_generation(result) / (result.history["population"] + 2)
    assert per_candidate[0] == 1.0
    assert per_candidate.max() == 8.0
    assert np.median(per_candidate[-10:]) == 8.0


def test_evaluations_fall_again_when_the_noise_is_gone() -> None:
    calls = 0

    def fades(rng: np.random.Generator, f: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += len(f)
        return rng.standard_normal(len(f)) if calls < 2000 else f

    result = noisy.run(_EVALUATIONS, fades, budget=6000)
    per_candidate = noisy.evaluations_per_generation(result) / (result.history["population"] + 2)
    assert per_candidate.max() >= 6.0
    assert per_candidate[-5] == 1.0


def test_sigma_treatment_grows_the_steps_and_nothing_else() -> None:
    grown, plain = (
        noisy.run(UHCMAES(treatment=t, max_evaluations=1), noisy.only, budget=1500)
        for t in ("sigma", "evaluations")
    )
    assert grown.nit == plain.nit
    assert grown.history["sigma"][-1] > 100.0 * plain.history["sigma"][-1]


def test_both_treatments_start_with_evaluations() -> None:
    both, only_evaluations = (
        noisy.run(UHCMAES(treatment=t, max_evaluations=4, alpha_t=1.5), noisy.only, budget=2000)
        for t in ("both", "evaluations")
    )
    spent = noisy.evaluations_per_generation(both)
    full = int(np.flatnonzero(spent >= 4 * both.history["population"])[0])
    same = both.history["sigma"] == only_evaluations.history["sigma"]
    assert full >= 3
    assert same[:full].all()
    assert both.history["sigma"][-1] > 10.0 * only_evaluations.history["sigma"][-1]


def test_it_comes_closer_than_cma_es_under_constant_noise() -> None:
    given = {"noise": noisy.gaussian(1.0), "budget": 4000}
    assert noisy.mean_log_regret(UHCMAES(), **given) < noisy.mean_log_regret(CMAES(), **given) - 0.2


@pytest.mark.parametrize(
    "wrong",
    [
        {"treatment": "none"},
        {"max_evaluations": 0},
        {"theta": 1.5},
        {"smoothing": 0.0},
        {"alpha_t": 0.9},
        {"fraction": -0.1},
        {"aggregate": "min"},
    ],
)
def test_options_say_what_is_wrong(wrong: dict[str, object]) -> None:
    [name] = wrong
    with pytest.raises(ValueError, match=f"^{name} must be"):
        UHCMAES(**wrong)  # type: ignore[arg-type]
