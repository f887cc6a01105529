"""Hard ranks as flat as expected weights, the control of claims about the estimator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import support
from noisewise.cma.weights import Log
from noisewise.methods import RBPEM
from noisewise_bench import flattened
from noisewise_bench.experiments import deviations, flatness
from noisewise_bench.experiments.study import Scope
from noisewise_bench.flattened import ByRank, Flat
from noisewise_bench.task import Task, run_task


@given(n=st.integers(4, 60), part=st.floats(0.01, 0.99))
def test_flat_weights_have_the_mu_eff_asked_for(n: int, part: float) -> None:
    log = Log().weights(n)
    least = 1.0 / float(log @ log)
    wanted = least + part * (n - least)
    w = Flat(wanted).weights(n)
    assert 1.0 / float(w @ w) == pytest.approx(wanted)
    assert w.sum() == pytest.approx(1.0)
    assert (np.diff(w) <= 1e-15).all()
    assert w.min() > 0.0


def test_flat_weights_at_the_ends() -> None:
    """No flatter than equal, no sharper than logarithmic."""
    np.testing.assert_allclose(Flat(1.0).weights(10), Log().weights(10))
    np.testing.assert_allclose(Flat(99.0).weights(10), np.full(10, 0.1))
    np.testing.assert_allclose(Flat(2.0).weights(1), [1.0])


def test_by_rank_has_the_weights_of_rb_pem_in_the_order_of_the_values() -> None:
    values = np.random.default_rng(0).normal(size=(12, 2))
    found = []
    for method in (RBPEM(), ByRank()):
        memory = method.start(support.setup())
        rng = np.random.default_rng(1)
        population = support.population(values)
        found.append(method.weigh(memory, population, rng)[0].covariance)
    weights, by_rank = found
    assert not np.array_equal(weights, by_rank)
    np.testing.assert_array_equal(np.sort(weights), np.sort(by_rank))
    order = values.mean(axis=1).argsort()
    assert (np.diff(by_rank[order]) <= 0.0).all()


def test_arms_run_with_their_flatness() -> None:
    problem = "bbob-noisy/f110/i1/d10"
    for name in (flatness.flat(6.5), flatness.BY_RANK):
        row = run_task(Task(problem, name, "20d", 1))
        assert (row.error, row.spent) == (None, 200)
    assert row.reevaluations is not None
    assert row.reevaluations > 10
    assert flattened.mu_eff(problem, "sep-cma-es", "20d") == pytest.approx(3.17, abs=0.01)
    assert 5.0 < flattened.mu_eff(problem, "rb-pem", "20d") < 10.0


def test_the_study_matches_each_group() -> None:
    scope = Scope((1,), (10,), (1,))
    some = tuple(flatness.functions(scope, 10))
    assert len(some) == 15
    assert 5.0 < flatness.matched(some, "20d") < 10.0
    assert [len(problems) for problems, _ in flatness.groups(scope).values()] == [15, 1, 1]


def test_deviations_change_one_choice_each() -> None:
    """Every option in which the presets differ is switched, and back."""
    changed = {choice.option for choice in deviations.CHOICES}
    ours, printed = RBPEM(), RBPEM.printed()
    for choice in deviations.CHOICES:
        for method, expected in ((ours, choice.ours), (printed, choice.printed)):
            owner = method.noise if hasattr(method.noise, choice.option) else method
            seen = getattr(owner, choice.option)
            assert seen == expected or type(seen).__name__.lower() in expected.replace("-", "")
    differ = {
        name
        for owner, other in ((ours, printed), (ours.noise, printed.noise))
        for name in vars(owner)
        if getattr(owner, name) != getattr(other, name)
    }
    # A strict cap differs under common seeds only, which the bench does not hand out.
    assert differ - {"noise", "strict"} == changed
    assert len(set(deviations.methods())) == len(deviations.methods())
