"""Start, bounds and step size of a problem: where a limit is, and what lies on either side."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.cma.strategy import SIGMA_MAX, SIGMA_MIN
from noisewise.problem.box import FARTHEST
from noisewise.problem.given import describe, generators, plain, seed

INF = math.inf


@pytest.mark.parametrize(
    ("x0", "bounds", "sigma0", "start", "sigma"),
    [
        # The step size is three tenths of the smallest width, in whose units the box is scaled.
        ([1.0, 1.0], [(0, 2), (0, 10)], None, [1.0, 0.2], 0.6),
        (None, [(0, 2), (0, 10)], None, [1.0, 1.0], 0.6),  # the middle
        ([1.0, 1.0], [(0, 2), (0, 10)], 0.25, [1.0, 0.2], 0.25),
        ([1.0, 7.0], None, 0.25, [1.0, 7.0], 0.25),
        ([1.0, 7.0], [(0, 2), (0, INF)], 0.25, [1.0, 7.0], 0.25),
        # A start that lies outside by rounding is moved.
        ([2.0 + 1.9e-9, 1.0], [(0, 2), (0, 10)], None, [2.0, 0.2], 0.6),
        ([-1.9e-9, 1.0], [(0, 2), (0, 10)], None, [0.0, 0.2], 0.6),
        ([10.0 + 9e-9, 1.0], [(-INF, 10), (0, 10)], 1.0, [10.0, 1.0], 1.0),
        (
            [1.0, 3.0, 2.0],
            [(0, 2), (3, 3), (0, 4)],
            None,
            [1.0, 1.0],
            0.6,
        ),  # the second is fixed
    ],
)
def test_what_is_searched(
    x0: Any, bounds: Any, sigma0: Any, start: list[float], sigma: float
) -> None:
    _, x, found = describe(x0, bounds, sigma0)
    np.testing.assert_allclose(x, start)
    assert found == pytest.approx(sigma)


@pytest.mark.parametrize(
    ("x0", "bounds", "sigma0", "said"),
    [
        ([2.0 + 2.1e-9], [(0, 2)], None, "x0 must lie inside the bounds"),
        ([-2.1e-9], [(0, 2)], None, "x0 must lie inside the bounds"),
        ([10.0 + 1.1e-8], [(-INF, 10)], 1.0, "x0 must lie inside the bounds"),
        (None, [(0, 1e-60), (0, 1.1e140)], None, "less than 1e\\+200 times each other"),
        ([1.0], [(0, INF)], None, "sigma0, the first step size, is required"),
        ([1.0, 1.0], np.array([[0, 1], [2, 2]]), None, "x0 must lie inside"),
        (None, np.array([[1, 1], [2, 2]]), None, "at least one coordinate"),
        (None, [(0, 1), (2, 1)], None, "low < high, or low == high to fix"),
        ([0.0], [(INF, INF)], 1.0, "low < high, or low == high to fix"),
        ([1.0], None, 0.0, "sigma0 must be a positive"),
        (None, None, 1.0, "x0"),
    ],
)
def test_what_cannot_be_searched(x0: Any, bounds: Any, sigma0: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        describe(x0, bounds, sigma0)


def test_limits_of_sizes() -> None:
    """What is just within them is searched."""
    narrowest = 10.0 * SIGMA_MIN
    describe([0.0, 0.0], [(0, 1e-60), (0, 0.9e140)], None)
    with pytest.raises(ValueError, match=r"less than 1e\+200 times"):
        describe([0.0, 0.0], [(0, 1e-60), (0, 1.1e140)], None)
    describe([0.0], [(0, 1.01 * narrowest)], None)
    with pytest.raises(ValueError, match="apart, or equal"):
        describe([0.0], [(0, 0.99 * narrowest)], None)
    for size in (0.99 * FARTHEST, -0.99 * FARTHEST):
        describe([size], None, 1.0)
        with pytest.raises(ValueError, match="x0 must be within"):
            describe([size * 1.02], None, 1.0)
    describe([0.0], [(-0.99 * FARTHEST, INF)], 1.0)
    with pytest.raises(ValueError, match="bounds must be within"):
        describe([0.0], [(-1.01 * FARTHEST, INF)], 1.0)
    for size in (SIGMA_MIN, SIGMA_MAX):
        assert describe([0.0], None, size)[2] == size
    for size in (0.5 * SIGMA_MIN, 2.0 * SIGMA_MAX):
        with pytest.raises(ValueError, match="sigma0 must be between"):
            describe([0.0], None, size)


def test_streams_follow_from_the_seed() -> None:
    def drawn(rng: Any) -> list[float]:
        return [float(stream.random()) for stream in generators(rng)]

    assert drawn(3) == drawn(np.int64(3)) == drawn(np.random.SeedSequence(3))
    assert len(set(drawn(3) + drawn(4))) == 4
    assert drawn(None) != drawn(None)
    assert drawn(np.random.default_rng(3)) == drawn(np.random.default_rng(3))
    other = np.random.Generator(np.random.MT19937(3))
    streams = generators(other)
    assert {type(s.bit_generator) for s in streams} == {np.random.PCG64}
    assert len({float(s.random()) for s in streams}) == 2
    for wrong in (-1, True, 1.5, "x"):
        with pytest.raises(ValueError, match="rng must be None"):
            generators(wrong)
    assert (seed(7), seed(np.int64(7)), seed(None)) == (7, 7, None)


def test_extra_is_a_copy_of_plain_data() -> None:
    given = {"a": [1, 2.5, None, "x"], "b": {"c": True}}
    kept = plain(given)
    assert kept == given
    given["a"] = []
    assert kept["a"] == [1, 2.5, None, "x"]
    assert plain(None) == {}
    for wrong in ([1], {"a": object()}, {"a": lambda: 0}):
        with pytest.raises(ValueError, match="extra must be"):
            plain(wrong)


def test_a_default_start_is_the_middle_of_the_box() -> None:
    opt = nw.Optimizer(bounds=[(0.0, 4.0), (2.0, 3.0)], budget=30, method="cma-es", rng=0)
    np.testing.assert_allclose(opt.result().x, [2.0, 2.5])
