"""Resampling: k evaluations of each candidate."""

from __future__ import annotations

import noisy
import numpy as np
import pytest

import noisewise as nw
from noisewise.methods import CMAES, Resample


@pytest.mark.parametrize("aggregate", ["mean", "median", "trimmed"])
def test_one_evaluation_each_is_cma_es_to_the_bit(aggregate: str) -> None:
    ours = noisy.run(Resample(k=1, aggregate=aggregate), noisy.gaussian(1.0), budget=403)
    plain = noisy.run(CMAES(), noisy.gaussian(1.0), budget=403)
    np.testing.assert_array_equal(ours.x, plain.x)
    for column, values in plain.history.items():
        np.testing.assert_array_equal(ours.history[column], values)


def test_without_noise_k_evaluations_only_cost() -> None:
    once, five = (noisy.run(Resample(k=k), budget=200 * k) for k in (1, 5))
    np.testing.assert_array_equal(five.x, once.x)
    assert (five.nit, five.nfev) == (once.nit, 5 * once.nfev)


def test_every_candidate_is_evaluated_k_times() -> None:
    opt = nw.Optimizer([1.0] * 4, sigma0=1.0, budget=160, method=Resample(k=4), rng=0, confirm=0)
    while not opt.done:
        trials = opt.ask()
        points, counts = np.unique([t.x for t in trials], axis=0, return_counts=True)
        assert (counts == 4).all()
        assert [t.kind for t in trials].count("candidate") == len(points)
        opt.tell([t.id for t in trials], [float(t.x @ t.x) for t in trials])
    assert opt.result().n_reevaluations == 120


@pytest.mark.parametrize("budget", [101, 118, 137])
def test_a_budget_that_ends_within_a_round_still_covers_everyone(budget: int) -> None:
    opt = nw.Optimizer([1.0] * 4, sigma0=1.0, budget=budget, method=Resample(k=5), rng=0)
    while not opt.done:
        trials = opt.ask()
        if trials[0].kind != "confirmation":
            _, counts = np.unique([t.x for t in trials], axis=0, return_counts=True)
            assert counts.max() - counts.min() <= 1
        opt.tell([t.id for t in trials], [float(t.x @ t.x) for t in trials])
    assert opt.spent == budget


def test_more_evaluations_per_candidate_come_closer_per_generation() -> None:
    def reached(k: int) -> float:
        return noisy.mean_log_regret(Resample(k=k), noisy.gaussian(10.0), budget=600 * k)

    assert reached(16) < reached(4) - 0.2 < reached(1) - 0.5


def test_the_median_withstands_noise_without_a_mean() -> None:
    def reached(aggregate: str) -> float:
        return noisy.mean_log_regret(Resample(k=7, aggregate=aggregate), noisy.cauchy, budget=3000)

    assert max(reached("median"), reached("trimmed")) < reached("mean") - 0.4


def test_misranking_is_reported() -> None:
    loud, quiet = (noisy.run(Resample(k=2), noisy.gaussian(s)).misranking for s in (100.0, 0.0))
    assert loud == pytest.approx(1.0 / 3.0, abs=0.07)
    assert quiet == 0.0


@pytest.mark.parametrize("wrong", [{"k": 0}, {"k": 2.5}, {"aggregate": "mode"}])
def test_options_say_what_is_wrong(wrong: dict[str, object]) -> None:
    [name] = wrong
    with pytest.raises(ValueError, match=f"^{name} must be"):
        Resample(**wrong)  # type: ignore[arg-type]
