"""The table ``cv_results_``: one row per set of parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from noisewise.integrations.sklearn.fits import Fit


def results(
    rows: list[list[Fit]],
    names: Sequence[str],
    n_splits: int,
    metrics: Sequence[str],
    train: bool = False,
) -> dict[str, Any]:
    """``cv_results_`` of fits that are grouped by their parameters."""
    found: dict[str, Any] = {}
    for what in ("fit_time", "score_time"):
        times = [[getattr(fit, what) for fit in row] for row in rows]
        found[f"mean_{what}"], found[f"std_{what}"] = _moments(times)
    for name in names:
        found[f"param_{name}"] = _column([row[0].params for row in rows], name)
    found["params"] = [row[0].params for row in rows]
    for metric in metrics:
        test = [[_score(fit, fit.test, metric) for fit in row] for row in rows]
        mean = _add(found, f"test_{metric}", rows, test, n_splits)
        worst = np.where(np.isnan(mean), -np.inf, mean)
        ranks = [1 + int(np.sum(worst > one)) for one in worst]
        found[f"rank_test_{metric}"] = np.array(ranks, np.int32)
        if train:
            seen = [[_score(fit, fit.train, metric) for fit in row] for row in rows]
            _add(found, f"train_{metric}", rows, seen, n_splits)
    found["n_fits"] = np.array([len(row) for row in rows])
    return found


def _score(fit: Fit, scores: Mapping[str, float], metric: str) -> float:
    """One score of a fit; a fit that failed has the same for all metrics."""
    return fit.score if fit.error else scores.get(metric, math.nan)


def _add(
    found: dict[str, Any],
    what: str,
    rows: list[list[Fit]],
    scores: list[list[float]],
    n_splits: int,
) -> Any:
    """Add the columns of one metric, and return its means."""
    for k in range(n_splits):
        of_fold = [
            [score for fit, score in zip(row, values, strict=True) if fit.fold == k]
            for row, values in zip(rows, scores, strict=True)
        ]
        found[f"split{k}_{what}"] = _moments(of_fold)[0]
    found[f"mean_{what}"], found[f"std_{what}"] = _moments(scores)
    return found[f"mean_{what}"]


def _column(params: list[dict[str, Any]], name: str) -> Any:
    """A parameter in all rows, masked where a row does not have it: an array of numbers where all
    are of one such type."""
    values, mask = [given.get(name) for given in params], [name not in given for given in params]
    known: list[Any] = [given[name] for given in params if name in given]
    kinds = set(map(type, known))
    numbers = len(kinds) == 1 and kinds <= {bool, int, float}
    if numbers and all(abs(value) < 2**63 or isinstance(value, float) for value in known):
        filled = [given.get(name, known[0]) for given in params]
        return np.ma.MaskedArray(filled, mask=mask)
    column: Any = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        column[i] = value
    return np.ma.MaskedArray(column, mask=mask)


def _moments(values: list[list[float]]) -> tuple[Any, Any]:
    """Mean and standard deviation of each row without its nans; nan where nothing is left."""
    kept = [[v for v in row if not math.isnan(v)] for row in values]
    mean = np.array([np.mean(row) if row else math.nan for row in kept])
    std = np.array([np.std(row) if row else math.nan for row in kept])
    return mean, std
