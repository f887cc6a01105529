"""Bounds as users write them, read as scipy does: a sequence of pairs, or (low, high)."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._check import real_array, shown
from noisewise._types import FloatArray


def read(bounds: Any, n: int | None) -> tuple[FloatArray, FloatArray] | None:
    """Low and high, one entry per coordinate, infinite where open; None without bounds. ``n`` is
    the number of coordinates, if known otherwise.

    A plain sequence of pairs and an array of shape (d, 2) are pairs. (low, high) are two scalars,
    two arrays, two plain sequences of another length than two, or ``scipy.optimize.Bounds``.
    """
    if bounds is None:
        return None
    try:
        pairs = _as_pairs(bounds)
        sides = _as_sides(bounds) if pairs is None else pairs
        low, high = (_side(s, fill) for s, fill in zip(sides, (-np.inf, np.inf), strict=True))
        twofold = _is_twofold(bounds)
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds must be (low, high), a list of (low, high) pairs or "
            f"scipy.optimize.Bounds, got {shown(bounds)}"
        ) from None
    if twofold:
        raise _twofold_error(bounds)
    if pairs is not None and n not in (None, low.size):
        raise ValueError(f"bounds must have one pair per coordinate ({n}), got {shown(bounds)}")
    size = n if n is not None else max(low.size, high.size)
    for side in (low, high):
        if side.size not in (1, size):
            raise ValueError(f"bounds must have one entry or {size}, got {side.size}")
    low, high = (np.broadcast_to(side, (size,)).astype(float) for side in (low, high))
    if np.isnan(low).any() or np.isnan(high).any():
        raise ValueError(f"bounds must not be nan, got {shown(bounds)}")
    return low, high


def _is_pair(item: Any) -> bool:
    return isinstance(item, (list, tuple)) and len(item) == 2


def _is_array_of_two(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.shape == (2,)


def _as_pairs(bounds: Any) -> tuple[Any, Any] | None:
    """Low and high sides of a sequence of pairs; None if it is not one. Two arrays are low and
    high."""
    if isinstance(bounds, np.ndarray):
        return (bounds[:, 0], bounds[:, 1]) if bounds.shape[1:] == (2,) else None
    if not isinstance(bounds, (list, tuple)) or not bounds:
        return None
    arrays = len(bounds) != 2
    if not all(_is_pair(item) or (arrays and _is_array_of_two(item)) for item in bounds):
        return None
    return [pair[0] for pair in bounds], [pair[1] for pair in bounds]


def _as_sides(bounds: Any) -> tuple[Any, Any]:
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):  # scipy.optimize.Bounds
        return bounds.lb, bounds.ub
    low, high = bounds
    return low, high


def _is_twofold(bounds: Any) -> bool:
    """Whether two items of two entries may be pairs as well as low and high: a pair leaves
    nothing to search while the other reading does, or one item is an array and the other not."""
    if not isinstance(bounds, (list, tuple)) or len(bounds) != 2:
        return False
    plain = [_is_pair(item) for item in bounds]
    if not all(plain):
        return any(plain) and any(map(_is_array_of_two, bounds))
    low, high = _side(bounds[0], -np.inf), _side(bounds[1], np.inf)
    return any(a is not None and a == b for a, b in bounds) and bool((low < high).all())


def _side(side: Any, fill: float) -> FloatArray:
    """One side as a scalar or one-dimensional array that is not empty; None is open."""
    entries = np.asarray(side, dtype=object)
    array = real_array(np.where(entries == None, fill, entries))  # noqa: E711 - elementwise
    if array.ndim > 1 or array.size == 0:
        raise ValueError("not one entry per coordinate")
    return array


def _twofold_error(bounds: Any) -> ValueError:
    a, b = (shown(list(item), 80) for item in bounds)
    return ValueError(
        f"bounds of two coordinates could be two pairs or (low, high): write np.array([{a}, {b}]) "
        f"for pairs or (np.array({a}), np.array({b})) for (low, high), got {shown(bounds)}"
    )
