"""Racing: re-evaluations at the elite boundary, up to a cap."""

from __future__ import annotations

from dataclasses import replace

import noisy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisewise as nw
import support
from noisewise.measured.samples import Samples
from noisewise.methods import CMAES, Racing
from noisewise.methods.racing import scores, within


def test_scores_are_symmetric_shared_by_ties_and_blind_to_distances() -> None:
    v = scores(Samples(np.array([[1.0, np.nan], [2.0, 2.0], [1e9, np.nan]])))
    assert np.isnan(v[0, 1])
    assert v[1, 0] == v[1, 1] == 0.0
    assert v[0, 0] == -v[2, 0] < 0.0
    failed = scores(Samples(np.array([[1.0], [np.inf], [np.inf]])))
    assert failed[1, 0] == failed[2, 0] > failed[0, 0]


@given(seed=st.integers(0, 10**6))
def test_pooled_variance_is_that_of_the_repeats(seed: int) -> None:
    rng = np.random.default_rng(seed)
    v = rng.standard_normal((6, 4))
    v[rng.random((6, 4)) < 0.3] = np.nan
    v[:, 0] = rng.standard_normal(6)
    rows = [row[~np.isnan(row)] for row in v]
    squares, freedom = within(v)
    assert squares == pytest.approx(sum(len(r) * r.var() for r in rows))
    assert freedom == sum(len(r) - 1 for r in rows)


def test_scatter_starts_as_pure_noise_and_follows_the_data() -> None:
    memory = Racing().start(support.setup())
    assert memory.variance() == 1.0
    assert memory.variance(0.0, 9) == pytest.approx(0.1)
    assert replace(memory, squares=0.0, freedom=5.0).variance() > 0.0


def test_without_noise_it_is_cma_es_apart_from_one_reevaluation() -> None:
    plain, ours = noisy.run(CMAES(), budget=800), noisy.run(Racing(), budget=800)
    n = min(plain.nit, ours.nit) - 3
    assert n > 50
    np.testing.assert_array_equal(ours.history["sigma"][:n], plain.history["sigma"][:n])
    looks = np.diff(ours.history["reevaluations"])[20:n]
    assert set(looks) == {1.0}


@pytest.mark.parametrize("cap", [1, 3, 10])
def test_pure_noise_takes_the_cap_and_never_more(cap: int) -> None:
    result = noisy.run(Racing(cap=cap), noisy.only, budget=1000)
    looks = np.diff(result.history["reevaluations"], prepend=0.0)
    assert looks.max() == cap
    assert looks[:-3].mean() > 0.8 * cap


def test_reevaluations_go_to_the_boundary() -> None:
    """Noise flips neighbours only: the extremes are never looked at again."""
    opt = nw.Optimizer([0.0], sigma0=1.0, budget=600, rng=0, method=Racing(population=20, cap=8))
    rng, places = np.random.default_rng(0), []
    while not opt.done:
        trials = opt.ask()
        if trials[0].kind == "candidate":
            order = sorted(t.x[0] for t in trials)
        elif trials[0].kind == "reevaluation" and opt.generation > 5:
            places += [order.index(t.x[0]) for t in trials if len(order) == 20]
        opt.tell([t.id for t in trials], [t.x[0] + 0.05 * rng.standard_normal() for t in trials])
    assert len(places) > 20
    assert np.mean([7 <= place <= 12 for place in places]) > 0.9


def test_it_comes_closer_than_cma_es_under_noise_with_outliers() -> None:
    given = {"noise": noisy.cauchy, "budget": 1500, "seeds": 10}
    assert noisy.mean_log_regret(Racing(), **given) < noisy.mean_log_regret(CMAES(), **given) - 0.1


@pytest.mark.parametrize("wrong", [{"cap": 0}, {"confidence": 0.0}])
def test_options_say_what_is_wrong(wrong: dict[str, float]) -> None:
    [name] = wrong
    with pytest.raises(ValueError, match=f"^{name} must be"):
        Racing(**wrong)  # type: ignore[arg-type]
