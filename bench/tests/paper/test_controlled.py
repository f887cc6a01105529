"""One factor at a time: the arms, their effects, and the maps of how to spend a budget."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from noisewise_bench import methods
from noisewise_bench.experiments.paper import _factors, controlled, spending
from noisewise_bench.experiments.paper._artifact import Scale
from noisewise_bench.experiments.paper._factors import ESTIMATED, EXACT, HARD, Arm
from noisewise_bench.task import Row, Task, run_task, suite_of

ARMS = (*_factors.factorial(), *_factors.FURTHER)


def row(problem: str, method: str, log: float, budget: str = "100d") -> Row:
    d = int(problem.split("/d")[1].split("/")[0])
    regrets = {"recommended_regret": 10.0**log, "best_evaluated_regret": 10.0 ** (log - 1.0)}
    return Row(problem, method, budget, 1, suite_of(problem), dimension=d, **regrets)


def test_every_arm_has_a_name_of_its_own_that_the_bench_knows() -> None:
    for d in (10, 40):
        names = [arm.method(d) for arm in ARMS]
        assert len(set(names)) == len(names) == 38
        for name in names:
            methods.get(name)
    assert Arm(larger=4).method(40) == "sep-cma-es(population=60)"


def test_a_contrast_changes_one_factor_only() -> None:
    for change, pairs in (_factors.contrasts() | _factors.crossed()).items():
        assert pairs, change
        for with_it, without in pairs:
            assert {with_it, without} <= set(ARMS)
            a, b = dataclasses.asdict(with_it), dataclasses.asdict(without)
            differing = {key for key in a if a[key] != b[key]}
            # The ridge centre is an estimator, so it differs from hard ranks in two fields.
            two = "ridge" in change or "both" in change
            assert len(differing) == (2 if two else 1), change
    sizes = {change: len(pairs) for change, pairs in _factors.contrasts().items()}
    assert sizes["power-lift, not log weights"] == sizes["Weiszfeld, not arithmetic mean"] == 12
    assert sizes["expected weights, noise known"] == 4
    assert sizes["expected weights, estimated"] == 8


def test_expected_weights_are_crossed_with_population_and_learning_rate() -> None:
    crossed = _factors.crossed()
    assert len(crossed) == 6
    for words, [(smooth, hard)] in crossed.items():
        assert smooth.selection == (EXACT if "known" in words else ESTIMATED)
        assert hard.selection == HARD
        assert (smooth.larger, smooth.c_mean, smooth.looks) == (
            hard.larger,
            hard.c_mean,
            hard.looks,
        )
        assert (smooth.larger > 1) == ("x 4" in words)
        assert (smooth.c_mean < 1.0) == ("1/4" in words)


def test_the_arm_that_was_left_out_is_a_copy_of_hard_ranks() -> None:
    """Without re-evaluations RB-PEM has no pool, and its weights are those of hard ranks."""
    regrets = {
        run_task(Task("bbob-noisy/f110/i1/d5", name, "30d", 1)).recommended_regret
        for name in ("sep-cma-es", "rb-pem(k_max=0)", "rb-pem(k_max=0,expected=False)")
    }
    assert len(regrets) == 1
    assert np.isfinite(regrets.pop())


def test_hard_ranks_get_as_many_second_looks_as_the_estimate() -> None:
    problem = "bbob-noisy/f110/i1/d10"
    arms = [Arm(selection, 3) for selection in (HARD, ESTIMATED)]
    rows = [run_task(Task(problem, arm.method(10), "30d", 1)) for arm in arms]
    assert rows[0].reevaluations == rows[1].reevaluations
    assert rows[0].generations == rows[1].generations
    assert rows[0].reevaluations is not None
    assert rows[0].reevaluations > 30


def test_effects_are_found_where_they_were_put() -> None:
    def log(arm: Arm, instance: int) -> float:
        gain = {HARD: 0.0, ESTIMATED: 0.1, EXACT: -0.5}[arm.selection]
        gain += -0.2 * (arm.mean == "weiszfeld") + 0.05 * arm.looks - 0.3 * (arm.larger == 4)
        return 1.0 + 0.01 * instance + gain

    rows = [
        row(f"bbob-noisy/f110/i{i}/d10", arm.method(10), log(arm, i))
        for arm in ARMS
        for i in range(1, 5)
    ]
    rows += [
        row("bbob-noisy/f110/i1/d10", name, 1.0) for name in ("as-run/rb-pem", "as-run/cma-es")
    ]
    found = {(change, metric): rest for change, d, metric, *rest in controlled.effects(rows)}
    expected = {
        "expected weights, noise known": -0.5,
        "expected weights, estimated": 0.1,
        "Weiszfeld, not arithmetic mean": -0.2,
        "power-lift, not log weights": 0.0,
        "3 re-evaluations": 0.15,
        "population x 4": -0.3,
        "mean learning rate 1/4": 0.0,
    }
    for change, effect in expected.items():
        mean, better, n = found[change, "recommended"]
        assert mean == pytest.approx((effect,) * 3, abs=1e-9), change
        assert n == 4
        assert better == (1.0 if effect < -1e-9 else 0.0 if effect > 1e-9 else better)
    assert found["as run: RB-PEM, not CMA-ES", "best-evaluated"][1:] == [0.5, 1]
    made = controlled.make(rows, Scale("short"))
    assert made.tables[1].rows[0][5:] == pytest.approx((1.025, np.nan, np.nan), nan_ok=True)


def test_problems_that_lack_a_run_are_left_out() -> None:
    rows = [row("bbob-noisy/f110/i1/d10", "a", 1.0), row("bbob-noisy/f110/i1/d10", "b", 3.0)]
    rows.append(row("bbob-noisy/f110/i2/d10", "a", 7.0))
    logs = _factors.Logs.read(rows, "recommended")
    assert logs.differences([("a", "b")]) == pytest.approx([-2.0])
    assert len(logs.differences([("a", "c")])) == 0


def test_maps_hold_what_the_budget_pays_for() -> None:
    for d, budget in ((10, "50d"), (40, "200d")):
        for cell in spending.cells(d, budget):
            spent = cell.population(d) * cell.repeats * spending.LEAST_GENERATIONS
            assert spent <= spending.evaluations(budget, d)
            methods.get(cell.method(d))
    assert spending.Cell(16) not in spending.cells(10, "50d")
    assert len(spending.cells(40, "200d")) == 38


def test_the_best_cell_and_the_trade_are_found_where_they_were_put() -> None:
    def log(cell: spending.Cell) -> float:
        return 0.1 * np.log2(cell.repeats) + 0.2 * abs(np.log2(cell.larger) - 2.0) + cell.rate

    d, budget = 10, "200d"
    rows = []
    for forms in spending.REGIMES.values():
        for form in forms:
            problem = form.format(i=1, d=d)
            rows += [row(problem, c.method(d), log(c), budget) for c in spending.cells(d, budget)]
            rows.append(row(problem, "auto", 0.0, budget))
    made = spending.make(rows, Scale("short"))
    best, trade, cells = made.tables
    lines = {(line[2], line[3]): line[4:] for line in best.rows}
    assert lines["high noise", "best cell"][:3] == (4, 1, 0.3)
    assert lines["high noise", "best cell"][3] == pytest.approx(-0.7 - 0.4)
    assert lines["late noise", "auto"][3] == pytest.approx(-1.4)
    by_factor = {line[3]: line for line in trade.rows if line[2] == "low noise"}
    assert by_factor[4][4:7] == pytest.approx((-0.4, 0.2, -0.6))
    assert by_factor[4][9] == 1.0
    assert len(cells.rows) == 3 * len(spending.cells(d, budget))
    assert len(made.plots) == 1
    assert len(made.plots[0].panels) == 6
