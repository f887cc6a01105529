"""Where the newest entries of a ring go."""

from __future__ import annotations


def places(inserted: int, capacity: int, n: int) -> list[tuple[slice, slice]]:
    """Slices of a ring of ``capacity``, with the slices of ``n`` new entries that go there, after
    ``inserted`` earlier ones. Of more entries than the ring holds, the newest stay.

    >>> places(inserted=5, capacity=4, n=2)
    [(slice(1, 3, None), slice(0, 2, None))]
    >>> places(inserted=7, capacity=4, n=2)
    [(slice(3, 4, None), slice(0, 1, None)), (slice(0, 1, None), slice(1, 2, None))]
    """
    skip = max(0, n - capacity)
    start = (inserted + skip) % capacity
    end = start + n - skip
    if end <= capacity:
        return [(slice(start, end), slice(skip, n))]
    turn = skip + capacity - start
    return [(slice(start, capacity), slice(skip, turn)), (slice(0, end - capacity), slice(turn, n))]
