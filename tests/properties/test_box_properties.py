"""The box: repair, scaling and what the user sees."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisewise.problem.box import Box

_SIDE = st.floats(-1e6, 1e6, allow_subnormal=False)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    d = draw(st.integers(1, 5))
    low, high = np.full(d, -np.inf), np.full(d, np.inf)
    for j in range(d):
        kind = draw(st.sampled_from(["none", "low", "high", "both"]))
        start = draw(_SIDE)
        width = draw(st.floats(1e-6, 1e6))
        if kind in ("low", "both"):
            low[j] = start
        if kind in ("high", "both"):
            high[j] = start + width
    return Box.of(low, high)


@given(box=boxes(), seed=st.integers(0, 1000), spread=st.sampled_from([1e-6, 1.0, 1e7]))
def test_repair_and_outer(box: Box, seed: int, spread: float) -> None:
    U = np.random.default_rng(seed).normal(scale=spread, size=(6, len(box.low)))
    repaired = box.repaired(U)
    np.testing.assert_array_equal(box.repaired(repaired), repaired)
    X = box.outer(repaired)
    np.testing.assert_array_equal(np.clip(X, box.low, box.high), X)
    # What lay inside stays where it was.
    inside = (box.outer(U) == U * box.scale).all(axis=1)
    np.testing.assert_allclose(X[inside], (U * box.scale)[inside], rtol=1e-14)


@given(box=boxes(), seed=st.integers(0, 1000))
def test_there_and_back(box: Box, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = np.where(np.isfinite(box.low), box.low, np.minimum(box.high, 10.0) - 1.0)
    high = np.where(np.isfinite(box.high), box.high, low + 1.0)
    x = low + rng.random(len(low)) * (high - low)
    x = np.clip(x, box.low, box.high)
    back = box.outer(box.inner(x))
    np.testing.assert_allclose(back, x, rtol=1e-14, atol=0.0)
    one_row = box.outer(box.inner(x)[None])
    np.testing.assert_array_equal(one_row[0], back)


@given(box=boxes())
def test_scales(box: Box) -> None:
    """Two-sided coordinates are as wide as the smallest of them; open ones keep their units."""
    width = box.high - box.low
    closed = np.isfinite(width)
    assert (box.scale[~closed] == 1.0).all()
    if closed.any():
        np.testing.assert_allclose(width[closed] / box.scale[closed], width[closed].min())


def test_outer_returns_a_copy() -> None:
    for side in (np.inf, 3.0):
        box = Box.of(np.full(2, -side), np.full(2, side))
        U = np.zeros((3, 2))
        box.outer(U)[:] = 5.0
        assert (U == 0.0).all()
