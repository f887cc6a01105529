"""Wins, tests, intervals and ranks, against scipy and against hand-made cases."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from noisewise_bench.names import BenchError
from noisewise_bench.problem import FLOOR
from noisewise_bench.profiles import convergence, has_curves, profiles
from noisewise_bench.score import compare, holm, interval, ranks, sign_p, wilcoxon_p
from noisewise_bench.sheets import function_of, sheets
from noisewise_bench.task import Row


def row(
    method: str,
    regret: float,
    seed: int = 1,
    problem: str = "s/f1/i1/d2",
    **changes: object,
) -> Row:
    made = Row(
        problem,
        method,
        "10d",
        seed,
        suite=problem.split("/")[0],
        dimension=2,
        evaluations=20,
        spent=20,
        recommended_regret=regret,
        best_evaluated_regret=regret / 2,
        noisy_best_regret=regret * 2,
        seconds_method=0.2 if method == "a" else 0.1,
    )
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def paired(a: list[float], b: list[float]) -> list[Row]:
    rows = []
    for seed, (x, y) in enumerate(zip(a, b, strict=True)):
        rows += [row("a", x, seed), row("b", y, seed)]
    return rows


def test_wins_losses_and_ties_with_a_floor() -> None:
    rows = paired([1.0, 5.0, 1e-9, 3.0, 1e-12], [2.0, 4.0, 1e-15, 3.0, 1.0])
    (found,) = compare(sheets(rows), "b")
    assert (found.n, found.wins, found.losses, found.ties) == (5, 2, 1, 2)
    assert found.median_diff == 0.0
    expected = np.log10([1 / 2, 5 / 4, 1.0, 1.0, FLOOR]).mean()
    assert found.mean_diff == pytest.approx(expected)
    assert found.overhead == pytest.approx(2.0)
    assert found.median_log10 == pytest.approx(0.0)


def test_the_metric_decides_what_is_compared() -> None:
    rows = [row("a", 1.0, best_evaluated_regret=9.0), row("b", 2.0, best_evaluated_regret=3.0)]
    by_metric = {m: compare(sheets(rows, m), "b")[0] for m in ("recommended", "best-evaluated")}
    assert by_metric["recommended"].wins == 1
    assert by_metric["best-evaluated"].losses == 1
    assert {c.metric for c in by_metric.values()} == set(by_metric)
    (lucky,) = compare(sheets(rows, "noisy-best"), "b")
    assert lucky.wins == 1


def test_a_failed_run_is_lost_and_two_failed_runs_tie() -> None:
    rows = paired([1.0] * 8, [2.0] * 8)
    rows[0] = row("a", np.nan, 0, error="x")
    rows[2], rows[3] = row("a", np.nan, 1, error="x"), row("b", np.nan, 1, error="x")
    (found,) = compare(sheets(rows), "b")
    assert (found.n, found.wins, found.losses, found.ties, found.failed) == (8, 6, 1, 1, 2)
    assert found.mean_diff == pytest.approx(np.log10(0.5))  # of the pairs that ran
    delta = np.array([9.0, *[-0.3] * 6])  # the failure outranks every difference
    assert found.p_wilcoxon == pytest.approx(stats.wilcoxon(delta).pvalue)


def test_what_was_not_measured_is_not_compared() -> None:
    rows = paired([1.0, 1.0], [2.0, 2.0])
    rows[0] = row("a", 1.0, 0, best_evaluated_regret=np.nan)
    (found,) = compare(sheets(rows, "best-evaluated"), "b")
    assert (found.n, found.wins) == (1, 1)
    assert np.isnan(found.median_low)  # one pair has no interval


def test_runs_without_a_partner_are_left_out() -> None:
    rows = [*paired([1.0], [2.0]), row("a", 1.0, seed=7), row("c", 3.0, seed=8)]
    a, c = compare(sheets(rows), "b")
    assert (a.n, c.n) == (1, 0)
    assert np.isnan(c.median_diff)
    assert (c.p_wilcoxon, c.p_sign) == (1.0, 1.0)
    assert compare(sheets(rows), "nobody") == []


def test_negative_values_are_compared_without_logarithms() -> None:
    (found,) = compare(sheets(paired([-5.0, -1.0, 2.0], [-3.0, 1.0, 1.0])), "b")
    assert (found.wins, found.losses) == (2, 1)
    assert found.median_diff == pytest.approx(np.log10(2.0))


positive = st.lists(st.floats(1e-10, 1e6), min_size=2, max_size=25)


@settings(max_examples=15, deadline=None)
@given(positive, st.integers(0, 2**16))
def test_exchanging_method_and_reference_exchanges_the_result(a: list[float], seed: int) -> None:
    b = list(np.random.default_rng(seed).permutation(a))
    rows = paired(a, b)
    (forth,), (back,) = compare(sheets(rows), "b"), compare(sheets(rows), "a")
    assert (forth.wins, forth.losses, forth.ties) == (back.losses, back.wins, back.ties)
    assert forth.median_diff == pytest.approx(-back.median_diff)
    assert forth.p_wilcoxon == pytest.approx(back.p_wilcoxon)
    assert forth.median_low <= forth.median_diff <= forth.median_high


def test_tests_are_scipys() -> None:
    delta = np.array([0.5, -0.2, 0.0, 0.7, 1.1, -0.1, 0.3, 0.0, 0.9])
    assert wilcoxon_p(delta) == stats.wilcoxon(delta, zero_method="pratt").pvalue
    assert wilcoxon_p(np.zeros(5)) == wilcoxon_p(np.empty(0)) == 1.0
    assert sign_p(9, 1) == stats.binomtest(9, 10).pvalue
    assert sign_p(0, 0) == 1.0


def test_holm_on_a_worked_case() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_never_makes_a_p_value_smaller_nor_reorders(p: list[float]) -> None:
    corrected = np.array(holm(p))
    assert np.all(corrected >= np.array(p))
    assert np.all(np.diff(corrected[np.argsort(p)]) >= 0)


def test_the_interval_covers_the_median_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(100):
        _, low, high = interval(rng.normal(size=40), np.median)
        hits += low <= 0.0 <= high
    assert 88 <= hits <= 100


def test_intervals_need_values() -> None:
    assert np.isnan(interval(np.empty(0), np.median)).all()
    centre, low, high = interval(np.array([2.0]), np.median)
    assert (centre, np.isnan(low), np.isnan(high)) == (2.0, True, True)
    assert interval(np.arange(9.0), np.mean) == interval(np.arange(9.0), np.mean)


def test_holm_runs_over_the_whole_table() -> None:
    rows = [row("a", 1.0, seed, problem=f"s/f{f}/i1/d2") for f in (1, 2) for seed in range(8)]
    rows += [row("b", 2.0, seed, problem=f"s/f{f}/i1/d2") for f in (1, 2) for seed in range(8)]
    found = compare(sheets(rows, by=("function",)), "b")
    assert [c.group for c in found] == [(("function", "f1"),), (("function", "f2"),)]
    for c in found:
        assert c.p_sign_holm == pytest.approx(2 * c.p_sign)


def test_groups_are_in_natural_order() -> None:
    rows = [row("a", 1.0, problem=f"s/f{f}/i1/d2") for f in (10, 9, 1)]
    assert [dict(sheet.group)["function"] for sheet in sheets(rows, by=("function",))] == [
        *("f1", "f9", "f10"),
    ]
    assert [sheet.title for sheet in sheets(rows, by=())] == ["all"]


def test_names_of_functions() -> None:
    assert function_of("bbob-noisy/f110/i3/d40") == "f110"
    assert function_of("additive/f1/i1/d10/gaussian/0.01") == "f1/gaussian/0.01"
    assert function_of("task/lqr/s1") == "lqr"
    assert function_of("mine:Problem") == "mine:Problem"


def test_a_problem_can_count_once_whatever_its_seeds() -> None:
    rows = paired([1.0, 1.0, 9.0], [2.0, 2.0, 2.0])
    (by_run,) = compare(sheets(rows, unit="run"), "b")
    (by_problem,) = compare(sheets(rows, unit="problem"), "b")
    assert (by_run.n, by_run.wins, by_run.losses) == (3, 2, 1)
    assert (by_problem.n, by_problem.wins, by_problem.losses) == (1, 1, 0)


@pytest.mark.parametrize("wrong", [{"metric": "x"}, {"by": ("x",)}, {"unit": "x"}])
def test_wrong_choices_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(BenchError, match="'x', it takes one of"):
        sheets([], **wrong)  # type: ignore[arg-type]


def test_ranks_share_places_and_use_complete_blocks_only() -> None:
    rows = [
        *(row("a", 1.0), row("b", 1.0), row("c", 5.0)),
        *(row("a", 3.0, 2), row("b", 2.0, 2), row("c", 1.0, 2)),
        *(row("a", 0.1, 3), row("b", 0.2, 3)),
    ]
    found = {rank.method: rank for rank in ranks(sheets(rows)[0])}
    assert {m: (r.mean, r.median, r.first) for m, r in found.items()} == {
        "a": (2.25, 2.25, 1),
        "b": (1.75, 1.75, 1),
        "c": (2.0, 2.0, 1),
    }
    assert found["a"].n == 2
    assert list(found) == ["b", "c", "a"]
    assert ranks(sheets([row("a", 1.0), row("b", 1.0, 2)])[0]) == []


def curve(*points: tuple[int, float | None, float | None]) -> str:
    return json.dumps(points)


def test_a_profile_counts_targets_when_they_are_first_met() -> None:
    rows = [
        row("a", 1.0, curve=curve((4, 100.0, 100.0), (10, 10.0, 10.0), (20, 1.0, 1.0))),
        row("b", 100.0, curve=curve((4, 100.0, None), (10, 90.0, None), (20, 80.0, 100.0))),
        row("c", np.nan, error="x"),
    ]
    a, b, c = profiles(rows, "recommended")
    assert a.evaluations_per_dimension.tolist() == [5.0, 10.0]
    assert a.share.tolist() == pytest.approx([0.5, 1.0])
    assert b.share.tolist() == c.share.tolist() == [0.0]
    best = {p.method: p for p in profiles(rows, "best-evaluated")}
    assert best["b"].share[-1] > 0.0
    assert profiles([row("a", 1.0)], "recommended") == []
    with pytest.raises(BenchError, match="curves know the metrics"):
        profiles(rows, "noisy-best")


def test_convergence_takes_medians_at_the_checkpoints_most_runs_reached() -> None:
    rows = [
        row("a", 1.0, 1, curve=curve((4, 10.0, None), (20, 1e-20, 1.0))),
        row("a", 1.0, 2, curve=curve((4, 1000.0, None), (20, 1e-20, 1.0))),
        row("a", 1.0, 3, curve=curve((4, 10.0, None), (7, 5.0, 5.0))),
    ]
    (found,) = convergence(rows, "best-evaluated")
    assert found.evaluations.tolist() == [4.0, 20.0]
    assert found.median.tolist() == [1.0, -8.0]
    assert has_curves(rows, "best-evaluated")
    assert not has_curves(rows, "recommended")
