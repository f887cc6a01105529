"""The user's arguments, checked and turned into what the library works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._check import positive_real
from noisewise._types import FloatArray
from noisewise.core.box import Box

#: Default step size as a fraction of the smallest width.
SIGMA0_FRACTION = 0.3


@dataclass(frozen=True)
class Start:
    """Where the search starts: box, mean (inner coordinates) and step size."""

    box: Box
    mean: FloatArray
    sigma: float


def start(x0: Any, bounds: Any, sigma0: Any) -> Start:
    """Check ``x0``, ``bounds`` and ``sigma0`` against each other and fill in the defaults."""
    x = None if x0 is None else _x0(x0)
    low, high = _bounds(bounds, None if x is None else len(x))
    if x is None:
        if low is None or high is None or not np.isfinite([low, high]).all():
            raise ValueError("x0 is required unless bounds are finite on both sides, got None")
        x = 0.5 * low + 0.5 * high
    if low is None or high is None:
        low, high = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    if ((x < low) | (x > high)).any():
        j = int(np.flatnonzero((x < low) | (x > high))[0])
        raise ValueError(
            f"x0 must lie inside the bounds, got x0[{j}] = {x[j]:g} outside "
            f"[{low[j]:g}, {high[j]:g}]"
        )
    box = Box.of(low, high)
    width = box.smallest_width
    if sigma0 is None:
        if not np.isfinite(width):
            raise ValueError("sigma0 is required where a bound is missing, got None")
        sigma = SIGMA0_FRACTION * width
    else:
        sigma = positive_real("sigma0", sigma0)
    return Start(box, box.inner(x), sigma)


def generators(rng: Any) -> tuple[np.random.Generator, np.random.Generator]:
    """Two independent streams, for the search and for bootstrap draws, from one ``rng``."""
    if isinstance(rng, np.random.Generator):
        search, bootstrap = rng.spawn(2)
        kinds = {type(search.bit_generator), type(bootstrap.bit_generator)}
        if kinds != {np.random.PCG64}:  # a stream of our own kind can be saved and restored
            search, bootstrap = (np.random.Generator(np.random.PCG64(s)) for s in _seeds(rng))
        return search, bootstrap
    if rng is None or isinstance(rng, np.random.SeedSequence):
        sequence = rng if rng is not None else np.random.SeedSequence()
    elif isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        sequence = np.random.SeedSequence(int(rng))
    else:
        raise ValueError(
            "rng must be None, a non-negative whole number, a numpy SeedSequence or a numpy "
            f"Generator, got {rng!r}"
        )
    search, bootstrap = (np.random.Generator(np.random.PCG64(s)) for s in sequence.spawn(2))
    return search, bootstrap


def _seeds(rng: np.random.Generator) -> list[np.random.SeedSequence]:
    words = rng.integers(0, 2**32, size=8, dtype=np.uint32)
    return np.random.SeedSequence([int(w) for w in words]).spawn(2)


def _x0(x0: Any) -> FloatArray:
    try:
        x = np.array(x0, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"x0 must be a sequence of numbers, got {x0!r}") from None
    if x.ndim != 1 or len(x) == 0:
        raise ValueError(f"x0 must be one-dimensional and not empty, got shape {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError(f"x0 must be finite, got {x!r}")
    return x


def _bounds(bounds: Any, n: int | None) -> tuple[FloatArray | None, FloatArray | None]:
    if bounds is None:
        return None, None
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):  # scipy.optimize.Bounds
        pair = (bounds.lb, bounds.ub)
    else:
        pair = _pair(bounds)
    try:
        low, high = (_side(side, fill) for side, fill in zip(pair, (-np.inf, np.inf), strict=True))
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds must be (low, high), a list of (low, high) pairs or "
            f"scipy.optimize.Bounds, got {bounds!r}"
        ) from None
    size = n if n is not None else max(low.size, high.size)
    for side in (low, high):
        if side.ndim > 1 or side.size not in (1, size):
            raise ValueError(f"bounds must have one entry or {size}, got {side.size}")
    low, high = (np.broadcast_to(side, (size,)).astype(float) for side in (low, high))
    if np.isnan(low).any() or np.isnan(high).any():
        raise ValueError(f"bounds must not be nan, got {bounds!r}")
    if (low >= high).any():
        j = int(np.flatnonzero(low >= high)[0])
        raise ValueError(
            f"bounds must have low < high, got [{low[j]:g}, {high[j]:g}] for coordinate {j}"
        )
    if (low == np.inf).any() or (high == -np.inf).any():
        raise ValueError(f"bounds must leave room, got {bounds!r}")
    return low, high


def _pair(bounds: Any) -> Any:
    """(low, high) from either of the two layouts; two pairs in two dimensions are pairs."""
    items = list(bounds)
    pairs = all(isinstance(item, (list, tuple)) and len(item) == 2 for item in items)
    if pairs and isinstance(bounds, (list, tuple)) and not (len(items) == 2 and _is_sides(bounds)):
        return [p[0] for p in items], [p[1] for p in items]
    if isinstance(bounds, np.ndarray) and bounds.ndim == 2 and bounds.shape[1] == 2:
        return bounds[:, 0], bounds[:, 1]
    return items


def _is_sides(bounds: Any) -> bool:
    """Two pairs are read as a list of pairs if it is a list, as (low, high) if a tuple."""
    return isinstance(bounds, tuple)


def _side(side: Any, fill: float) -> FloatArray:
    if side is None:
        return np.array(fill)
    if isinstance(side, (list, tuple)):
        side = [fill if s is None else s for s in side]
    return np.asarray(side, dtype=float)
