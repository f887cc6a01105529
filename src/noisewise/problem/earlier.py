"""Measurements that the user brings: checked, and turned into the coordinates of the methods."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from noisewise._check import real_array, shown
from noisewise._types import FloatArray
from noisewise.problem.box import Box, moved_inside
from noisewise.problem.space import Space
from noisewise.problem.values import LARGEST, within_range


class Earlier(NamedTuple):
    """Measurements made elsewhere: points (n, d) in inner coordinates, one value per row (+inf:
    failed) and its standard error (nan: not known)."""

    X: FloatArray
    y: FloatArray
    se: FloatArray


def read(data: Any, box: Box, space: Space | None = None, maximize: bool = False) -> Earlier:
    """``data``, which is ``(X, y)``, ``(X, y, se)`` or a table of all of them, in the user's
    coordinates and sign, in inner coordinates and to be minimised."""
    if _is_table(data):
        data = _split(data, box.dimension, space)
    if not isinstance(data, (tuple, list)) or len(data) not in (2, 3):
        raise ValueError(
            "data must be (X, y), (X, y, se) or a table with a column named value, got "
            f"{shown(data)}"
        )
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
    return Earlier(inside(points, box), values, np.array([within_range(one) for one in errors]))


def point(x: Any, box: Box, space: Space | None = None) -> FloatArray:
    """One point, such as the place of a trial that was measured elsewhere, in inner
    coordinates."""
    if space is not None and isinstance(x, Mapping):
        return np.asarray(inside(_encoded([x], space), box, "x")[0])
    try:
        array = real_array(x)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (box.dimension,) or not np.isfinite(array).all():
        raise ValueError(f"x must be {box.dimension} finite numbers, got {shown(x)}")
    return np.asarray(inside(array[None], box, "x")[0])


def inside(X: FloatArray, box: Box, name: str = "X") -> FloatArray:
    """Rows in inner coordinates, as of `moved_inside`."""
    return box.inner(moved_inside(X, *box.bounds, name))


def digest(data: Earlier) -> str:
    """The data in a few words: equal words, equal data."""
    crc = 0
    for part in data:
        crc = zlib.crc32(np.ascontiguousarray(part).tobytes(), crc)
    return f"{len(data.y)} rows ({crc:08x})"


def _points(X: Any, dimension: int, space: Space | None) -> FloatArray:
    """Rows in the user's coordinates; the points of the unit cube where there is a space."""
    if space is not None:
        if _is_table(X):
            return _encoded(_rows(X, space), space)
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


def _is_table(data: Any) -> bool:
    """Whether it is a dictionary of columns, or a data frame."""
    return isinstance(data, Mapping) or hasattr(data, "columns")


def _names(table: Any) -> list[Any]:
    return list(table.keys() if isinstance(table, Mapping) else table.columns)


def _split(table: Any, dimension: int, space: Space | None) -> tuple[Any, Any, Any]:
    """Points, values and errors of one table; other columns are ignored. The coordinates of points
    without names are x1, x2, ..."""
    names = _names(table)
    if "value" not in names:
        raise ValueError(f"data must have a column named value, got {shown(names)}")
    X = table
    if space is None:
        wanted = [f"x{j}" for j in range(1, dimension + 1)]
        if missing := [name for name in wanted if name not in names]:
            raise ValueError(f"data must have a column {missing[0]}, got {shown(names)}")
        X = np.column_stack([real_array(list(table[name])) for name in wanted])
    return X, list(table["value"]), list(table["se"]) if "se" in names else None


def _rows(table: Any, space: Space) -> list[dict[str, Any]]:
    """Rows of a table, of which only the columns of parameters count: those of their names or,
    where that is the name of something else, of ``param_`` and their names."""
    known, found = _names(table), {}
    for name in space.names:
        column = f"param_{name}" if f"param_{name}" in known else name
        if column in known:
            found[name] = list(table[column])
    names, columns = list(found), list(found.values())
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise ValueError(f"the columns of X must have the same length, got {lengths}")
    rows = (zip(names, row, strict=True) for row in zip(*columns, strict=True))
    return [{name: v for name, v in row if v is not None or _is_value(space, name)} for row in rows]


def _is_value(space: Space, name: str) -> bool:
    """Whether None is a value of the parameter, not the sign that it does not apply."""
    return None in getattr(space.parameters[name], "values", ())


def _encoded(rows: list[Mapping[str, Any]] | list[dict[str, Any]], space: Space) -> FloatArray:
    found = []
    for i, row in enumerate(rows):
        try:
            found.append(space.encode(row))
            missing = space.missing(row)
        except ValueError as error:
            raise ValueError(f"row {i}: {error}") from None
        if missing:
            raise ValueError(f"row {i} must have a value of {missing[0]}, got {shown(row)}")
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
