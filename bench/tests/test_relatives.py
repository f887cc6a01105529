"""A Gaussian process behind expected weights, and sequential halving, as arms of a study."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisewise as nw
import support
from noisewise.cma.weights import Log
from noisewise.methods import PEM
from noisewise_bench.experiments import qlognei, relatives
from noisewise_bench.experiments.study import Scope
from noisewise_bench.halving import Halving, rounds, standing
from noisewise_bench.posterior import Posterior
from noisewise_bench.task import Row, Task, run_task


def test_the_control_is_as_flat_and_keeps_the_order_of_the_values() -> None:
    values, X = (
        np.random.default_rng(1).normal(size=12),
        np.random.default_rng(2).normal(size=(12, 2)),
    )
    found = []
    for by_rank in (False, True):
        method = Posterior(by_rank=by_rank)
        memory = method.start(support.setup())
        population = support.population(values, X)
        weights, memory = method.weigh(memory, population, np.random.default_rng(3))
        assert memory.archive.size == 12
        found.append(weights.covariance)
    np.testing.assert_array_equal(np.sort(found[0]), np.sort(found[1]))
    assert (np.diff(found[1][values.argsort()]) <= 0.0).all()
    assert found[0].sum() == pytest.approx(1.0)


def test_failed_candidates_weigh_nothing() -> None:
    method = Posterior()
    memory = method.start(support.setup())
    values = np.array([1.0, np.inf, 0.5, 3.0, np.inf, 2.0])
    X = np.random.default_rng(0).normal(size=(6, 2))
    weights, memory = method.weigh(memory, support.population(values, X), np.random.default_rng(1))
    assert weights.covariance[[1, 4]].tolist() == [0.0, 0.0]
    assert weights.covariance.sum() == pytest.approx(1.0)
    assert memory.archive.size == 4


@given(k=st.integers(2, 200))
def test_rounds_halve(k: int) -> None:
    sizes = rounds(k)
    assert sizes[0] == k
    assert all(b == a // 2 for a, b in itertools.pairwise(sizes))
    assert sizes[-1] < 4
    assert k <= sum(sizes) <= 2 * k


def test_halving_evaluates_the_better_half_again_and_again() -> None:
    opt = nw.Optimizer(
        np.zeros(3), budget=200, sigma0=1.0, method=Halving(population=8), rng=0, confirm=0
    )
    sizes, values = [], {}
    while opt.generation < 1:
        trials = opt.ask()
        if sizes:
            worst = sorted(values, key=values.__getitem__)[len(trials) :]
            assert not {t.x.tobytes() for t in trials} & set(worst)
        sizes.append(len(trials))
        for trial in trials:
            values.setdefault(trial.x.tobytes(), float(trial.x @ trial.x))
            opt.tell(trial.id, float(trial.x @ trial.x))
    assert sizes == [8, 4, 2]


def test_halving_ranks_survivors_first() -> None:
    nan = np.nan
    table = [[1.0, nan, nan], [0.0, 9.0, nan], [2.0, 2.0, 2.0], [1.5, 1.5, 1.5], [0.5, 3.0, nan]]
    assert standing(support.population(table)).tolist() == [3, 2, 4, 1, 0]


def test_every_arm_runs_on_what_it_was_given() -> None:
    for method, control in relatives.pairs(5).values():
        for name in (method, control):
            row = run_task(Task("bbob-noisy/f110/i1/d5", name, "20d", 1))
            assert (row.error, row.spent) == (None, 100), name
            assert (row.uncharged > 0) == (name == "pem")


def test_ordered_weights_are_as_sharp_as_hard_ranks() -> None:
    """The profile's own weights, in the order that the model believes in."""
    rng = np.random.default_rng(1)
    values, X = rng.normal(size=12), rng.normal(size=(12, 2))
    memory = Posterior().start(support.setup())
    soft, _ = Posterior().weigh(memory, support.population(values, X), np.random.default_rng(3))
    memory = Posterior().start(support.setup())
    sharp, _ = Posterior(ordered=True).weigh(
        memory, support.population(values, X), np.random.default_rng(3)
    )
    np.testing.assert_array_equal(np.sort(sharp.covariance)[::-1], Log().weights(12))
    assert (np.diff(soft.covariance[sharp.covariance.argsort()]) >= 0.0)[6:].all()


def test_qlognei_is_compared_task_by_task() -> None:
    """Budgets are told apart, and a lower cost wins."""
    rows = []
    for grid in qlognei.grids(Scope((1, 2), (5,), (1,))):
        for task in grid.tasks():
            cost = 1.0 if task.method == qlognei.MODEL and task.budget == "50" else 2.0
            cost += 2.0 * (task.method == "rb-pem")
            found = dataclasses.replace(Row(*task.key, suite="task"), recommended_regret=cost)
            rows.append(dataclasses.replace(found, dimension=5, evaluations=50))
    [table] = qlognei.tables(rows)
    rates = {(row[0], row[3], i < 10): row[5] for i, row in enumerate(table.rows)}
    assert len(table.rows) == len(rates) == (2 + 5) * len(qlognei.RIVALS)
    assert rates["hpo-digits", "sep-cma-es", True] == 1.0
    assert rates["hpo-digits", "sep-cma-es", False] == 0.5
    assert rates["pendulum", "rb-pem", False] == 1.0


def test_dimensions_are_pooled_although_names_differ() -> None:
    """Four times the population is another number in another dimension."""
    rows = []
    for d in (5, 40):
        for i, name in enumerate(
            dict.fromkeys(n for pair in relatives.pairs(d).values() for n in pair)
        ):
            row = Row(f"bbob-noisy/f110/i1/d{d}", name, "100d", 1, suite="bbob-noisy")
            rows.append(dataclasses.replace(row, dimension=d, recommended_regret=1.0 + i))
    pooled, single = relatives.tables(rows)
    assert [row[1:3] for row in pooled.rows] == [("all", 2)] * len(relatives.pairs(5))
    assert [row[1:3] for row in single.rows] == [("5", 1), ("40", 1)] * len(relatives.pairs(5))
    assert [row[3] for row in pooled.rows] == [row[3] for row in single.rows[::2]]


def test_the_librarys_model_is_the_arm_of_the_study() -> None:
    """PEM(draws="model") has the weights that were compared, generation by generation."""
    ours, arm = PEM(draws="model", n_draws=64), Posterior()
    memories = [method.start(support.setup(3)) for method in (ours, arm)]
    random = [np.random.default_rng(5) for _ in memories]
    rng = np.random.default_rng(2)
    for generation in range(12):
        X, y = rng.normal(size=(9, 3)), rng.normal(size=9)
        found = []
        for i, method in enumerate((ours, arm)):
            memories[i].generation = generation
            population = support.population(y, X)
            weights, memories[i] = method.weigh(memories[i], population, random[i])
            found.append(weights.covariance)
        np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
