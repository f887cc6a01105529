"""Populations that take in further candidates."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from noisewise.measured.population import _widened


@pytest.mark.parametrize(
    ("seeds", "k", "slots", "widened"),
    [
        ([[3], [4]], 2, 3, [[3, -1, -1], [4, -1, -1]]),
        ([[3, 5]], 1, 2, [[3, 5]]),
        (np.empty((0, 1)), 2, 2, [[-1, -1], [-1, -1]]),
    ],
)
def test_evaluations_to_come_have_no_seed_yet(
    seeds: list[list[int]], k: int, slots: int, widened: list[list[int]]
) -> None:
    assert_array_equal(_widened(np.array(seeds, dtype=int), k, slots), widened)
