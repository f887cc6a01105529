"""Expected weights for users of other libraries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from noisewise._types import FloatArray
from noisewise.cma.weights import Log, Uniform
from noisewise.weights import expected_weights, mu_eff

_VALUES = hnp.arrays(float, st.integers(1, 12), elements=st.floats(-1e6, 1e6))


@given(values=_VALUES)
def test_without_uncertainty_weights_are_those_of_the_ranks(values: FloatArray) -> None:
    found = expected_weights(values, 0.0)
    order = values.argsort(kind="stable")
    np.testing.assert_array_equal(found[order], Log().weights(len(values)))


@given(
    draws=hnp.arrays(
        float, st.tuples(st.integers(1, 9), st.integers(1, 8)), elements=st.floats(-9, 9)
    ),
    profile=st.sampled_from(["log", "uniform", "active", "array"]),
)
def test_the_naive_double_loop(draws: FloatArray, profile: str) -> None:
    b, k = draws.shape
    w: Any = profile if profile != "array" else np.linspace(1.0, -1.0, k)
    handed_out = {"log": Log(), "uniform": Uniform(), "active": Log(active=True)}
    by_rank = w if profile == "array" else handed_out[profile].weights(k)
    slow = np.zeros(k)
    for row in draws:
        for i in range(k):
            better = sum(row[j] < row[i] or (row[j] == row[i] and j < i) for j in range(k))
            slow[i] += by_rank[better] / b
    found = expected_weights(draws=draws, profile=w)
    np.testing.assert_allclose(found, slow, atol=1e-12)
    assert found.sum() == pytest.approx(by_rank.sum(), abs=1e-9)


def test_gaussian_errors_of_two_candidates() -> None:
    """The better of two is better with probability Phi(gap / sqrt(s_1^2 + s_2^2))."""
    found = expected_weights([0.0, 1.0], [0.6, 0.8], profile=[1.0, 0.0], n=200_000, rng=0)
    assert found[0] == pytest.approx(0.5 * (1.0 + math.erf(1.0 / math.sqrt(2.0))), abs=0.005)


def test_order_of_candidates_and_a_common_shift_do_not_matter() -> None:
    values, s = np.array([3.0, 1.0, 2.0, 9.0]), np.array([0.5, 0.1, 0.9, 2.0])
    found = expected_weights(values, s, n=100_000, rng=1)
    turned = expected_weights(values[::-1] + 7.0, s[::-1], n=100_000, rng=2)
    np.testing.assert_allclose(found, turned[::-1], atol=0.01)


@pytest.mark.parametrize("missing", [np.nan, np.inf])
def test_failed_candidates_get_no_positive_weight(missing: float) -> None:
    found = expected_weights([2.0, missing, 1.0, missing, missing], 0.3, rng=0)
    assert (found[[1, 3, 4]] == 0.0).all()
    assert found.sum() == pytest.approx(1.0)
    half = expected_weights([missing, missing, 1.0], 0.0, profile=[0.3, 0.2, 0.0])
    np.testing.assert_allclose(half, [0.0, 0.0, 0.5])


def test_the_same_seed_gives_the_same_weights() -> None:
    first, second = (expected_weights([1.0, 2.0, 3.0], 1.0, rng=5) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    rng = np.random.default_rng(5)
    one, two = (expected_weights([1.0, 2.0, 3.0], 1.0, rng=rng) for _ in range(2))
    assert (one != two).any()  # a generator moves on


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "values and scale, or draws, must be given"),
        ({"values": [1.0]}, "values and scale, or draws, must be given"),
        ({"values": [1.0], "scale": 1.0, "draws": [[1.0]]}, "must not be given with draws"),
        ({"values": [[1.0]], "scale": 1.0}, "values must be one number per candidate"),
        ({"values": [1.0, 2.0], "scale": [1.0]}, r"scale must be one number or one per .* \(2\)"),
        ({"values": [1.0, 2.0], "scale": -1.0}, "scale must be finite and not negative"),
        ({"values": ["a"], "scale": 1.0}, "values must be real numbers"),
        ({"draws": [1.0, 2.0]}, r"draws must have shape \(rankings, candidates\)"),
        (
            {"draws": [[1.0, 2.0]], "profile": [1.0]},
            r"profile must have one weight per cand.* \(2\)",
        ),
        ({"draws": [[1.0, 2.0]], "profile": "steep"}, "profile must be one of"),
        ({"values": [1.0], "scale": 1.0, "n": 0}, "n must be a whole number of at least 1"),
    ],
)
def test_what_makes_no_sense(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        expected_weights(**given)


def test_effective_parents() -> None:
    assert mu_eff([0.25] * 4) == pytest.approx(4.0)
    assert mu_eff([0.5, 0.5, -0.5, -0.5]) == pytest.approx(2.0)
