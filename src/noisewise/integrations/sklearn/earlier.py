"""Scores that are known before the search begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from noisewise._check import shown
from noisewise.integrations.sklearn.spaces import Branches
from noisewise.space import Space


def points(data: Any, space: Space | Branches, metric: str) -> tuple[Any, ...] | None:
    """``data`` as points and scores, perhaps with standard errors. Rows of a table ``cv_results_``
    without a score are left out."""
    if data is None:
        return None
    if isinstance(data, Mapping):
        column = f"mean_test_{metric}"
        missing = {"params", column} - data.keys()
        if missing:
            raise ValueError(
                f"data must be (params, scores) or a table cv_results_, got one without "
                f"{shown(min(missing))}"
            )
        scores = np.asarray(data[column], dtype=float)
        known = [i for i in range(len(scores)) if np.isfinite(scores[i])]
        rows, more = [data["params"][i] for i in known], (scores[known],)
    elif isinstance(data, (tuple, list)) and len(data) in (2, 3):
        rows, more = list(data[0]), tuple(data[1:])
    else:
        raise ValueError(
            "data must be (params, scores), (params, scores, standard errors) or a table "
            f"cv_results_, got {shown(data)}"
        )
    X = [_point(i, row, space) for i, row in enumerate(rows)]
    return (np.array(X).reshape(len(X), space.dimension), *more)


def _point(i: int, row: Any, space: Space | Branches) -> Any:
    try:
        if not isinstance(row, Mapping):
            raise ValueError(f"must be parameters by name, got {shown(row)}")
        if isinstance(space, Branches):
            return space.encode(row)
        missing = [name for name in space.names if name not in row]
        if missing:
            raise ValueError(f"must have a value of {missing[0]}, got {shown(row)}")
        return space.encode({name: row[name] for name in space.names})
    except ValueError as error:
        raise ValueError(f"data: row {i}: {error}") from None
