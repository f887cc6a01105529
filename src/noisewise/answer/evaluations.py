"""The evaluations of a run as columns, for data frames, and one by one, for callbacks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from noisewise.measured.told import KINDS, Rows
from noisewise.problem.box import Box
from noisewise.problem.space import Space
from noisewise.run.run import Run

#: Columns beside those of the parameters.
COLUMNS = ("evaluation", "kind", "generation", "value", "se", "seed", "failed")


def named(names: Sequence[str]) -> list[str]:
    """The columns of parameters: their names, and ``param_`` before those of another column.

    >>> named(["rate", "seed"])
    ['rate', 'param_seed']
    """
    return [f"param_{name}" if name in COLUMNS else name for name in names]


def deferred(run: Run, space: Space | None) -> Callable[[], dict[str, list[Any]]]:
    """The columns of the evaluations up to now, made when they are asked for."""
    told, setup, sign = run.told.still(), run.setup, _sign(run)
    return lambda: _columns(told.read(setup.dimension), setup.box, space, sign)


def unheard(run: Run, heard: set[int]) -> list[int]:
    """Trials that were told and are not among those ``heard`` of, which they become."""
    new = [id for id in run.told.read(run.setup.dimension).id.tolist() if id not in heard]
    heard.update(new)
    return new


def single(run: Run, space: Space | None, ids: Sequence[int]) -> list[dict[str, Any]]:
    """The evaluations of these trials, one dictionary each: those of the columns, ``x`` and, where
    there is a space, ``params``."""
    rows, box = run.told.read(run.setup.dimension, ids), run.setup.box
    columns = _about(rows, _sign(run))
    found = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for one, x in zip(found, box.outer(rows.X), strict=True):
        one["x"] = x
        if space is not None:
            one["params"] = space.decode(x)
    return found


def _sign(run: Run) -> float:
    return -1.0 if run.maximize else 1.0


def _about(rows: Rows, sign: float) -> dict[str, list[Any]]:
    """The columns without the parameters."""
    good = np.isfinite(rows.y)
    entries = (
        (rows.id + 1).tolist(),
        [KINDS[kind] for kind in rows.kind],
        rows.generation.tolist(),
        np.where(good, sign * rows.y, math.nan).tolist(),
        rows.se.tolist(),
        [None if seed < 0 else seed for seed in rows.seed.tolist()],
        (~good).tolist(),
    )
    return {name: list(column) for name, column in zip(COLUMNS, entries, strict=True)}


def _columns(rows: Rows, box: Box, space: Space | None, sign: float) -> dict[str, list[Any]]:
    """All columns: the parameters after what the evaluation was."""
    about, X = _about(rows, sign), box.outer(rows.X)
    if space is None:
        points = {f"x{j}": column.tolist() for j, column in enumerate(X.T, start=1)}
    else:
        decoded = [space.decode(x) for x in X]
        columns = zip(named(space.names), space.names, strict=True)
        points = {column: [p.get(name) for p in decoded] for column, name in columns}
    first = {name: about.pop(name) for name in COLUMNS[:3]}
    return {**first, **points, **about}
