"""Moves of re-evaluated candidates."""

from __future__ import annotations

import numpy as np
import pytest

from noisewise.measured.samples import (
    Samples,
    merged_order,
    moves,
    reevaluated,
    reliability,
    second_ranks,
)


def sampled(first: list[float], again: dict[int, float]) -> Samples:
    values = np.full((len(first), 2), np.nan)
    values[:, 0] = first
    for i, v in again.items():
        values[i, 1] = v
    return Samples(values)


def test_a_value_that_repeats_does_not_move() -> None:
    samples = sampled([3.0, 1.0, 2.0], {0: 3.0, 1: 1.0})
    np.testing.assert_array_equal(moves(samples, reevaluated(samples)), [0.0, 0.0])


def test_tied_values_that_repeat_do_not_move_either() -> None:
    """A step function without noise: ranks within a step are by index, also the second time."""
    values = [1.0, 0.0, 1.0, 1.0, 0.0, 2.0]
    samples = sampled(values, dict(enumerate(values)))
    np.testing.assert_array_equal(moves(samples, reevaluated(samples)), np.zeros(6))
    # Another step is moved to its middle by index, as a first value would be.
    samples = sampled(values, {2: 0.0, 5: 1.0})
    np.testing.assert_array_equal(second_ranks(samples, np.array([2, 5])), [1, 5])


def test_second_ranks_are_among_the_others() -> None:
    samples = sampled([3.0, 1.0, 2.0, 4.0], {1: 3.5, 3: 0.0})
    who = reevaluated(samples)
    np.testing.assert_array_equal(who, [1, 3])
    np.testing.assert_array_equal(second_ranks(samples, who), [2, 0])


@pytest.mark.parametrize("k", [4, 10, 45])
def test_pure_noise_moves_by_nearly_one_on_average(k: int) -> None:
    """Of the k - 1 others a third lies between two independent values: q is k/(k + 1)."""
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(3000):
        samples = Samples(rng.normal(size=(k, 2)))
        seen.append(moves(samples, np.array([0]))[0])
    assert np.mean(seen) == pytest.approx(k / (k + 1), abs=0.04)


def test_failed_second_values_are_not_counted() -> None:
    samples = sampled([3.0, 1.0, 2.0], {0: np.inf, 1: 5.0})
    np.testing.assert_array_equal(reevaluated(samples), [1])


def test_merged_order_takes_the_mean_of_both_ranks() -> None:
    """The best candidate falls to the end on a re-evaluation: it ends up in the middle."""
    samples = sampled([0.0, 1.0, 2.0, 3.0, 4.0], {0: 9.0})
    order = merged_order(samples, reevaluated(samples))
    assert list(order).index(0) in (1, 2)
    assert sorted(order.tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
def test_reliability_is_the_correlation_of_two_values(noise: float) -> None:
    rng = np.random.default_rng(5)
    truth = rng.standard_normal((400, 40, 1))
    values = truth + noise * rng.standard_normal((400, 40, 2))
    q = np.mean([moves(Samples(v), np.arange(40)).mean() for v in values])
    assert reliability(float(q)) == pytest.approx(1.0 / (1.0 + noise**2), abs=0.04)


def test_reliability_stays_between_noise_and_truth() -> None:
    assert reliability(0.0) == 1.0
    assert reliability(1.0) == pytest.approx(0.0, abs=1e-12)
    assert reliability(1.4) == pytest.approx(0.0, abs=1e-12)
