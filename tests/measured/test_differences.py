"""Differences of two points: values computed by other means, coverage, and what kinds fall to."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from noisewise._types import FloatArray
from noisewise.measured import intervals
from noisewise.measured.differences import combined, compare, welch
from noisewise.measured.estimate import Estimate
from noisewise.measured.evidence import Evidence
from support import four

rng = np.random.default_rng(0)
NOISY = Evidence().saw(rng.normal(size=50))
WINS = Evidence().saw(np.array([0.0, 1.0] * 10))
NAN, INF = math.nan, math.inf
SHIFT = np.array([[1.0], [0.0]])


def both(a: list[float], b: list[float]) -> FloatArray:
    n = max(len(a), len(b))
    return np.array([row + [NAN] * (n - len(row)) for row in (a, b)])


def test_without_skew_it_is_welchs_interval() -> None:
    a, b = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([2.0, 4.0, 6.0])
    found = welch(a, b)
    se = math.sqrt(a.var(ddof=1) / 5 + b.var(ddof=1) / 3)
    parts = a.var(ddof=1) / 5, b.var(ddof=1) / 3
    degrees = math.floor(sum(parts) ** 2 / (parts[0] ** 2 / 4 + parts[1] ** 2 / 2))
    half = stats.t.ppf(0.975, degrees) * se
    assert four(found) == pytest.approx((-1.0, se, -1.0 - half, -1.0 + half))


def test_skew_lengthens_the_side_of_its_sign_only() -> None:
    skewed = np.array([0.0, 0.1, 0.2, 0.1, 5.0, 0.3])
    flat = np.array([1.0, 1.1, 0.9, 1.05, 0.95, 1.0])
    right, left = welch(skewed, flat), welch(flat, skewed)
    assert right.high - right.value > 1.2 * (right.value - right.low)
    np.testing.assert_allclose(four(left), (-right.value, right.se, -right.high, -right.low))


def test_two_laws_of_the_same_shape_have_no_skew_between_them() -> None:
    a = np.array([0.0, 0.1, 0.2, 0.1, 5.0, 0.3])
    found = welch(a, a + 1.0)
    plain = stats.ttest_ind(a, a + 1.0, equal_var=False).confidence_interval()
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))


def test_pairs_count_by_their_differences() -> None:
    shared = rng.normal(size=12) * 10.0
    a, b = shared + 1.0 + 0.1 * rng.normal(size=12), shared + 0.1 * rng.normal(size=12)
    found = compare(np.array([a, b]), None, NOISY, "mean", paired=True)
    assert found.paired
    assert four(found.gain) == pytest.approx(four(intervals.mean(a - b)))
    assert found.gain.low > 0.8
    assert compare(np.array([a, b]), None, NOISY).gain.low < 0.0  # independent they say little


def test_pairs_of_which_too_many_are_broken_count_as_independent() -> None:
    a = [1.0, 2.0, 3.0, INF, INF, 2.5]
    b = [2.0, 1.0, 3.5, 4.0, 3.0, 2.0]
    assert not compare(both(a, b), None, NOISY, "mean", paired=True).paired
    assert compare(both([*a, 1.0, 2.0], b), None, NOISY, "mean", paired=True).paired is False
    one = [1.0, 2.0, 3.0, 4.5, INF, 2.5]
    found = compare(both(one, b), None, NOISY, "mean", paired=True)
    assert found.paired
    d = np.array(one)[[0, 1, 2, 3, 5]] - np.array(b)[[0, 1, 2, 3, 5]]
    assert four(found.gain) == pytest.approx(four(intervals.mean(d)))
    assert (found.first.n, found.first.failures) == (5, 1)


def test_won_or_lost_combines_the_intervals_of_two_shares() -> None:
    a, b = [0.0] * 12 + [1.0] * 8, [0.0] * 7 + [1.0] * 13
    found = compare(both(a, b), None, WINS)
    p, q = intervals.share(8, 20), intervals.share(13, 20)
    low = p.value - q.value - math.hypot(p.value - p.low, q.high - q.value)
    high = p.value - q.value + math.hypot(p.high - p.value, q.value - q.low)
    assert found.gain.interval == pytest.approx((low, high))
    assert found.gain.value == pytest.approx(8.5 / 21 - 13.5 / 21)


def test_paired_wins_have_the_interval_of_agresti_and_min() -> None:
    a = np.array([1.0] * 9 + [0.0] * 11)
    b = np.array([1.0] * 6 + [0.0] * 5 + [1.0] * 2 + [0.0] * 7)
    found = compare(np.array([a, b]), None, WINS, "mean", paired=True)
    only_a, only_b = 3 + 0.5, 2 + 0.5
    middle = (only_a - only_b) / 22
    half = 1.959964 * math.sqrt(only_a + only_b - 22 * middle**2) / 22
    assert found.gain.interval == pytest.approx((middle - half, middle + half), abs=1e-6)


def test_equal_pairs_of_wins_still_have_an_interval() -> None:
    a = np.ones((2, 10))
    found = compare(a, None, WINS, "mean", paired=True)
    assert found.gain.low < 0.0 < found.gain.high
    assert found.gain.value == 0.0


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (Estimate(3.0, 0.0, 3.0, 3.0, "exact"), Estimate(1.0, 0.0, 1.0, 1.0, "exact"), (2, 2, 2)),
        (Estimate(3.0, 1.0, 1.0, 6.0), Estimate(1.0, 1.0, -3.0, 5.0), (2, -2.47213595, 7)),
        (Estimate(3.0, NAN, NAN, NAN), Estimate(1.0, 1.0, 0.0, 2.0), (2, NAN, NAN)),
    ],
)
def test_two_intervals_combined(
    first: Estimate, second: Estimate, expected: tuple[float, float, float]
) -> None:
    found = combined(first, second)
    assert (found.value, found.low, found.high) == pytest.approx(expected, nan_ok=True)


def test_kinds_of_estimates_that_have_intervals_of_their_own() -> None:
    a, b = rng.normal(size=30) + 1.0, rng.normal(size=30)
    medians = compare(np.array([a, b]), None, NOISY, "median")
    assert medians.first.kind == "median"
    assert medians.gain == combined(medians.first, medians.second)
    errors = np.full((2, 30), 0.5)
    known = compare(np.array([a, b]), errors, NOISY)
    assert known.gain.se == pytest.approx(math.hypot(known.first.se, known.second.se))
    exact = Evidence().compared(np.tile(np.arange(20.0)[:, None], (1, 2)))
    same = compare(np.array([[2.0, 2.0], [1.5, 1.5]]), None, exact)
    assert (same.first.kind, four(same.gain)) == ("exact", (0.5, 0.0, 0.5, 0.5))


@pytest.mark.parametrize(
    "values", [both([], [1.0, 2.0]), both([INF, INF], [1.0]), np.empty((2, 0))]
)
def test_nothing_is_said_of_a_point_without_a_value(values: FloatArray) -> None:
    assert np.isnan(four(compare(values, None, NOISY).gain)).all()


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30),
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30),
    st.booleans(),
)
def test_exchanging_the_points_changes_the_sign(
    a: list[float], b: list[float], paired: bool
) -> None:
    n = min(len(a), len(b)) if paired else max(len(a), len(b))
    values = both(a[:n], b[:n])
    one = compare(values, None, NOISY, "mean", paired).gain
    other = compare(values[::-1].copy(), None, NOISY, "mean", paired).gain
    assert one.value == pytest.approx(-other.value, abs=1e-6)
    if not math.isnan(one.low):
        assert one.low <= one.value + 1e-6
        assert one.high >= one.value - 1e-6
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-3)


@pytest.mark.parametrize("n", [4, 10, 40])
@pytest.mark.parametrize("law", ["normal", "unequal", "lognormal", "wins", "paired wins"])
def test_intervals_cover(law: str, n: int) -> None:
    """2,000 draws of each: at least 93 %."""
    draws = np.random.default_rng(n)
    seen, truth = (WINS, 0.65 - 0.58) if "wins" in law else (NOISY, 1.0)
    held = 0
    for _ in range(2000):
        if law == "normal":
            values = draws.normal(size=(2, n)) + SHIFT
        elif law == "unequal":
            values = draws.normal(size=(2, n)) * np.array([[1.0], [4.0]]) + SHIFT
        elif law == "lognormal":
            values = draws.lognormal(size=(2, n)) + SHIFT
        else:
            u = draws.random((2, n))
            if law == "paired wins":
                u[1] = np.where(draws.random(n) < 0.5, u[0], u[1])
            values = (u < np.array([[0.65], [0.58]])).astype(float)
        gain = compare(values, None, seen, "mean", law == "paired wins").gain
        held += gain.low <= truth <= gain.high
    assert held / 2000 >= 0.93
