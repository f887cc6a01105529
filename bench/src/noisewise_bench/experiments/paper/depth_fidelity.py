"""Figure 2: depth against evaluations per candidate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Plot, Scale
from noisewise_bench.experiments.paper._duel import duel, duel_table, median_log10, of
from noisewise_bench.experiments.paper._methods import (
    CMA,
    EXACT,
    RB,
    RB_SAFE,
    RES5,
    RES10,
    RIDGE,
    SIDES,
    SWITCH,
    SWITCH_SAFE,
    UH,
    named,
    role_looks,
)
from noisewise_bench.experiments.paper._problems import noisy
from noisewise_bench.experiments.paper._published import DEPTH, DEPTH_REGRET, RB_OVER_CMA
from noisewise_bench.figures import Panel
from noisewise_bench.sheets import MEANING
from noisewise_bench.tables import Column, Table, fixed
from noisewise_bench.task import Row

ROLES = (CMA, RB, RB_SAFE, RIDGE, SWITCH, SWITCH_SAFE, RES5, RES10, UH, EXACT)
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
        [
            Plot([_panel(rows, s, m, "generations") for m in METRICS for s in SIDES]),
            Plot([_panel(rows, s, m, "cost") for m in METRICS for s in SIDES]),
        ],
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


#: Roles of equal depth and cost stand so many steps beside it.
BESIDE: Final = {RB: -2, RB_SAFE: -1, SWITCH: 1, SWITCH_SAFE: 2, EXACT: 1}
#: Axis -> label, ticks, and what the figure says.
AXES: Final = {
    "generations": (
        "generations (depth)",
        (25, 50, 100, 250),
        "against depth: if depth were what counts, points would fall from left to right",
    ),
    "cost": (
        "evaluations per candidate (fidelity)",
        (1, 2, 5, 10),
        "against what a candidate costs, the other side of the same bargain: if fidelity were "
        "what counts, points would fall from left to right",
    ),
}


def _panel(rows: Sequence[Row], side: str, metric: str, axis: str) -> Panel:
    look = role_looks()
    xlabel, ticks, said = AXES[axis]

    def draw(ax: Any) -> None:
        base = SIDES[side][CMA]
        for role in (role for role in ROLES if role in SIDES[side]):
            found = of(rows, method=SIDES[side][role])
            if not found or (metric == "best-evaluated" and role in (RB_SAFE, SWITCH_SAFE)):
                continue  # restart-safe runs evaluate the same points
            d = duel(rows, SIDES[side][role], base, metric)
            at = _cost(found)[axis == "generations"] * 1.035 ** BESIDE.get(role, 0)
            colour = look[role]["color"]
            if role != CMA:
                ax.plot([at, at], [d.low, d.high], color=colour, linewidth=1.2)
            ax.plot(
                at, 0.0 if role == CMA else d.mean, linestyle="", markersize=7, label=role,
                color=colour, marker=look[role]["marker"],
            )  # fmt: skip
        ax.axhline(0.0, color="black", linewidth=0.8)
        ax.set(xscale="log", xlabel=xlabel, ylabel="decades from CMA-ES")
        ax.set_xticks(ticks, [f"{tick}" for tick in ticks])
        ax.minorticks_off()

    caption = (
        "Mean difference of log10 regret to CMA-ES of the same kind, below the line is better, "
        f"{said}."
        " Bars: 95 % intervals that draw whole functions; points of equal place stand beside each "
        "other."
    )
    return Panel(f"{side}, {metric}", caption, 2.9, draw)


ARTIFACT = Artifact(
    "depth-fidelity",
    "Depth against fidelity at a fixed budget",
    "Figure 2",
    "denoising costs depth, and RB-PEM has the lowest regret in the cheap and deep corner.",
    grids,
    make,
)
