"""Estimates at one point: coverage of the intervals, and what must not change them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisewise._data import decode, encode
from noisewise._types import FloatArray
from noisewise.measured.estimate import Estimate, estimate, evaluations_for, expected_width
from noisewise.measured.evidence import Evidence

Draw = Callable[[np.random.Generator, int], FloatArray]
#: Law, its mean (median for Cauchy) and standard deviation.
LAWS: dict[str, tuple[Draw, float, float]] = {
    "gaussian": (lambda r, n: r.normal(3.0, 2.0, n), 3.0, 2.0),
    "t3": (lambda r, n: r.standard_t(3.0, n), 0.0, math.sqrt(3.0)),
    "lognormal 0.5": (
        lambda r, n: r.lognormal(0.0, 0.5, n),
        math.exp(0.125),
        math.sqrt(math.expm1(0.25) * math.exp(0.25)),
    ),
    "lognormal 1": (
        lambda r, n: r.lognormal(0.0, 1.0, n),
        math.exp(0.5),
        math.sqrt(math.expm1(1.0) * math.e),
    ),
    "minus lognormal 1": (
        lambda r, n: -r.lognormal(0.0, 1.0, n),
        -math.exp(0.5),
        math.sqrt(math.expm1(1.0) * math.e),
    ),
    "win 0.5": (lambda r, n: (r.random(n) < 0.5).astype(float), 0.5, 0.5),
    "win 0.05": (lambda r, n: (r.random(n) < 0.05).astype(float), 0.05, math.sqrt(0.0475)),
}


def run(draw: Draw, rng: np.random.Generator, rounds: int = 20) -> Evidence:
    seen = Evidence()
    for _ in range(rounds):
        seen = seen.saw(draw(rng, 10))
    return seen


@pytest.mark.parametrize("n", [8, 13, 27, 85])
@pytest.mark.parametrize("law", LAWS)
def test_intervals_cover_the_mean_and_are_not_too_long(law: str, n: int) -> None:
    draw, mean, sd = LAWS[law]
    rng = np.random.default_rng([n, len(law)])
    seen, hits, widths = run(draw, rng), 0, []
    for _ in range(600):
        e = estimate(draw(rng, n), background=seen)
        hits += e.low <= mean <= e.high
        widths.append(e.width)
        assert e.kind == "mean"
    assert hits / 600 >= 0.90 - 2.0 * math.sqrt(0.09 / 600)
    assert np.median(widths) <= 1.5 * 2.0 * 1.96 * sd / math.sqrt(n)


def test_a_skewed_landscape_does_not_hide_the_skewness_of_the_noise() -> None:
    """Under noise with a long tail to one side, values of a round may have one to the other."""
    draw, mean, _ = LAWS["minus lognormal 1"]
    rng = np.random.default_rng(1)
    seen = run(lambda r, n: r.lognormal(0.0, 1.0, n), rng)
    found = [estimate(draw(rng, 8), background=seen) for _ in range(600)]
    assert np.mean([e.low <= mean <= e.high for e in found]) >= 0.89


@pytest.mark.parametrize("n", [7, 20, 50])
def test_cauchy_gives_a_median_that_covers_the_centre(n: int) -> None:
    rng = np.random.default_rng(n)
    seen = run(lambda r, k: 5.0 + r.standard_cauchy(k), rng)
    found = [estimate(5.0 + rng.standard_cauchy(n), background=seen) for _ in range(400)]
    assert {e.kind for e in found} == {"median"}
    assert np.mean([e.low <= 5.0 <= e.high for e in found]) >= 0.93


@pytest.mark.parametrize("n", [1, 3, 10])
def test_known_errors_give_calibrated_intervals(n: int) -> None:
    rng = np.random.default_rng(n)
    hits = 0
    for _ in range(600):
        errors = rng.uniform(0.1, 10.0, n)
        e = estimate(7.0 + errors * rng.normal(size=n), errors)
        hits += e.low <= 7.0 <= e.high
    assert 0.92 <= hits / 600 <= 0.985


def test_known_errors_are_doubted_where_values_scatter_more() -> None:
    y = np.array([0.0, 10.0, -10.0, 5.0])
    trusted = estimate(y, np.full(4, 5.0))
    doubted = estimate(y, np.full(4, 1e-3))
    assert trusted.se == pytest.approx(2.5)
    assert doubted.se > 1.0


def test_a_value_with_a_large_error_hardly_counts() -> None:
    e = estimate(np.array([1.0, 100.0]), np.array([1.0, 100.0]))
    assert abs(e.value - 1.0) < 0.02


def test_known_errors_are_used_only_if_all_successes_have_one() -> None:
    y = np.array([1.0, 2.0, 3.0, np.inf])
    assert estimate(y, np.array([1.0, 1.0, np.nan, 1.0])) == estimate(y)
    assert estimate(y, np.array([1.0, 1.0, 1.0, np.nan])).se == pytest.approx(1 / math.sqrt(3))


def test_nothing_is_known_without_a_success() -> None:
    for values in (np.empty(0), np.array([np.inf, np.nan])):
        e = estimate(values)
        assert e.kind == "unknown"
        assert math.isnan(e.value)
        assert math.isnan(e.se)
        assert all(map(math.isnan, e.interval))
        assert (e.n, e.failures) == (0, len(values))


def test_one_value_has_no_error_and_two_equal_ones_have_none_without_noise() -> None:
    calm = Evidence().saw(np.arange(9.0)).compared(np.array([[1.0, 1.0]]))
    for background in (None, calm):  # nothing is exact that was not measured twice at that point
        one = estimate(np.array([4.0]), background=background)
        assert (one.kind, one.value) == ("mean", 4.0)
        assert math.isnan(one.se)
    exact = estimate(np.array([4.0, 4.0]), background=calm)
    assert (exact.kind, exact.se, exact.interval) == ("exact", 0.0, (4.0, 4.0))


def test_failures_are_counted_and_left_out() -> None:
    y = np.array([1.0, np.inf, 2.0, np.nan, 3.0])
    e = estimate(y)
    assert (e.n, e.failures) == (3, 2)
    assert e.interval == estimate(np.array([1.0, 2.0, 3.0])).interval


def test_two_equal_wins_are_not_determinism() -> None:
    wins = Evidence().saw(np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0]))
    for n in (2, 8):
        e = estimate(np.ones(n), background=wins)
        assert e.kind == "mean"
        assert e.se > 0.0
        assert e.low < 1.0 == e.high
    assert math.isnan(estimate(np.ones(2)).se)  # nothing else is known: they may be wins


def test_where_the_noise_vanishes_values_are_exact() -> None:
    noisy = Evidence().saw(np.linspace(0.0, 1.0, 30)).compared(np.array([[1.0, 1.5]]))
    assert estimate(np.full(8, 10.0), background=noisy).kind == "exact"
    assert math.isnan(estimate(np.full(3, 10.0), background=noisy).se)


def test_last_digits_are_no_noise() -> None:
    y = 0.3 * (1.0 + np.array([0.0, 2e-16, -2e-16, 1e-15]))
    calm = Evidence().saw(np.linspace(0.0, 1.0, 30)).compared(y[None])
    assert calm.deterministic
    assert estimate(y, background=calm).kind == "exact"


def test_equal_values_of_a_continuous_objective_are_exact() -> None:
    seen = Evidence().saw(np.linspace(0.0, 1.0, 30))
    assert estimate(np.full(2, 0.3), background=seen).kind == "exact"
    noisy = seen.compared(np.array([[1.0, 2.0]]))
    assert estimate(np.full(2, 0.3), background=noisy).kind == "mean"


def test_equal_values_that_differ_from_the_evidence_are_not_exact() -> None:
    calm = Evidence().saw(np.arange(9.0)).compared(np.array([[1.0, 1.0]]))
    e = estimate(np.array([1.0, 2.0, 4.0]), background=calm)
    assert e.kind == "mean"
    assert e.se > 0.0


def test_noise_beside_a_large_offset_is_noise() -> None:
    y = 1e11 + 0.05 * np.random.default_rng(0).normal(size=(20, 2))
    assert not Evidence().saw(y[:, 0]).compared(y).deterministic
    assert estimate(y[0], background=Evidence().saw(y[:, 0])).kind == "mean"


def test_a_few_wrong_values_among_exact_ones_are_set_aside() -> None:
    y = np.arange(30.0) ** 1.1
    seen = Evidence().saw(y).compared(np.column_stack((y, y)))
    assert seen.deterministic
    seen = seen.compared(np.array([[5.0, -95.0]]))
    assert (seen.deterministic, seen.outliers) == (False, True)
    e = estimate(np.array([2.0, 2.0, -98.0, 2.0]), background=seen)
    assert (e.kind, e.value, e.interval, e.n) == ("typical", 2.0, (2.0, 2.0), 4)
    assert (e.set_aside, e.mean_of_all) == (0.25, -23.0)
    assert (e.negated().value, e.negated().mean_of_all) == (-2.0, 23.0)
    noisy = Evidence().saw(y).compared(np.column_stack((y, y + np.linspace(0.1, 0.9, 30))))
    assert (noisy.outliers, noisy.settled) == (False, True)


def test_a_value_far_from_all_others_is_set_aside_and_said() -> None:
    rng = np.random.default_rng(3)
    y, seen = rng.normal(size=18), Evidence().saw(rng.normal(size=40))
    plain = estimate(y[:17], background=seen)
    e = estimate(np.append(y[:17], 1e6), background=seen)
    assert (e.kind, e.n) == ("typical", 18)
    assert e.interval == plain.interval
    assert e.mean_of_all == pytest.approx((y[:17].sum() + 1e6) / 18.0)
    assert estimate(np.append(y[:17], 30.0), background=seen).kind == "mean"  # skewed, perhaps


def test_outcomes_with_few_values_are_never_outliers() -> None:
    outcomes = Evidence().saw(np.array([0.0] * 38 + [5000.0] * 2))
    e = estimate(np.array([0.0] * 17 + [5000.0]), background=outcomes)
    assert e.kind == "mean"
    assert e.low < 5000.0 / 18.0 < e.high
    counts = Evidence().saw(np.random.default_rng(0).poisson(100.0, 60).astype(float))
    assert estimate(np.array([101.0, 97.0, 101.0]), background=counts).value != 101.0


def test_the_median_can_be_asked_for() -> None:
    y = np.exp(np.random.default_rng(1).normal(size=40))
    e = estimate(y, target="median")
    assert (e.kind, e.value) == ("median", float(np.median(y)))
    assert e.low < 1.0 < e.high
    assert e.mean_of_all == pytest.approx(float(y.mean()))


def test_equal_counts_reach_towards_the_neighbouring_counts() -> None:
    counts = Evidence().saw(np.array([0.0, 1.0, 2.0] * 10))
    e = estimate(np.ones(8), background=counts)
    assert 0.0 < e.low < 1.0 < e.high < 2.0


values = st.lists(st.floats(-1e6, 1e6).map(lambda v: round(v, 3)), min_size=2, max_size=30)


@given(values, st.randoms(use_true_random=False))
def test_the_order_of_values_does_not_matter(y: list[float], random: object) -> None:
    shuffled = y.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert repr(estimate(np.array(y))) == repr(estimate(np.array(shuffled)))


@given(values, st.floats(-1e3, 1e3), st.floats(0.01, 100.0))
@settings(max_examples=60)
def test_estimates_move_and_scale_with_the_values(y: list[float], by: float, to: float) -> None:
    plain, moved = estimate(np.array(y)), estimate(to * np.array(y) + by)
    if plain.width > 1e-3 * (1.0 + max(map(abs, y)) / 1e3):
        scale = 1e-6 * (abs(by) + to * max(map(abs, y)) + to * plain.width)
        for a, b in zip(plain.interval, moved.interval, strict=True):
            assert to * a + by == pytest.approx(b, abs=scale)
        assert to * plain.se == pytest.approx(moved.se, abs=scale)


@given(values)
def test_mirrored_values_give_mirrored_intervals(y: list[float]) -> None:
    plain, mirrored = estimate(np.array(y)), estimate(-np.array(y))
    size = 1e-9 * (1.0 + max(map(abs, y)))
    assert plain.low == pytest.approx(-mirrored.high, abs=size, nan_ok=True)
    assert plain.high == pytest.approx(-mirrored.low, abs=size, nan_ok=True)


@given(values)
def test_the_value_is_inside_its_interval(y: list[float]) -> None:
    e = estimate(np.array(y), background=Evidence().saw(np.array(y)))
    assert math.isnan(e.low) or e.low <= e.value <= e.high


def test_values_of_any_size_are_fine() -> None:
    for size in (1e70, 1e-70):
        e = estimate(size * np.array([1.0, 2.0, 3.0, 10.0]))
        assert e.value == pytest.approx(4.0 * size)
        assert 0.0 < e.se < math.inf


def test_the_expected_width_is_what_more_values_bring() -> None:
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(300):
        y = rng.normal(size=60)
        ratios.append(expected_width(estimate(y[:15]), 45) / estimate(y).width)
    assert 0.95 < np.median(ratios) < 1.15


@given(st.integers(2, 50), st.floats(0.05, 0.9))
def test_the_evaluations_for_a_width_are_just_enough(n: int, part: float) -> None:
    e = estimate(np.random.default_rng(n).normal(size=n))
    more = evaluations_for(e, part * e.width)
    assert more is not None
    assert expected_width(e, more) <= part * e.width < expected_width(e, more - 1)


def test_no_more_evaluations_are_needed_where_all_is_known() -> None:
    exact = Estimate(1.0, 0.0, 1.0, 1.0, "exact", 1)
    assert expected_width(exact, 10) == 0.0
    assert evaluations_for(exact, 0.1) == 0
    assert evaluations_for(estimate(np.empty(0)), 0.1) is None


def test_estimates_and_evidence_can_be_saved() -> None:
    seen = Evidence().saw(np.arange(30.0)).compared(np.array([[1.0, 2.0]]))
    e = estimate(np.arange(5.0), background=seen)
    assert decode(encode(e)) == e
    assert repr(decode(encode(seen))) == repr(seen)


def test_agreement_on_a_floor_or_a_ceiling_is_not_determinism() -> None:
    """Where bad points share a value (an episode is cut), a bad one gives it again under any
    noise."""
    values = np.concatenate([-np.linspace(60.0, 90.0, 25), np.full(6, -300.0)])
    again = np.full((31, 2), np.nan)
    again[:, 0] = values
    again[30, 1] = -300.0
    assert not Evidence().saw(values).compared(again).deterministic
    # the same where points come one at a time
    seen = Evidence()
    for value in values:
        seen = seen.saw(np.array([value]))
    assert not seen.compared(np.array([[-300.0, -300.0]])).deterministic
    again[30, 1], again[3, 1] = np.nan, values[3]
    assert Evidence().saw(values).compared(again).deterministic
