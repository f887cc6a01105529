"""The user's arguments, checked and turned into what the library works with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from noisewise import _data
from noisewise._check import positive_real, real_array, shown
from noisewise._types import BoolArray, FloatArray
from noisewise.problem.bounds import read as read_bounds
from noisewise.problem.box import FARTHEST, SIGMA_MAX, SIGMA_MIN, Box, moved_inside
from noisewise.problem.space import Space

#: Default step size as a fraction of the smallest width.
SIGMA0_FRACTION = 0.3
#: Largest ratio of two widths; beyond, coordinates cannot be scaled to each other.
_MOST_UNEQUAL = 1e200
#: Smallest width of a free coordinate.
_NARROWEST = 10.0 * SIGMA_MIN


def describe(x0: Any, bounds: Any, sigma0: Any, name: str = "x0") -> tuple[Box, FloatArray, float]:
    """Check ``x0``, which errors call ``name``, ``bounds`` and ``sigma0`` against each other and
    fill in the defaults: the box, the start in inner coordinates and the step size."""
    x = None if x0 is None else _x0(x0, name)
    sides = read_bounds(bounds, None if x is None else len(x))
    if x is None:
        if sides is None or not np.isfinite(sides).all():
            raise ValueError(
                "x0 is required unless bounds are finite on both sides, got None: give "
                "bounds=[(low, high), ...], space={name: '0..1', ...}, or x0 and sigma0"
            )
        x = 0.5 * sides[0] + 0.5 * sides[1]
    low, high = sides or (np.full(len(x), -np.inf), np.full(len(x), np.inf))
    free = _free(low, high, bounds)
    x = moved_inside(x[None], low, high, name)[0]
    with np.errstate(over="ignore"):
        width = (high - low)[free]
    closed = width[np.isfinite(width)]
    if len(closed) and closed.max() / _MOST_UNEQUAL > closed.min():
        raise ValueError(
            f"bounds must have widths less than {_MOST_UNEQUAL:g} times each other, got "
            f"{closed.min():g} and {closed.max():g}"
        )
    _check_sizes(low, high, free)
    if sigma0 is not None:
        sigma = positive_real("sigma0", sigma0)
        if not SIGMA_MIN <= sigma <= SIGMA_MAX:
            between = f"between {SIGMA_MIN:g} and {SIGMA_MAX:g}"
            raise ValueError(f"sigma0 must be {between}, got {shown(sigma0)}")
    elif len(closed) < len(width):
        raise ValueError(
            "sigma0, the first step size, is required unless all bounds are finite, got None"
        )
    else:
        sigma = SIGMA0_FRACTION * float(closed.min())
    box = Box.of(low, high)
    return box, box.inner(x), sigma


def _free(low: FloatArray, high: FloatArray, bounds: Any) -> BoolArray:
    """Which coordinates are free; the others, with equal bounds, are fixed."""
    wrong = (low > high) | ((low == high) & ~np.isfinite(low))
    if wrong.any():
        j = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            "bounds must have low < high, or low == high to fix a coordinate, got "
            f"[{low[j]:g}, {high[j]:g}] for coordinate {j}"
        )
    free: BoolArray = low < high
    if not free.any():
        raise ValueError(
            f"bounds must have low < high for at least one coordinate, got {shown(bounds)}"
        )
    return free


def _check_sizes(low: FloatArray, high: FloatArray, free: BoolArray) -> None:
    """Raise ValueError where a bound is so large or a side so short that squares overflow."""
    for side in (low, high):
        far = np.isfinite(side) & (np.abs(side) > FARTHEST)
        if far.any():
            said = f"bounds must be within ±{FARTHEST:g}, or infinite"
            raise ValueError(f"{said}, got {side[far][0]:g}")
    if (narrow := free & (high - low < _NARROWEST)).any():
        j = int(np.flatnonzero(narrow)[0])
        raise ValueError(
            f"bounds must be at least {_NARROWEST:g} apart, or equal, got "
            f"[{low[j]:g}, {high[j]:g}] for coordinate {j}"
        )


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
            f"Generator, got {shown(rng)}"
        )
    search, bootstrap = (np.random.Generator(np.random.PCG64(s)) for s in sequence.spawn(2))
    return search, bootstrap


def seed(rng: Any) -> int | None:
    """The seed, if ``rng`` is one."""
    return int(rng) if isinstance(rng, (int, np.integer)) else None


def plain(extra: Any) -> dict[str, Any]:
    """A copy of ``extra``, if it can be saved: the one that a file gives back."""
    if extra is not None and not isinstance(extra, Mapping):
        raise ValueError(f"extra must be a dictionary or None, got {shown(extra)}")
    try:
        text = json.dumps(_data.encode(dict(extra or {})))
        copy: dict[str, Any] = _data.decode(json.loads(text))
    except (ValueError, RecursionError) as error:  # DataError is a ValueError
        raise ValueError(f"extra must be plain data, got {shown(extra)}: {error}") from None
    return copy


def _seeds(rng: np.random.Generator) -> list[np.random.SeedSequence]:
    words = rng.integers(0, 2**32, size=8, dtype=np.uint32)
    return np.random.SeedSequence([int(w) for w in words]).spawn(2)


def today(incumbent: Any, bounds: Any, space: Space | None) -> FloatArray | None:
    """Today's setting as a point in the user's coordinates, if there is one."""
    if incumbent is None:
        return None
    if not isinstance(incumbent, Mapping):
        if space is not None and (isinstance(incumbent, str) or np.ndim(incumbent) == 0):
            example = f"{{{space.names[0]!r}: ...}}"
            raise ValueError(
                f"incumbent must be values by name, such as {example}, got {shown(incumbent)}"
            )
        x, sides = _x0(incumbent, "incumbent"), read_bounds(bounds, None)
        if sides is not None and len(sides[0]) not in (1, len(x)):
            raise ValueError(f"incumbent must be {len(sides[0])} numbers, got {len(x)}")
        return x
    if space is None:
        raise ValueError(
            "incumbent must be a point, or values by name where there is a space, got "
            f"{shown(incumbent)}"
        )
    try:
        x, missing = space.encode(incumbent), space.missing(incumbent)
    except ValueError as error:
        raise ValueError(f"incumbent: {error}") from None
    if missing:
        raise ValueError(f"incumbent must have a value of {missing[0]}, got {shown(incumbent)}")
    return x


def _x0(x0: Any, name: str) -> FloatArray:
    try:
        x = real_array(x0)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a sequence of numbers, got {shown(x0)}") from None
    if x.ndim != 1 or len(x) == 0:
        raise ValueError(f"{name} must be one-dimensional and not empty, got shape {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError(f"{name} must be finite, got {shown(x0)}")
    return x
