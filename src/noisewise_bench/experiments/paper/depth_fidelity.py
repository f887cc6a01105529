"""Figure 2: depth against evaluations per candidate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Plot, Scale
from noisewise_bench.experiments.paper._duel import duel, duel_table, median_log10, of
from noisewise_bench.experiments.paper._methods import (
    CMA,
    EXACT,
    RB,
    RES5,
    RES10,
    RIDGE,
    SIDES,
    SWITCH,
    UH,
    named,
    role_looks,
)
from noisewise_bench.experiments.paper._problems import noisy
from noisewise_bench.experiments.paper._published import DEPTH, DEPTH_REGRET, RB_OVER_CMA
from noisewise_bench.figures import Panel
from noisewise_bench.sheets import MEANING, value
from noisewise_bench.tables import Column, Table, fixed
from noisewise_bench.task import Row

ROLES = (CMA, RB, RIDGE, SWITCH, RES5, RES10, UH, EXACT)
METRICS = ("best-evaluated", "recommended")


def grids(scale: Scale) -> list[Grid]:
    problems = noisy(scale, "bbob-noisy-high", (40,), scale.instances())
    return [Grid.of(problems, named(side, *ROLES), ["100d"], [1]) for side in SIDES]


def make(rows: list[Row], scale: Scale) -> Output:
    entries = [
        (
            (side, role),
            duel(rows, SIDES[side][role], SIDES[side][CMA], metric),
            RB_OVER_CMA if (side, role, metric) == ("as run", RB, "best-evaluated") else None,
        )
        for side in SIDES
        for role in ROLES
        if role in SIDES[side] and role != CMA
        for metric in METRICS
    ]
    return Output(
        [
            _table(rows),
            duel_table("Each against CMA-ES of its kind, B = 100d", ("kind", "method"), entries),
        ],
        [Plot([_panel(rows, s, metric) for metric in METRICS for s in SIDES], 2, 4.6)],
    )


def _cost(rows: Sequence[Row]) -> tuple[float, float]:
    """Mean evaluations per candidate, and median generations."""
    population = 4 + math.floor(3 * math.log(rows[0].dimension))
    depth = np.array([row.generations or 1 for row in rows], dtype=float)
    spent = np.array([row.spent for row in rows], dtype=float)
    return float(np.mean(spent / (depth * population))), float(np.median(depth))


def _table(rows: Sequence[Row]) -> Table:
    columns = (
        Column("kind"),
        Column("method"),
        Column("runs"),
        Column("evaluations per candidate", fixed),
        Column("generations"),
        Column("published generations"),
        *(Column(metric, fixed) for metric in METRICS),
        Column("published best-evaluated", fixed),
    )
    body = []
    for side in SIDES:
        for role in ROLES:
            found = of(rows, method=SIDES[side].get(role, ""))
            if found:
                cost, depth = _cost(found)
                medians = [median_log10(found, metric) for metric in METRICS]
                known = (DEPTH.get(role), DEPTH_REGRET.get(role, math.nan))
                depths = known if side == "as run" else (None, math.nan)
                body.append(
                    (side, role, len(found), cost, int(depth), depths[0], *medians, depths[1])
                )
    notes = (
        *(f"{metric}: {MEANING[metric]}; median log10 over all runs." for metric in METRICS),
        "The published depth of UH-CMA-ES was measured with another handler than its tables use.",
    )
    return Table("Depth, cost and median log10 regret, B = 100d", columns, tuple(body), notes)


def _panel(rows: Sequence[Row], side: str, metric: str) -> Panel:
    look = role_looks()

    def draw(ax: Any) -> None:
        for role in ROLES:
            found = of(rows, method=SIDES[side].get(role, ""))
            if found:
                logs = np.log10([value(row, metric) for row in found])
                style = {"color": look[role]["color"], "marker": look[role]["marker"]}
                depth = _cost(found)[1]
                ax.plot(depth, np.mean(logs), linestyle="", markersize=8, label=role, **style)
        ax.set(xscale="log", xlabel="generations (depth)", ylabel=f"mean log10 {metric}")
        ax.set_xticks([25, 50, 100, 250], ["25", "50", "100", "250"])
        ax.minorticks_off()

    caption = (
        "Mean log10 regret on the high-misranking functions against depth: if depth were what "
        "counts, points would fall from left to right."
    )
    return Panel(side, caption, 2.9, draw)


ARTIFACT = Artifact(
    "depth-fidelity",
    "Depth against fidelity at a fixed budget",
    "Figure 2",
    "denoising costs depth, and RB-PEM has the lowest regret in the cheap and deep corner.",
    grids,
    make,
)
