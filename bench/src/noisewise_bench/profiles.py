"""Data profiles and convergence, read from the curves the campaign stored.

symbol    meaning                                                            shape
targets   regrets to reach on one problem, from where it starts to the best  (n_targets,)
t         evaluations per dimension at which a target was first met          (pairs,)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from noisewise_bench.names import BenchError
from noisewise_bench.problem import FLOOR, FloatArray
from noisewise_bench.task import Row

N_TARGETS = 40
_COLUMN = {"best-evaluated": 1, "recommended": 2}


def curve_of(row: Row, metric: str) -> FloatArray:
    """(evaluations, regret) at the checkpoints where the metric is known, shape (n, 2)."""
    if metric not in _COLUMN:
        raise BenchError(f"curves know the metrics {', '.join(_COLUMN)}, not {metric!r}")
    points = np.array(json.loads(row.curve), dtype=float).reshape(-1, 3)
    curve: FloatArray = points[:, [0, _COLUMN[metric]]]
    known: FloatArray = curve[~np.isnan(curve[:, 1])]
    return known


def has_curves(rows: Iterable[Row], metric: str) -> bool:
    """Whether any run knows the metric before its end."""
    return any(len(curve_of(row, metric)) > 1 for row in rows)


@dataclass(frozen=True)
class Profile:
    """Share of (run, target) pairs that a method has met by each budget."""

    method: str
    evaluations_per_dimension: FloatArray  # increasing
    share: FloatArray  # of the pairs, at the same places


def profiles(rows: Iterable[Row], metric: str) -> list[Profile]:
    """One data profile per method.

    The targets of a problem lie geometrically between the regret after the first checkpoint
    and the smallest regret any method ended with, so every problem weighs the same.
    """
    rows = [row for row in rows if row.dimension]
    problems: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        problems.setdefault((row.problem, row.budget), []).append(row)
    times: dict[str, list[FloatArray]] = {}
    for group in problems.values():
        targets = _targets(group, metric)
        for row in group if len(targets) else []:
            met = _first_met(curve_of(row, metric), targets) / row.dimension
            times.setdefault(row.method, []).append(met)
    end = max((row.evaluations / row.dimension for row in rows), default=0.0)
    return [_profile(method, np.concatenate(times[method]), end) for method in sorted(times)]


def _targets(rows: Sequence[Row], metric: str) -> FloatArray:
    starts = [curve[0, 1] for row in rows if len(curve := curve_of(row, "best-evaluated"))]
    curves = [curve for row in rows if len(curve := curve_of(row, metric))]
    if not curves:
        return np.empty(0)
    start = max(starts or [curve[0, 1] for curve in curves])
    best = max(FLOOR, min(curve[:, 1].min() for curve in curves))
    # The start itself is no target: everyone has met it.
    return np.geomspace(max(start, best), best, N_TARGETS + 1)[1:]


def _first_met(curve: FloatArray, targets: FloatArray) -> FloatArray:
    """Evaluations at the first checkpoint at or below each target; inf if never."""
    if not len(curve):
        return np.full(len(targets), np.inf)
    met = np.maximum(curve[:, 1], FLOOR)[:, None] <= targets * (1 + 1e-6)
    first = np.argmax(met, axis=0)
    return np.where(met.any(axis=0), curve[first, 0], np.inf)


def _profile(method: str, times: FloatArray, end: float) -> Profile:
    found, counts = np.unique(np.append(times[np.isfinite(times)], end), return_counts=True)
    counts[-1] -= 1  # the end of the budget is a place on the axis, not a target met
    return Profile(method, found, np.cumsum(counts) / len(times))


@dataclass(frozen=True)
class Convergence:
    """Median log10 regret over the runs of a method, by evaluations."""

    method: str
    evaluations: FloatArray
    median: FloatArray


def convergence(rows: Iterable[Row], metric: str) -> list[Convergence]:
    """One curve per method, at the checkpoints that at least half of its runs reached."""
    methods: dict[str, list[FloatArray]] = {}
    for row in rows:
        if len(curve := curve_of(row, metric)):
            methods.setdefault(row.method, []).append(curve)
    found = []
    for method, curves in sorted(methods.items()):
        at: dict[float, list[float]] = {}
        for curve in curves:
            for n, regret in curve:
                at.setdefault(float(n), []).append(float(np.log10(max(regret, FLOOR))))
        marks = sorted(n for n in at if 2 * len(at[n]) >= len(curves))
        medians = [float(np.median(at[n])) for n in marks]
        found.append(Convergence(method, np.array(marks), np.array(medians)))
    return found
