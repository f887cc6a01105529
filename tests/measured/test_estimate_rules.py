"""Which values an estimate sets aside, calls exact or widens: tables and formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import support
from noisewise.measured import intervals
from noisewise.measured.estimate import estimate
from noisewise.measured.evidence import Evidence, Shape
from noisewise.measured.samples import Samples, displacement, merged_order, moves, reevaluated

NAN, INF = math.nan, math.inf


def run(**changes: Any) -> Evidence:
    """A run of a continuous law."""
    return Evidence(**({"n": 100, "listed": np.arange(21.0)} | changes))


WINS = {"listed": np.array([0.0, 1.0])}
COUNTS = {"listed": np.array([0.0, 1.0, 3.0, 7.0])}
EXACT = {"agreed": 3}
OUTLIERS = {"agreed": 3, "contradicted": 1}


@pytest.mark.parametrize(
    ("values", "changes", "aside"),
    [
        # Median distance 1 from the median 2: a thousand of them is far.
        ([1.0, 1.0, 2.0, 3.0, 1001.0], {}, 0),
        ([1.0, 1.0, 2.0, 3.0, 1003.0], {}, 1),
        ([1.0, 1.0, 2.0, 3.0, -1003.0], {}, 1),
        ([1.0, 2.0, 3.0, 5000.0], {}, 0),  # too few to say
        ([1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 9e3, 9e3], {}, 2),  # one in four
        ([1.0, 1.0, 2.0, 3.0, 3.0, 9e3, 9e3], {}, 0),
        ([1.0, 1.0, 2.0, 3.0, 1003.0], {"n": 0, "listed": np.empty(0)}, 0),  # nothing is known
        ([0.0, 1.0, 0.0, 1.0, 1e6], WINS, 0),
        ([1.0, 1.0, 1.0, 1.0, 1e6], {}, 0),
        ([1.0, 1.0, 2.0, 3.0, 1003.0], {"shape": Shape(1.0, 1.0, 0.0, 9.0, 100.0)}, 0),  # Cauchy
        # Among exact values, those that differ from one that came several times.
        ([1.0, 1.0, 2.0], OUTLIERS, 1),
        ([1.0, 1.0, 2.0, 3.0], OUTLIERS, 0),  # not more than half
        ([1.0, 2.0], OUTLIERS, 0),
    ],
)
def test_values_that_are_set_aside(values: list[float], changes: Any, aside: int) -> None:
    found = estimate(np.array(values), background=run(**changes))
    assert (found.kind == "typical") == (aside > 0)
    assert found.n == len(values)
    assert found.set_aside == pytest.approx(aside / len(values))
    assert found.mean_of_all == pytest.approx(np.mean(values))
    if aside:
        kept = sorted(values, key=lambda v: abs(v - np.median(values)))[: len(values) - aside]
        assert found.value == pytest.approx(np.mean(kept))


def test_the_share_of_outliers_of_the_run_counts_if_it_is_larger() -> None:
    values = np.array([1.0] * 9 + [5.0])
    for share, expected in ((0.02, 0.1), (0.3, 0.3)):
        found = estimate(values, background=run(**OUTLIERS, outlier_share=share))
        assert (found.kind, found.set_aside) == ("typical", pytest.approx(expected))
        assert (found.value, found.se, *found.interval) == (1.0, 0.0, 1.0, 1.0)
    plain = estimate(np.array([1.0, 2.0, 3.0]), background=run(outlier_share=0.3))
    assert (plain.kind, plain.set_aside) == ("mean", 0.0)


@pytest.mark.parametrize(
    ("values", "changes", "kind"),
    [
        ([2.0], EXACT, "mean"),
        ([2.0, 2.0], EXACT, "exact"),
        ([2.0, 3.0], EXACT, "mean"),
        ([2.0, 2.0], {}, "exact"),  # a continuous law does not repeat by chance
        ([2.0, 2.0], {"n": 2}, "mean"),  # unless nothing else is known of it
        ([2.0, 2.0], {"n": 3}, "exact"),
        ([2.0] * 3, {"differed": 1}, "mean"),  # other points have noise: four are needed
        ([2.0] * 4, {"differed": 1}, "exact"),
        ([1.0] * 9, WINS, "mean"),  # wins
        ([1.0, 1.0, 2.0], OUTLIERS, "typical"),
    ],
)
def test_values_that_are_called_exact(values: list[float], changes: Any, kind: str) -> None:
    found = estimate(np.array(values), background=run(**changes))
    assert found.kind == kind
    assert (found.se == 0.0) == (kind in ("exact", "typical"))


@pytest.mark.parametrize(
    ("values", "changes", "expected"),
    [
        # Two outcomes.
        ([0.0, 1.0, 1.0], WINS, intervals.between(np.array([0.0, 1.0, 1.0]), 0.0, 1.0)),
        ([1.0] * 3, WINS, intervals.between(np.ones(3), 0.0, 1.0)),
        # Counts that were the same every time reach towards their neighbours.
        ([1.0] * 5, COUNTS, intervals.same(1.0, 5, 0.0, 3.0)),
        ([0.0] * 5, COUNTS, intervals.same(0.0, 5, 0.0, 1.0)),
        ([7.0] * 5, COUNTS, intervals.same(7.0, 5, 3.0, 7.0)),
        ([5.0] * 5, COUNTS, intervals.same(5.0, 5, 3.0, 7.0)),
        ([0.0, 1.0, 7.0], COUNTS, intervals.mean(np.array([0.0, 1.0, 7.0]))),
    ],
)
def test_outcomes_with_few_values(values: list[float], changes: Any, expected: Any) -> None:
    found = estimate(np.array(values), background=run(**changes))
    assert found.kind == "mean"
    assert support.four(found) == pytest.approx(support.four(expected))


@pytest.mark.parametrize("n", [4, 10, 20, 80])
@pytest.mark.parametrize("known", [None, 2.0, -1.0])
def test_the_interval_is_lengthened_for_the_skew(n: int, known: float | None) -> None:
    """By t g (t / 3) / sqrt(n), times 3.7 up to twenty values and less beyond; the skewness of the
    run counts a quarter there and lengthens only."""
    y = np.random.default_rng(n).exponential(size=n)
    g, t, small = stats.skew(y), stats.t.ppf(0.975, n - 1), min(1.0, 20.0 / n)
    both = g if known is None else g + 0.25 * small * (known - g)
    more = (1.0 + 2.7 * math.sqrt(small)) * t / 3.0 / math.sqrt(n)
    se = stats.sem(y)
    found = intervals.mean(y, known)
    assert found.high - found.value == pytest.approx(t * se * (1.0 + more * max(0.0, g, both)))
    assert found.value - found.low == pytest.approx(t * se * (1.0 + more * max(0.0, -g, -both)))


def test_three_values_have_students_interval_whatever_the_skew() -> None:
    y = np.array([0.0, 0.0, 1.0])
    assert support.four(intervals.mean(y, 5.0)) == pytest.approx(
        (1 / 3, 1 / 3, *stats.t.interval(0.95, 2, 1 / 3, 1 / 3))
    )


# -- the shape of a law, group by group


def test_a_group_of_four_values_is_the_smallest_that_counts() -> None:
    assert Shape().add(np.arange(3.0)) == Shape()
    assert Shape().add(np.array([1.0, NAN, 2.0, 3.0, INF])) == Shape()
    found = Shape().add(np.array([0.0, 1.0, 2.0, 7.0]))
    assert (found.groups, found.values) == (1.0, 4.0)


def test_older_groups_fade() -> None:
    """About thirty groups count."""
    rng, found = np.random.default_rng(0), Shape()
    for _ in range(400):
        found = found.add(rng.normal(size=8))
    assert found.groups == pytest.approx(30.0, rel=0.01)
    assert found.values == pytest.approx(240.0, rel=0.01)


@pytest.mark.parametrize(
    ("low", "high", "values", "heavy"),
    [
        (1.0, 1.0, 60.0, True),
        (1.0, 1.0, 59.0, False),
        (-1.0, 1.0, 90.0, False),
        (1.0, 0.0, 90.0, False),
    ],
)
def test_both_tails_of_sixty_values_must_be_heavy(
    low: float, high: float, values: float, heavy: bool
) -> None:
    assert Shape(low, high, 0.0, 9.0, values).heavy == heavy


# -- ranks of second values


def samples(*rows: tuple[float, float]) -> Samples:
    return Samples(np.array(rows))


def test_how_far_candidates_move() -> None:
    """By 3 k / (k^2 - 1) per place, a value among the others' first ones."""
    four = samples((1.0, 3.5), (2.0, NAN), (3.0, 0.5), (4.0, INF))
    who = reevaluated(four)
    assert who.tolist() == [0, 2]
    np.testing.assert_allclose(moves(four, who), [2.0 * 12.0 / 15.0, 2.0 * 12.0 / 15.0])
    assert displacement(four) == (pytest.approx(4.0 / 8.0), 2)
    equal = samples((1.0, 1.0), (1.0, 1.0), (2.0, 2.0), (3.0, NAN))
    assert moves(equal, reevaluated(equal)).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("rows", "common", "expected", "n"),
    [
        ([(1.0, NAN), (2.0, NAN)], False, NAN, 0),
        ([(1.0, 2.0), (2.0, 1.0)], False, 0.5, 2),  # everyone: the footrule over k^2
        ([(1.0, 2.0), (2.0, NAN), (3.0, NAN)], True, NAN, 0),  # nothing to compare it with
        ([(1.0, 9.0), (2.0, 8.0), (3.0, NAN)], True, 2.0 / 3.0, 2),
        ([(1.0, 8.0), (2.0, 9.0), (3.0, NAN)], True, 0.0, 2),  # all moved alike: the other seed
    ],
)
def test_displacement(
    rows: list[tuple[float, float]], common: bool, expected: float, n: int
) -> None:
    assert displacement(samples(*rows), common) == (pytest.approx(expected, nan_ok=True), n)


@pytest.mark.parametrize(
    ("rows", "order"),
    [
        ([(1.0, NAN), (3.0, NAN), (2.0, NAN)], [0, 2, 1]),
        # Ranks 0 and 2 have the mean 1; that place belongs to another, and the first value decides.
        ([(1.0, 9.0), (2.0, NAN), (3.0, NAN)], [0, 1, 2]),
        ([(3.0, 0.0), (1.0, NAN), (2.0, NAN)], [1, 2, 0]),
        ([(1.0, 9.0), (2.0, NAN), (3.0, NAN), (4.0, NAN)], [1, 0, 2, 3]),
    ],
)
def test_candidates_by_the_mean_of_their_ranks(
    rows: list[tuple[float, float]], order: list[int]
) -> None:
    found = samples(*rows)
    assert merged_order(found, reevaluated(found)).tolist() == order
