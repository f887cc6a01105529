"""A ring holds the newest entries, each in its place."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisewise.measured.noise import places


@given(capacity=st.integers(1, 9), sizes=st.lists(st.integers(0, 25), max_size=8))
def test_a_ring_holds_the_newest_entries(capacity: int, sizes: list[int]) -> None:
    """Entry number i stands at i modulo the capacity, as if they had come one by one."""
    ring, inserted = np.full(capacity, -1), 0
    for n in sizes:
        entries = np.arange(inserted, inserted + n)
        for place, part in places(inserted, capacity, n):
            ring[place] = entries[part]
        inserted += n
    expected = np.full(capacity, -1)
    for i in range(inserted):
        expected[i % capacity] = i
    np.testing.assert_array_equal(ring, expected)
