"""Intervals against formulas of textbooks, computed here with scipy.stats."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from noisewise.measured import intervals
from support import four

SYMMETRIC = [
    [1.0, 3.0],
    [1.0, 2.0, 4.0],
    [1.0, 2.0, 3.0, 4.0],
    [-5.0, -1.0, 0.0, 1.0, 5.0],
    [10.0 + v for v in np.linspace(-3.0, 3.0, 31)],
]


@pytest.mark.parametrize("values", SYMMETRIC, ids=len)
def test_without_skew_the_mean_has_students_interval(values: list[float]) -> None:
    y = np.array(values)
    low, high = stats.t.interval(0.95, len(y) - 1, loc=y.mean(), scale=stats.sem(y))
    found = intervals.mean(y)
    assert four(found) == pytest.approx((y.mean(), stats.sem(y), low, high), rel=1e-9)


@given(st.lists(st.floats(-100.0, 100.0), min_size=4, max_size=40))
def test_skew_lengthens_students_interval_on_its_side_only(values: list[float]) -> None:
    y = np.array(values)
    if np.ptp(y) < 1e-3:
        return
    g = float(stats.skew(y))
    low, high = stats.t.interval(0.95, len(y) - 1, loc=y.mean(), scale=stats.sem(y))
    found, slack = intervals.mean(y), 1e-9 * (1.0 + np.ptp(y))
    assert found.value == pytest.approx(y.mean(), abs=slack)
    assert found.se == pytest.approx(stats.sem(y))
    if g >= 0.0:
        assert found.low == pytest.approx(low, abs=slack)
        assert found.high >= high - slack
    if g <= 0.0:
        assert found.high == pytest.approx(high, abs=slack)
        assert found.low <= low + slack
    if g > 0.1:
        assert found.high > high


@pytest.mark.parametrize(("scale", "shift"), [(-1.0, 0.0), (1000.0, -7.0), (-1e-3, 5.0)])
@pytest.mark.parametrize("kind", [intervals.mean, intervals.median])
def test_an_interval_moves_with_the_values(kind: object, scale: float, shift: float) -> None:
    assert callable(kind)
    y = np.random.default_rng(2).exponential(size=11)
    one, other = kind(y), kind(scale * y + shift)
    ends = sorted(scale * end + shift for end in (one.low, one.high))
    moved = (scale * one.value + shift, abs(scale) * one.se, *ends)
    assert four(other) == pytest.approx(moved, rel=1e-9)


def test_equal_values_leave_no_doubt() -> None:
    assert four(intervals.mean(np.full(5, 2.0))) == (2.0, 0.0, 2.0, 2.0)


@pytest.mark.parametrize("degrees", [1, 2, 5, 30, 1000])
def test_the_quantiles_of_student(degrees: int) -> None:
    assert intervals.t_quantile(degrees) == pytest.approx(stats.t.ppf(0.975, degrees))
    assert pytest.approx(stats.norm.ppf(0.975)) == intervals.Z


# -- known errors


def test_known_errors_weigh_by_their_precision() -> None:
    y, e = np.array([1.0, 2.0, 4.0]), np.array([0.5, 1.0, 2.0])
    weight = 1.0 / e**2
    centre, se = float(weight @ y / weight.sum()), float(1.0 / math.sqrt(weight.sum()))
    z = stats.norm.ppf(0.975)
    expected = (centre, se, centre - z * se, centre + z * se)
    assert four(intervals.known(y, e)) == pytest.approx(expected)


@pytest.mark.parametrize(("scatter", "doubted"), [(2.57, False), (2.58, True)])
def test_known_errors_are_doubted_where_chance_does_not_explain_the_spread(
    scatter: float, doubted: bool
) -> None:
    """Two values scatter more than 1 in 100 times: chi-square above 6.63, 2.576 errors apart."""
    y, e = np.array([-1.0, 1.0]) * scatter / math.sqrt(2.0), np.ones(2)
    assert (stats.chi2.sf(float(y @ y), 1) < 0.01) == doubted
    found = intervals.known(y, e)
    se, q = math.sqrt(0.5), stats.norm.ppf(0.975)
    if doubted:
        se, q = se * scatter, stats.t.ppf(0.975, 1)
    assert four(found) == pytest.approx((0.0, se, -q * se, q * se))


def test_exact_values_among_known_errors_are_the_answer() -> None:
    found = intervals.known(np.array([3.0, 9.0, 1.0]), np.array([0.0, 1.0, 2.0]))
    assert four(found) == (3.0, 0.0, 3.0, 3.0)
    two = intervals.known(np.array([3.0, 9.0, 5.0]), np.array([0.0, 1.0, 0.0]))
    assert two == intervals.mean(np.array([3.0, 5.0]))


# -- shares


@pytest.mark.parametrize("n", [1, 4, 10, 50])
def test_shares_lie_between_jeffreys_and_clopper_pearson(n: int) -> None:
    for k in range(n + 1):
        found = intervals.share(k, n)
        assert found.value == pytest.approx((k + 0.5) / (n + 1))
        # The standard deviation of a Bernoulli share with that probability and n + 1 cases.
        assert found.se == pytest.approx(stats.bernoulli.std(found.value) / math.sqrt(n + 1))
        exact = stats.binomtest(k, n).proportion_ci(0.95, "exact")
        jeffreys = stats.beta.ppf([0.025, 0.975], k + 0.5, n - k + 0.5)
        assert exact.low <= found.low <= jeffreys[0]
        assert jeffreys[1] <= found.high <= exact.high
        mirror = intervals.share(n - k, n)
        assert (1.0 - mirror.high, 1.0 - mirror.low) == pytest.approx((found.low, found.high))


@pytest.mark.parametrize(("p", "n"), [(0.05, 20), (0.3, 10), (0.5, 4), (0.9, 50)])
def test_shares_cover_the_truth(p: float, n: int) -> None:
    """Summed over all outcomes, not simulated."""
    inside = [intervals.share(k, n).low <= p <= intervals.share(k, n).high for k in range(n + 1)]
    assert stats.binom.pmf(np.arange(n + 1), n, p) @ inside >= 0.93


def test_two_outcomes_have_the_interval_of_their_share() -> None:
    y = np.array([-2.0, 6.0, 6.0, -2.0, 6.0])
    p = intervals.share(3, 5)
    expected = (-2.0 + 8.0 * p.value, 8.0 * p.se, -2.0 + 8.0 * p.low, -2.0 + 8.0 * p.high)
    assert four(intervals.between(y, -2.0, 6.0)) == pytest.approx(expected)


def test_a_value_that_never_changed_may_be_one_of_several() -> None:
    p = intervals.share(0, 10)
    found = intervals.same(4.0, 10, below=3.0, above=6.0)
    assert four(found) == pytest.approx((4.0, 2.0 * p.se, 4.0 - p.high, 4.0 + 2.0 * p.high))
    assert four(intervals.same(4.0, 10, 4.0, 4.0))[2:] == (4.0, 4.0)
    assert intervals.same(4.0, 10, 0.0, 5.0).se == pytest.approx(4.0 * p.se)


# -- medians


@pytest.mark.parametrize("n", [1, 2, 5, 6, 9, 20, 101])
def test_medians_lie_between_order_statistics(n: int) -> None:
    y = np.random.default_rng(n).permutation(np.arange(float(n)))
    found = intervals.median(y)
    below = int(found.low)  # values are their own ranks
    assert found.value == np.median(y)
    assert found.high == n - 1 - below
    level = 1.0 - 2.0 * stats.binom.cdf(below, n, 0.5)
    narrower = 1.0 - 2.0 * stats.binom.cdf(below + 1, n, 0.5)
    assert level >= 0.95 or below == 0
    assert narrower < 0.95
    if n > 1:
        assert found.se == pytest.approx((found.high - found.low) / (2 * stats.norm.ppf(0.975)))
    else:
        assert math.isnan(found.se)
