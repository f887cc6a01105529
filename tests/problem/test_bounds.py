"""Bounds as scipy reads them: plain pairs are pairs, and (low, high) is spelled otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds

import noisewise as nw

_GOOD: dict[str, Any] = {"budget": 30, "sigma0": 0.5, "rng": 0}


def read(bounds: Any, d: int = 2) -> tuple[list[float], list[float]]:
    box = nw.Optimizer([1.0] * d, bounds=bounds, **_GOOD)._run.setup.box
    return box.low.tolist(), box.high.tolist()


@pytest.mark.parametrize("outer", [list, tuple])
@pytest.mark.parametrize("inner", [list, tuple])
@given(
    st.lists(
        st.tuples(st.floats(-9, 1), st.floats(1, 9)).filter(lambda p: p[0] < p[1]),
        min_size=1,
        max_size=5,
    )
)
def test_a_plain_sequence_of_pairs_is_pairs(
    outer: Any, inner: Any, pairs: list[tuple[float, float]]
) -> None:
    bounds = outer(inner(pair) for pair in pairs)
    low, high = [p[0] for p in pairs], [p[1] for p in pairs]
    assert read(bounds, len(pairs)) == (low, high)
    assert read(np.array(pairs), len(pairs)) == (low, high)
    assert read(Bounds(low, high), len(pairs)) == (low, high)


def test_two_pairs_in_a_tuple_are_pairs() -> None:
    assert nw.Optimizer(budget=9, bounds=((0, 1), (2, 3))).recommend().x.tolist() == [0.5, 2.5]


@pytest.mark.parametrize(
    ("bounds", "d", "low", "high"),
    [
        ((np.array([-1, -2]), np.array([3, 4])), 2, [-1, -2], [3, 4]),
        ([np.array([-1, -2]), np.array([3, 4])], 2, [-1, -2], [3, 4]),
        (([-1, -2, -3], [3, 4, 5]), 3, [-1, -2, -3], [3, 4, 5]),
        (((-1, -2, -3), (3, 4, 5)), 3, [-1, -2, -3], [3, 4, 5]),
        (([-1], [3]), 2, [-1, -1], [3, 3]),
        ((-1, [3, 4]), 2, [-1, -1], [3, 4]),
        (([-1, -2], 4), 2, [-1, -2], [4, 4]),
        ((np.zeros(3), [3, 4, 5]), 3, [0, 0, 0], [3, 4, 5]),
        ([np.array([-1, 3])] * 3, 3, [-1] * 3, [3] * 3),
        (np.array([[-1, -2, -3], [3, 4, 5]]), 3, [-1, -2, -3], [3, 4, 5]),
        (np.array([-1, 4]), 2, [-1, -1], [4, 4]),
        ([-1, 4], 2, [-1, -1], [4, 4]),
    ],
    ids=repr,
)
def test_low_and_high(bounds: Any, d: int, low: list[float], high: list[float]) -> None:
    assert read(bounds, d) == (low, high)


@pytest.mark.parametrize(
    "bounds",
    [
        [(1, 1), (2, 2)],
        ((0, 0), (1, 1)),
        ([0, 0], [1, 1]),
        ([0, 1], [2, 2]),
        ((0.0, 0.0), (1.0, 3.0)),
        ([-1, -1], [None, 1]),
    ],
    ids=repr,
)
def test_what_could_be_either_is_refused_with_both_spellings(bounds: Any) -> None:
    """Low and high of two coordinates, or two pairs of which one leaves nothing to search?"""
    with pytest.raises(ValueError, match=r"^bounds .* two pairs .* got ") as caught:
        nw.Optimizer(budget=9, bounds=bounds)
    said = str(caught.value)
    a, b = bounds
    assert f"np.array([{list(a)}, {list(b)}])" in said
    assert f"(np.array({list(a)}), np.array({list(b)}))" in said


def test_one_plain_side_and_one_array_of_two() -> None:
    with pytest.raises(ValueError, match=r"^bounds .* two pairs .* got "):
        nw.Optimizer(budget=9, bounds=([0, 1], np.array([2, 3])))


@pytest.mark.parametrize("bounds", [((0, 1), (2, 3)), [(0, 1), (2, 3)], ((0, 3), (1, 2))])
def test_both_spellings_of_the_message_work(bounds: Any) -> None:
    a, b = bounds
    pairs, sides = np.array([list(a), list(b)]), (np.array(a), np.array(b))
    assert nw.Optimizer(budget=9, bounds=pairs).recommend().x.tolist() == [sum(a) / 2, sum(b) / 2]
    if a[1] < b[1]:
        middle = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2]
        assert nw.Optimizer(budget=9, bounds=sides).recommend().x.tolist() == middle
