"""Measurements that the user brings: checked, and turned into the coordinates of the methods."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from noisewise._check import real_array, shown
from noisewise._types import FloatArray
from noisewise._values import LARGEST
from noisewise.core.box import Box
from noisewise.methods.method import Earlier
from noisewise.space import Space

#: A point may lie outside the box by this part of the width (of the bound, where there is none).
_ROUNDING = 1e-9
#: Rows that an error message names.
_NAMED = 5


def read(data: Any, box: Box, space: Space | None = None, maximize: bool = False) -> Earlier:
    """``data``, which is ``(X, y)`` or ``(X, y, se)`` in the user's coordinates and sign, in inner
    coordinates and to be minimised."""
    if not isinstance(data, (tuple, list)) or len(data) not in (2, 3):
        raise ValueError(f"data must be (X, y) or (X, y, se), got {shown(data)}")
    X, y, se = data if len(data) == 3 else (*data, None)
    points = _points(X, box.dimension, space)
    n = len(points)
    values = -_column("y", y, n) if maximize else _column("y", y, n)
    if (values == -np.inf).any():
        told = "+inf: there is nothing above it" if maximize else "-inf: there is nothing below it"
        raise ValueError(f"y must not be {told}")
    values = np.where(values < np.inf, np.clip(values, -LARGEST, LARGEST), np.inf)
    errors = np.full(n, np.nan) if se is None else _column("se", se, n)
    if ((errors < 0.0) | (errors == np.inf)).any():
        raise ValueError(f"se must be non-negative and finite, or nan if unknown, got {shown(se)}")
    return Earlier(inside(points, box), values, errors)


def point(x: Any, box: Box, space: Space | None = None) -> FloatArray:
    """One point, such as the place of a trial that was measured elsewhere, in inner
    coordinates."""
    if space is not None and isinstance(x, Mapping):
        found: FloatArray = inside(_encoded([x], space), box, "x")[0]
        return found
    try:
        array = real_array(x)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (box.dimension,) or not np.isfinite(array).all():
        raise ValueError(f"x must be {box.dimension} finite numbers, got {shown(x)}")
    found = inside(array[None], box, "x")[0]
    return found


def inside(X: FloatArray, box: Box, name: str = "X") -> FloatArray:
    """Rows in inner coordinates; ValueError if one of them lies outside the box, by more than
    rounding."""
    low, high = box.bounds
    with np.errstate(over="ignore", invalid="ignore"):
        width = high - low
        usable = np.isfinite(width) & (width > 0.0)
        below, above = (
            np.nan_to_num(_ROUNDING * np.where(usable, width, np.abs(side)), posinf=0.0)
            for side in (low, high)
        )
    outside = ~((low - below <= X) & (high + above >= X))
    rows = np.flatnonzero(outside.any(axis=1)).tolist()
    if rows:
        i, j = rows[0], int(np.flatnonzero(outside[rows[0]])[0])
        where = name if name == "x" else f"{name}[{i}]"
        more = f"; {len(rows)} rows lie outside: {_named(rows)}" if len(rows) > 1 else ""
        raise ValueError(
            f"{name} must lie inside the bounds, got {where}[{j}] = {X[i, j]:g} outside "
            f"[{low[j]:g}, {high[j]:g}]{more}"
        )
    return box.inner(np.clip(X, low, high))


def digest(data: Earlier) -> str:
    """The data in a few words: equal words, equal data."""
    crc = 0
    for part in data:
        crc = zlib.crc32(np.ascontiguousarray(part).tobytes(), crc)
    return f"{len(data.y)} rows ({crc:08x})"


def _points(X: Any, dimension: int, space: Space | None) -> FloatArray:
    """Rows in the user's coordinates; the points of the unit cube where there is a space."""
    if space is not None:
        if isinstance(X, Mapping) or hasattr(X, "columns"):
            return _encoded(_rows(X), space)
        listed = list(X) if isinstance(X, Iterable) else []
        if listed and all(isinstance(row, Mapping) for row in listed):
            return _encoded(listed, space)
    try:
        array = real_array(X)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape == (0,) and isinstance(X, (list, tuple)) and not X:
        return np.empty((0, dimension))
    if array.ndim != 2 or array.shape[1] != dimension or not np.isfinite(array).all():
        named = ", a dictionary of columns or a list of dictionaries" if space else ""
        raise ValueError(
            f"X must be rows of {dimension} finite numbers{named}, got {shown(X)}"
            if array.ndim != 2 or array.shape[1] == dimension
            else f"X must have {dimension} columns, got {array.shape[1]}"
        )
    return array


def _rows(table: Any) -> list[dict[str, Any]]:
    """Rows of a table that is a dictionary of columns, or a data frame."""
    names = list(table.keys() if isinstance(table, Mapping) else table.columns)
    columns = [list(table[name]) for name in names]
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise ValueError(f"the columns of X must have the same length, got {lengths}")
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _encoded(rows: list[Mapping[str, Any]] | list[dict[str, Any]], space: Space) -> FloatArray:
    found = []
    for i, row in enumerate(rows):
        missing = [name for name in space.names if name not in row]
        if missing:
            raise ValueError(f"row {i} must have a value of {missing[0]}, got {shown(row)}")
        try:
            found.append(space.encode(row))
        except ValueError as error:
            raise ValueError(f"row {i}: {error}") from None
    return np.array(found).reshape(len(rows), space.dimension)


def _column(name: str, values: Any, n: int) -> FloatArray:
    """One number per row."""
    try:
        array = real_array(values)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, one per row, got {shown(values)}") from None
    if array.shape == (n, 1):
        array = array[:, 0]
    if array.shape == () and name == "se":
        array = np.full(n, float(array))
    if array.shape != (n,):
        raise ValueError(f"{name} must have one entry per row ({n}), got shape {array.shape}")
    return array


def _named(rows: list[int]) -> str:
    shown_rows = ", ".join(map(str, rows[:_NAMED]))
    return shown_rows if len(rows) <= _NAMED else f"{shown_rows}, ..."
