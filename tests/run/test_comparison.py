"""Today's setting and its challenger: the rule, what is kept for it, words and wrong arguments."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.measured.differences import compare
from noisewise.measured.evidence import Evidence
from noisewise.run import comparison
from noisewise.run.comparison import Comparison
from noisewise.run.reserve import Reserve

NAN, INF = math.nan, math.inf
TODAY, OTHER = np.array([1.0, 0.0]), np.array([0.0, 0.0])
NOISY = Evidence().saw(np.random.default_rng(0).normal(size=50))


def told(today: list[float], other: list[float]) -> Comparison:
    n = max(len(today), len(other))
    rows = [row + [NAN] * (n - len(row)) for row in (today, other)]
    return Comparison(TODAY).against(OTHER).told(np.array(rows), None)


# Values of today and of the challenger, to be minimised; whether the challenger is returned.
# By hand: half of Welch's interval is 1.41, 2.53 and 2.53 (standard errors .577 and .913 with six
# and four degrees of freedom) for differences of 2, 2 and 3, then 3.04 and .30 for one of 2.
TABLE = [
    ([2.0, 3.0, 4.0, 3.0], [0.0, 1.0, 2.0, 1.0], True),
    ([1.0, 3.0, 5.0, 3.0], [0.0, 1.0, 2.0, 1.0], False),
    ([2.0, 4.0, 6.0, 4.0], [0.0, 1.0, 2.0, 1.0], True),
    ([0.0, 3.0, 6.0, 3.0], [-1.0, 1.0, 3.0, 1.0], False),
    ([2.0, 3.0], [0.0, 1.0], False),
    ([2.0, 2.1], [0.0, 0.1], True),
    ([0.0, 1.0, 2.0, 1.0], [2.0, 3.0, 4.0, 3.0], False),
    ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], False),
    ([5.0], [1.0], False),
    ([INF, INF, INF], [1.0, 2.0], True),
    ([1.0, 2.0], [INF, INF], False),
    ([INF, INF], [INF, INF], False),
    ([], [1.0, 2.0], False),
]


@pytest.mark.parametrize(("today", "other", "returned"), TABLE)
def test_decisions(today: list[float], other: list[float], returned: bool) -> None:
    both = told(today, other)
    assert both.verdict(both.compared(NOISY, "mean")).challenger is returned


def test_a_challenger_that_fails_clearly_more_often_does_not_win() -> None:
    today = [10.0 + 0.1 * i for i in range(20)]
    some = [1.0 + 0.1 * i for i in range(17)]
    few, many = told(today, [*some, INF]), told(today, [*some[:10], *[INF] * 10])
    assert few.verdict(few.compared(NOISY, "mean")).challenger
    verdict = many.verdict(many.compared(NOISY, "mean"))
    assert not verdict.challenger
    assert "fails more often" in verdict.why


@pytest.mark.parametrize(
    ("feasible", "returned", "why"),
    [
        ((True, False), False, "the challenger probably violates"),
        ((False, False), False, "the challenger probably violates"),
        ((False, True), True, "today's setting probably violates"),
        ((True, True), True, ""),
    ],
)
def test_limits_come_before_values(feasible: Any, returned: bool, why: str) -> None:
    both = told([2.0, 3.0, 4.0, 3.0], [0.0, 1.0, 2.0, 1.0])
    verdict = both.verdict(both.compared(NOISY, "mean"), feasible)
    assert verdict.challenger is returned
    assert verdict.why.startswith(why)
    assert bool(verdict.why) is bool(why)


def test_another_challenger_begins_anew_and_the_incumbent_counts_on() -> None:
    both = told([1.0, 2.0], [3.0, 4.0])
    assert both.against(OTHER.copy()) is both
    other = both.against(np.array([5.0, 5.0])).told(np.array([[7.0], [8.0]]), None)
    np.testing.assert_array_equal(other.values, [[1.0, 2.0, 7.0], [NAN, NAN, 8.0]])
    assert other.at(comparison.CHALLENGER).tolist() == [8.0]


def test_errors_are_nan_where_none_were_told() -> None:
    both = told([1.0], [2.0]).told(np.array([[3.0], [4.0]]), np.array([[0.1], [0.2]]))
    np.testing.assert_array_equal(both.errors, [[NAN, 0.1], [NAN, 0.2]])
    later = both.told(np.array([[3.0], [4.0]]), None)
    np.testing.assert_array_equal(later.errors, [[NAN, 0.1, NAN], [NAN, 0.2, NAN]])


def test_where_both_are_the_same_point_all_values_are_todays() -> None:
    same = Comparison(TODAY).against(TODAY.copy())
    assert same.same
    assert len(same.points) == 1
    assert same.request(3).tolist() == [0, 0, 0]
    same = same.told(np.array([[1.0, 2.0, 1.5]]), None)
    assert same.at(comparison.INCUMBENT).tolist() == [1.0, 2.0, 1.5]
    assert not same.verdict(same.compared(NOISY, "mean")).challenger


@pytest.mark.parametrize(
    ("budget", "race", "expected"),
    [(10, 0, (0, 6)), (15, 0, (0, 6)), (20, 0, (0, 8)), (100, 4, (4, 40)), (3000, 22, (22, 1200))],
)
def test_two_fifths_are_kept(budget: int, race: int, expected: tuple[int, int]) -> None:
    assert comparison.reserve(Reserve(race, 9), budget, exact=False) == expected
    few = comparison.reserve(Reserve(race, 9), budget, exact=True)
    assert few == (0, min(8, expected[1]))


def test_what_a_comparison_can_show() -> None:
    # 58 against 65 % wins: about 600 to 800 evaluations of each.
    noise = math.sqrt(0.6 * 0.4)
    assert comparison.smallest_gain(noise, 600) == pytest.approx(0.0792, abs=1e-3)
    values = np.array([[0.0] * 42 + [1.0] * 58, [0.0] * 35 + [1.0] * 65])[::-1]
    wins = Evidence().saw(values.ravel())
    needed = comparison.evaluations_to_decide(compare(values, None, wins))
    assert needed is not None
    assert 700 < needed < 850
    assert comparison.evaluations_to_decide(told([1.0], [2.0]).compared(NOISY, "mean")) is None
    assert math.isnan(comparison.smallest_gain(1.0, 0))


def test_power_at_the_smallest_gain() -> None:
    """A true gain of that size is returned in about four of five comparisons."""
    rng = np.random.default_rng(1)
    gain, n, runs = comparison.smallest_gain(1.0, 30), 30, 1000
    won = 0
    for _ in range(runs):
        both = told((rng.normal(size=n) + gain).tolist(), rng.normal(size=n).tolist())
        won += both.verdict(both.compared(NOISY, "mean")).challenger
    assert 0.74 < won / runs < 0.84


# -- arguments


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"incumbent": [1.0]}, "incumbent must be 2 numbers, got 1"),
        ({"incumbent": [0.5, 0.5, 0.5]}, "incumbent must be 2 numbers, got 3"),
        (
            {"incumbent": [0.5, 2.0]},
            r"incumbent must lie inside the bounds, got incumbent\[1\] = 2 outside \[0, 1\]",
        ),
        (
            {"incumbent": [0.5, 2.0], "x0": [0.5, 0.5]},
            r"incumbent must lie inside the bounds, got incumbent\[1\] = 2 outside \[0, 1\]",
        ),
        ({"incumbent": [0.5, math.nan]}, "incumbent must be finite"),
        ({"incumbent": "today"}, "incumbent must be a sequence of numbers, got 'today'"),
        ({"incumbent": {"a": 1.0}}, "incumbent must be a point, or values by name where there is"),
        (
            {"incumbent": [0.5, 0.5], "budget": 9},
            "budget must be at least 10 with incumbent, got 9",
        ),
        (
            {"incumbent": [0.5, 0.5], "confirm": 3},
            "confirm must be 'auto' or at least 4 with incumbent, got 3",
        ),
    ],
)
def test_wrong_incumbents_are_one_sentence(options: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"bounds": [(0.0, 1.0)] * 2, "budget": 40} | options
    with pytest.raises(ValueError, match=f"^{said}"):
        nw.Optimizer(**given)


@pytest.mark.parametrize(
    ("incumbent", "said"),
    [
        ({"a": 0.5}, "incumbent must have a value of n, got {'a': 0.5}"),
        ({"a": 0.5, "n": 3, "c": 1}, "incumbent: values must be of a, n, got 'c'"),
        ({"a": 1.5, "n": 3}, "incumbent: a must be a number in 0.0..1.0, got 1.5"),
        ([0.5], "incumbent must be 2 numbers, got 1"),
        ("a", "incumbent must be values by name, such as {'a': ...}, got 'a'"),
        (0.5, "incumbent must be values by name, such as {'a': ...}, got 0.5"),
    ],
)
def test_wrong_incumbents_by_name_are_one_sentence(incumbent: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}"):
        nw.Optimizer(space={"a": "0..1", "n": "1..5:int"}, budget=40, incumbent=incumbent, x0={})


def test_equal_values_keep_today() -> None:
    r = nw.minimize(lambda x: 1.0, bounds=[(0.0, 1.0)] * 2, budget=20, incumbent=[0.1, 0.1], rng=0)
    assert r.kept
    assert r.verdict.startswith("keep today: ")
    assert "could not" not in r.verdict


def test_a_list_has_an_incumbent() -> None:
    """The second best option is kept or replaced by the best, and the table has both."""
    means, noise = {"a": 2.0, "b": 0.0, "c": 1.0, "d": 3.0}, np.random.default_rng(0)

    def value(p: dict[str, Any]) -> float:
        return float(means[p["option"]] + noise.normal())

    given: dict[str, Any] = {"space": {"option": list(means)}, "budget": 160, "rng": 0}
    r = nw.minimize(value, incumbent={"option": "c"}, **given)
    assert r.incumbent.params == {"option": "c"}
    assert r.challenger.params == {"option": "b"}
    assert r.improvement_interval[0] < 1.0 < r.improvement_interval[1]
    assert not r.kept
    best = nw.minimize(value, incumbent={"option": "b"}, **given)
    assert best.kept
    assert best.challenger.params != {"option": "b"}
    assert sorted(best.options["option"]) == sorted(means)


def test_a_resumed_run_must_have_the_same_incumbent(tmp_path: Path) -> None:
    def run(budget: int, **more: Any) -> nw.Result:
        return nw.minimize(
            support.bumpy,
            bounds=[(-2.0, 2.0)] * 2,
            budget=budget,
            rng=0,
            checkpoint=tmp_path / "run",
            **more,
        )

    first = run(40, incumbent=[1.0, 1.0])
    again = run(60, incumbent=[1.0, 1.0])
    assert again.incumbent.n > first.incumbent.n
    for other, got in (([1.0, 0.5], r"\[1.0, 0.5\]"), (None, "None")):
        with pytest.raises(nw.CheckpointError, match=rf"with incumbent \[1.0, 1.0\], not {got}"):
            run(60, incumbent=other, x0=[1.0, 1.0])


# -- whole runs


def test_a_constrained_challenger_must_be_feasible() -> None:
    rng = np.random.default_rng(0)
    for edge, kept in ((0.5, False), (1.9, True)):
        opt = nw.Optimizer(
            bounds=[(0.0, 2.0)] * 2, budget=60, rng=0, incumbent=[1.95, 1.95], maximize=False
        )
        while not opt.done:
            for trial in opt.ask():
                noise = 0.05 * rng.normal()
                limit = edge - trial.x[0] + 0.05 * rng.normal()  # x[0] at least the edge
                opt.tell(trial.id, float(trial.x.sum() + noise), constraints=limit)
        r = opt.result()
        assert r.feasible
        assert r.x[0] > edge - 0.05
        assert r.kept or r.challenger.x[0] > edge - 0.05
        if not kept:
            assert not r.kept


def test_common_seeds_make_a_shorter_interval() -> None:
    def noisy(x: Any, seed: int) -> float:
        rng = np.random.default_rng(seed)
        return float(x @ x + rng.normal())

    lengths = []
    for seeds in (None, "independent"):
        rng = np.random.default_rng(5)
        r = nw.minimize(
            noisy if seeds else lambda x: float(x @ x + rng.normal()),  # noqa: B023
            bounds=[(-2.0, 2.0)] * 2,
            incumbent=[1.0, 1.0],
            budget=100,
            seeds=seeds,
            rng=0,
        )
        lengths.append(r.improvement_interval[1] - r.improvement_interval[0])
    assert lengths[1] < 0.1 * lengths[0]


def test_the_guard_holds_under_pure_noise() -> None:
    """No setting is better than another: today's is kept in nearly all runs."""
    kept = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        r = nw.minimize(
            lambda x: float(rng.random() < 0.58),  # noqa: B023
            bounds=[(0.0, 1.0)] * 6,
            incumbent=[0.5] * 6,
            budget=400,
            maximize=True,
            rng=seed,
        )
        kept.append(r.kept)
        assert r.improvement_interval[0] <= 0.0 or not r.kept
    assert np.mean(kept) >= 0.9
