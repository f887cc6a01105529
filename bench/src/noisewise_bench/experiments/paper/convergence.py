"""Figure 1: convergence on four functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Plot, Scale
from noisewise_bench.experiments.paper._duel import median_log10, of
from noisewise_bench.experiments.paper._methods import (
    CMA,
    EXACT,
    RB,
    RB_SAFE,
    RES5,
    RES10,
    SIDES,
    UH,
    named,
    role_looks,
)
from noisewise_bench.experiments.paper._published import CONVERGENCE
from noisewise_bench.figures import Panel
from noisewise_bench.problem import FLOOR, FloatArray
from noisewise_bench.problems import suite
from noisewise_bench.profiles import curve_of
from noisewise_bench.sheets import MEANING, function_of
from noisewise_bench.tables import Column, Table, fixed
from noisewise_bench.task import Row

ROLES = (CMA, RES5, RES10, UH, RB, RB_SAFE, EXACT)
FUNCTIONS = tuple(f"f{function}" for function in CONVERGENCE)
METRICS = ("best-evaluated", "recommended")
SHORT = {"best-evaluated": "best evaluated", "recommended": "recommended"}


def grids(scale: Scale) -> list[Grid]:
    d = scale.pick(quick=10, full=40)
    functions = scale.pick(quick=FUNCTIONS[:1], full=FUNCTIONS)

    found = suite("bbob-noisy-high", (d,), scale.instances())
    problems = [p for p in found if function_of(p) in functions]
    return [Grid.of(problems, named(side, *ROLES), ["100d"], [1]) for side in SIDES]


def make(rows: list[Row], scale: Scale) -> Output:
    functions = [f for f in FUNCTIONS if any(function_of(r.problem) == f for r in rows)]
    plots = [
        Plot([_panel(rows, side, f, m) for f in functions for m in METRICS], len(METRICS))
        for side in SIDES
    ]
    return Output([_table(rows, side, functions) for side in SIDES], plots)


def _panel(rows: Sequence[Row], side: str, function: str, metric: str) -> Panel:
    look = role_looks()
    here = [row for row in rows if function_of(row.problem) == function]

    def draw(ax: Any) -> None:
        for role in ROLES:
            found = of(here, method=SIDES[side].get(role, ""))
            if not found:
                continue
            if role == RB_SAFE and metric == "best-evaluated":
                continue  # the same points are evaluated
            at, quartiles = _quartiles(found, metric)
            ax.plot(at, quartiles[1], **{**look[role], "marker": ""})
            ax.plot([], [], label=role, **look[role])  # the legend shows the marker as well
            ax.fill_between(at, quartiles[0], quartiles[2], color=look[role]["color"], alpha=0.1)
            depth = _depth(found)
            marks = [i for i in (10, 100) if i < depth]
            spent = np.array(marks) * found[0].spent / depth
            heights = np.interp(np.log(spent), np.log(at), quartiles[1])
            ax.plot(spent, heights, look[role]["marker"], color=look[role]["color"], markersize=5)
        ax.set(xscale="log", xlabel="evaluations", ylabel="log10 regret")
        ax.set_xticks([10, 100, 1000], ["10", "100", "1000"])

    caption = (
        f"Median and quartiles over instances of log10 regret, {side}: left the best evaluated "
        "point (published metric), right the recommended one. Markers: where the median run has "
        "completed 10 and 100 generations; a line without its second marker never gets to 100. "
        + ("RB-PEM, restart-safe, returns its best mean before any restart." if side == "as run"
           else "")
    ).strip()  # fmt: skip
    return Panel(f"{function}, {SHORT[metric]}", caption, 2.2, draw)


def _depth(rows: Sequence[Row]) -> int:
    return int(np.median([row.generations or 0 for row in rows]))


def _quartiles(rows: Sequence[Row], metric: str) -> tuple[FloatArray, FloatArray]:
    """Checkpoints that all runs share, and the quartiles of log10 regret there."""
    curves = [dict(curve_of(row, metric)) for row in rows]
    at = sorted(set.intersection(*(set(curve) for curve in curves)))
    logs = np.log10(np.maximum([[curve[n] for n in at] for curve in curves], FLOOR))
    return np.array(at), np.quantile(logs, (0.25, 0.5, 0.75), axis=0)


def _table(rows: Sequence[Row], side: str, functions: Sequence[str]) -> Table:
    columns = (
        Column("function"),
        Column("method"),
        Column("runs"),
        Column("generations", meaning="median depth"),
        *([Column("published", fixed)] if side == "as run" else []),
        *(Column(metric, fixed) for metric in METRICS),
    )
    body = []
    for function in functions:
        for role in ROLES:
            found = of(rows, method=SIDES[side].get(role, ""))
            found = [row for row in found if function_of(row.problem) == function]
            if found:
                published = CONVERGENCE[int(function[1:])].get(role, float("nan"))
                known = [published] if side == "as run" else []
                medians = [median_log10(found, metric) for metric in METRICS]
                body.append((function, role, len(found), _depth(found), *known, *medians))
    notes = tuple(f"{metric}: {MEANING[metric]}." for metric in METRICS)
    return Table(f"Final median log10 regret, {side}, B = 100d", columns, tuple(body), notes)


ARTIFACT = Artifact(
    "convergence",
    "Convergence on four high-misranking functions",
    "Figure 1",
    "methods that keep their depth end lower, and RB-PEM lowest.",
    grids,
    make,
)
