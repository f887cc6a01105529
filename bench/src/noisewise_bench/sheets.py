"""Rows arranged for comparison: one matrix of blocks and methods per group, at a named metric.

A block is what two methods share: problem, budget and seed. Regret below `FLOOR` ties.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from noisewise_bench.names import BenchError, one_of
from noisewise_bench.problem import FLOOR, FloatArray
from noisewise_bench.record import NAN
from noisewise_bench.task import Row

#: Name of a metric -> column of a row.
METRICS: Final = {
    "recommended": "recommended_regret",
    "best-evaluated": "best_evaluated_regret",
    "noisy-best": "noisy_best_regret",
}
#: What each metric is, in the words that tables and figures use.
MEANING: Final = {
    "recommended": "noise-free regret of the point the method returns",
    "best-evaluated": "smallest noise-free regret among all evaluated points, where the truth is "
    "simulated among the five of the smallest noisy values (no user can pick it)",
    "noisy-best": "noise-free regret of the point with the smallest noisy value",
}
GROUP_KEYS: Final = ("suite", "function", "dimension", "budget")


def function_of(problem: str) -> str:
    """A problem's name without suite, instance, seed and dimension."""
    _, _, rest = problem.partition("/")
    parts = [part for part in rest.split("/") if not re.fullmatch(r"[ids]\d+", part)]
    return "/".join(parts) or problem


def value(row: Row, metric: str) -> float:
    """Regret as it is compared: floored, +inf if the run failed, nan if it was not measured."""
    if row.error is not None:
        return float("inf")
    regret: float = getattr(row, METRICS[metric])
    # A negative value has no optimum behind it; it is compared as it is.
    return max(regret, FLOOR) if regret >= 0.0 else regret


@dataclass(frozen=True)
class Sheet:
    """One group of a campaign, at one metric, as a matrix of blocks and methods."""

    group: tuple[tuple[str, str], ...]
    metric: str
    methods: tuple[str, ...]
    blocks: tuple[tuple[Any, ...], ...]
    r: FloatArray
    seconds: FloatArray  # in the method, per evaluation
    uncharged: tuple[str, ...]  # methods that drew noise without paying

    def column(self, method: str) -> FloatArray:
        """Regrets of one method, by block."""
        values: FloatArray = self.r[:, self.methods.index(method)]
        return values

    @property
    def title(self) -> str:
        return ", ".join(f"{key} {name}" for key, name in self.group) or "all"


def sheets(
    rows: Iterable[Row],
    metric: str = "recommended",
    by: Sequence[str] = ("suite", "dimension", "budget"),
    unit: str = "run",
) -> list[Sheet]:
    """Rows as one sheet per group.

    With ``unit="problem"`` the median over seeds stands for a problem: runs on one problem are
    not independent, and a test on them would be too sure.
    """
    _check(metric, "metric", METRICS)
    _check(unit, "unit", ("run", "problem"))
    for key in by:
        _check(key, "by", GROUP_KEYS)
    rows = list(rows)
    methods = tuple(dict.fromkeys(sorted(row.method for row in rows)))
    groups: dict[tuple[tuple[str, str], ...], list[Row]] = {}
    for row in rows:
        parts = {
            "suite": row.suite,
            "function": function_of(row.problem),
            "dimension": str(row.dimension),
            "budget": row.budget,
        }
        groups.setdefault(tuple((key, parts[key]) for key in by), []).append(row)
    ordered = sorted(groups, key=lambda group: [_natural(name) for _, name in group])
    return [_sheet(group, groups[group], metric, methods, unit) for group in ordered]


def _check(name: str, what: str, known: Iterable[str]) -> None:
    if name not in known:
        raise BenchError(f"{what} is {name!r}, it takes one of {one_of(list(known))}")


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Sort key that puts 10 after 9."""
    return [
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in re.findall(r"\d+|\D+", text)
    ]


def _sheet(
    group: tuple[tuple[str, str], ...],
    rows: Sequence[Row],
    metric: str,
    campaign_methods: Sequence[str],
    unit: str,
) -> Sheet:
    present = {row.method for row in rows}
    methods = tuple(method for method in campaign_methods if method in present)
    cells: dict[tuple[Any, ...], dict[str, list[Row]]] = {}
    for row in rows:
        block = (row.problem, row.budget, *([row.seed] if unit == "run" else []))
        cells.setdefault(block, {}).setdefault(row.method, []).append(row)
    blocks = tuple(sorted(cells))

    def matrix(of: Callable[[Row], float]) -> FloatArray:
        return np.array(
            [
                [np.median([of(row) for row in cells[b].get(m, [])] or [NAN]) for m in methods]
                for b in blocks
            ]
        )

    return Sheet(
        group,
        metric,
        methods,
        blocks,
        matrix(lambda row: value(row, metric)),
        matrix(lambda row: row.seconds_method / max(row.spent, 1)),
        tuple(dict.fromkeys(row.method for row in rows if row.uncharged)),
    )
