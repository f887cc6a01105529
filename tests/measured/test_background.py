"""Evidence about the noise: determinism, discrete outcomes, tails, skew."""

from __future__ import annotations

import numpy as np
import pytest

from noisewise.measured.evidence import Evidence, Shape, skewness


def shape(draw: str, seed: int, rounds: int = 20) -> Shape:
    rng, found = np.random.default_rng(seed), Shape()
    for _ in range(rounds):
        normal = rng.normal(size=12)
        landscape = 4.0 * rng.normal(size=12) ** 2
        found = found.add(
            {
                "gaussian": normal,
                "t3": rng.standard_t(3.0, 12),
                "lognormal": np.exp(normal),
                "landscape": landscape,
                "landscape and t3": landscape + rng.standard_t(3.0, 12),
                "cauchy": rng.standard_cauchy(12),
                "landscape and cauchy": 0.2 * landscape + rng.standard_cauchy(12),
            }[draw]
        )
    return found


@pytest.mark.parametrize("law", ["gaussian", "t3", "lognormal", "landscape", "landscape and t3"])
def test_laws_with_a_mean_are_not_taken_for_cauchy(law: str) -> None:
    assert sum(shape(law, seed).heavy for seed in range(30)) <= 1


@pytest.mark.parametrize("law", ["cauchy", "landscape and cauchy"])
def test_cauchy_is_recognised(law: str) -> None:
    assert sum(shape(law, seed).heavy for seed in range(30)) >= 27


def test_the_skew_of_the_noise_is_seen() -> None:
    assert abs(shape("gaussian", 1).skew) < 0.4
    assert shape("lognormal", 1).skew > 0.9


def test_few_values_say_nothing_about_tails() -> None:
    rng = np.random.default_rng(0)
    assert not any(Shape().add(rng.standard_cauchy(50)).heavy for _ in range(50))


def test_failures_and_constant_groups_are_ignored() -> None:
    start = Shape()
    assert start.add(np.full(20, np.inf)) is start
    assert start.add(np.ones(20)) is start


def test_skewness_is_the_third_standardised_moment() -> None:
    y = np.random.default_rng(2).exponential(size=40)
    d = y - y.mean()
    assert skewness(y) == pytest.approx((d**3).mean() / (d**2).mean() ** 1.5)
    assert skewness(np.ones(5)) == 0.0


def test_evidence_does_not_depend_on_location_and_scale() -> None:
    rng = np.random.default_rng(3)
    y = rng.standard_t(2.0, 50)
    a, b = Shape().add(y), Shape().add(1e6 + 1e3 * y)
    assert (a.low, a.high, a.skew) == pytest.approx((b.low, b.high, b.skew), rel=1e-6)


def test_a_run_without_repeats_is_untested() -> None:
    seen = Evidence().saw(np.arange(20.0))
    assert seen.untested
    assert not seen.deterministic


def test_one_agreeing_repeat_of_a_continuous_objective_is_determinism() -> None:
    seen = Evidence().saw(np.arange(20.0)).compared(np.array([[1.0, 1.0], [2.0, np.nan]]))
    assert (seen.agreed, seen.differed) == (1, 0)
    assert seen.deterministic
    assert not seen.compared(np.array([[1.0, 1.5]])).deterministic


def test_wins_need_many_agreeing_repeats() -> None:
    wins = Evidence().saw(np.array([0.0, 1.0] * 20))
    assert not wins.compared(np.ones((5, 2))).deterministic
    assert wins.compared(np.ones((5, 2))).untested
    assert not wins.compared(np.ones((50, 2))).deterministic  # where losses are rare
    assert wins.compared(np.repeat([[0.0], [1.0]], 6, axis=0) * np.ones(2)).deterministic


def test_failures_are_not_compared() -> None:
    seen = Evidence().compared(np.array([[1.0, np.inf], [np.inf, np.inf]]))
    assert (seen.agreed, seen.differed) == (0, 0)


def test_many_values_are_continuous() -> None:
    rng = np.random.default_rng(0)
    seen = Evidence()
    for _ in range(10):
        seen = seen.saw(rng.normal(size=10))
    assert not seen.discrete
    assert len(seen.levels) == 0
    assert len(seen.listed) == 21
