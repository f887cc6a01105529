"""Margins: the least deviation at which a coordinate still leaves its cell."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

import noisewise as nw
from noisewise._types import FloatArray
from noisewise.core.margin import least_deviations, margin, widened
from noisewise.space import Choice, Float, Int

_ENDS = st.one_of(st.just(math.inf), st.floats(1e-6, 1e6))


def leaving(below: float, above: float, s: float) -> float:
    """Probability of leaving the cell, from the normal distribution itself."""
    return float(norm.cdf(-below / s) + norm.sf(above / s))


@given(
    st.lists(st.tuples(st.floats(-5, 5), _ENDS, _ENDS), min_size=1, max_size=6),
    st.integers(2, 10**6),
)
def test_it_is_the_smallest_deviation_with_the_margin(
    cells: list[tuple[float, float, float]], k: int
) -> None:
    """Against a root found for one coordinate at a time."""
    alpha = margin(len(cells), k)
    mean, below, above = (np.array(column) for column in zip(*cells, strict=True))
    found = least_deviations(mean, mean - below, mean + above, alpha)
    for j in range(len(cells)):
        # As far as the ends are from the mean in floating point.
        a, b = mean[j] - (mean[j] - below[j]), (mean[j] + above[j]) - mean[j]
        near = min(a, b)
        if not 0.0 < near < math.inf:
            assert found[j] == 0.0
            continue
        root = brentq(
            lambda s, a=a, b=b: math.log(leaving(a, b, s) / alpha),
            near / -norm.ppf(alpha / 2) / 1.01,
            near / -norm.ppf(alpha) * 1.01,
        )
        assert found[j] == pytest.approx(root, rel=1e-6)
        assert leaving(a, b, found[j]) >= alpha * (1.0 - 1e-9)


def test_known_deviations() -> None:
    """In the middle of a cell both ends count, at the border of the range one."""
    mean, low, high = np.array([0.5, 0.5, 0.5]), np.array([0.0, -np.inf, -np.inf]), np.ones(3)
    high[2] = np.inf
    s = least_deviations(mean, low, high, 0.05)
    assert s == pytest.approx([0.5 / norm.ppf(0.975), 0.5 / norm.ppf(0.95), 0.0])


def test_on_the_border_and_beyond_no_deviation_is_asked_for() -> None:
    s = least_deviations(np.array([1.0, 1.2]), np.zeros(2), np.ones(2), 0.1)
    assert s.tolist() == [0.0, 0.0]


def test_margins() -> None:
    assert margin(5, 10) == 1.0 / 50.0
    assert margin(1, 2) == 0.4


@given(st.integers(1, 5), st.integers(0, 99))
def test_widened_candidates_have_the_least_deviation(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mean, deviations, least = rng.normal(size=n), rng.random(n), rng.random(n)
    X = mean + deviations * rng.normal(size=(40, n))
    W = widened(X, mean, deviations, least)
    for j in range(n):
        factor = max(1.0, least[j] / deviations[j])
        np.testing.assert_allclose(W[:, j], mean[j] + factor * (X[:, j] - mean[j]))
    wide = np.maximum(deviations, least)
    assert widened(X, mean, wide, least) is X


def values_at(space: nw.Space, x: FloatArray) -> str:
    return repr(space.decode(np.clip(x, 0.0, 1.0)))


@given(st.lists(st.floats(0.0, 1.0), min_size=8, max_size=8))
def test_the_cell_of_a_space_is_where_its_values_stay(x: list[float]) -> None:
    """Just inside of an end the values are the same, just outside they are not."""
    space = nw.Space(
        {
            "x": Float(0, 1),
            "n": Int(1, 9),
            "log": Int(1, 99, log=True),
            "step": Float(0.0, 1.0, step=0.3),
            "steps": Int(0, 9, step=2),
            "one": [5],
            "kind": Choice(("a", "b", "c")),
        }
    )
    at = np.array(x)
    low, high = space.cells(at)
    assert low.shape == high.shape == (8,)
    assert (low[0], high[0]) == (-np.inf, np.inf)
    here = values_at(space, at)
    for j in range(1, 8):
        for end, side in ((low[j], -1.0), (high[j], 1.0)):
            moved = at.copy()
            if math.isinf(end):
                moved[j] = 0.5 + side * 0.5
                if j < 5:  # a choice at the end of its range may tie
                    assert values_at(space, moved) == here
                continue
            assert side * (end - at[j]) >= -1e-12
            moved[j] = end - side * 1e-9
            if side * (moved[j] - at[j]) > 0.0:
                assert values_at(space, moved) == here
            moved[j] = end + side * 1e-9
            assert values_at(space, moved) != here


def test_a_distribution_far_narrower_than_a_cell_still_leaves_it() -> None:
    """Of n coordinates and k candidates, about one coordinate of one candidate."""
    n, k = 4, 20
    space = nw.Space({f"n{i}": Int(0, 9) for i in range(n)})
    mean = space.encode({f"n{i}": i + 3 for i in range(n)})
    deviations = np.full(n, 1e-8)
    least = least_deviations(mean, *space.cells(mean), margin(n, k))
    rng = np.random.default_rng(0)
    X = mean + deviations * rng.normal(size=(4000, n))
    changed = [values_at(space, x) != values_at(space, mean) for x in X]
    assert not any(changed)
    changed = [
        values_at(space, x) != values_at(space, mean) for x in widened(X, mean, deviations, least)
    ]
    assert np.mean(changed) == pytest.approx(1.0 / k, rel=0.2)
