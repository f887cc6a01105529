"""Figure 3: who ranks where on which task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Plot, Scale
from noisewise_bench.experiments.paper._duel import (
    MEANINGS,
    median_log10,
    of,
    regret_of,
)
from noisewise_bench.experiments.paper._methods import CMA, RB, RES5, RES10, SIDES, UH, named
from noisewise_bench.experiments.paper._problems import noisy, task_of, tasks
from noisewise_bench.experiments.paper._published import TASK_MEDIANS
from noisewise_bench.figures import Panel
from noisewise_bench.problem import FloatArray
from noisewise_bench.sheets import function_of
from noisewise_bench.tables import Column, Table, fixed
from noisewise_bench.task import Row

ROLES = (RB, CMA, UH, RES5, RES10)
METRICS = ("best-evaluated", "recommended")


def grids(scale: Scale) -> list[Grid]:
    functions = noisy(scale, "bbob-noisy-high", (40,), scale.instances())
    return [
        Grid.of(problems, named(side, *ROLES), [budget], [1])
        for problems, budget in ((functions, "100d"), (tasks(scale), "own"))
        for side in SIDES
    ]


def make(rows: list[Row], scale: Scale) -> Output:
    tables, panels = [], []
    for side in SIDES:
        for metric in METRICS:
            places, ranks = _ranks(rows, side, metric)
            tables.append(_table(places, ranks, side, metric))
            panels.append(_panel(places, ranks, f"{side}, {metric}"))
    return Output([*tables, _medians(rows)], [Plot(panels)])


def _place(row: Row) -> str:
    return task_of(row) if row.suite == "task" else function_of(row.problem)


def _ranks(rows: Sequence[Row], side: str, metric: str) -> tuple[list[str], FloatArray]:
    """Median rank (1 is best) by place and role, over problems that every role was run on."""
    methods = named(side, *ROLES)
    blocks: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in of(rows, method=methods):
        key = (row.suite, _place(row), row.problem)  # functions first, then tasks
        blocks.setdefault(key, {})[row.method] = regret_of(row, metric)
    found: dict[str, list[FloatArray]] = {}
    for (_, place, _), block in sorted(blocks.items()):
        if len(block) == len(methods):
            ranks = stats.rankdata([block[method] for method in methods])
            found.setdefault(place, []).append(ranks)
    return list(found), np.array([np.median(ranks, axis=0) for ranks in found.values()])


def _table(places: Sequence[str], ranks: FloatArray, side: str, metric: str) -> Table:
    columns = (Column("problem"), *(Column(role, fixed) for role in ROLES))
    body = [(place, *map(float, line)) for place, line in zip(places, ranks, strict=True)]
    functions = [line for place, line in zip(places, ranks, strict=True) if place[1:].isdigit()]
    for label, lines in (("mean of the functions", functions), ("mean of all", list(ranks))):
        if lines:
            body.append((label, *map(float, np.mean(lines, axis=0))))
    notes = (f"1 is best. {metric}: {MEANINGS[metric]}.",)
    return Table(f"Median rank, {side}, {metric}", columns, tuple(body), notes)


def _panel(places: Sequence[str], ranks: FloatArray, title: str) -> Panel:
    def draw(ax: Any) -> None:
        shown = ax.imshow(ranks, cmap="Blues_r", vmin=1, vmax=len(ROLES), aspect="auto")
        bar = ax.figure.colorbar(shown, ax=ax, orientation="horizontal", shrink=0.8, pad=0.02)
        bar.set_label("median rank")
        for (y, x), rank in np.ndenumerate(ranks):
            ax.text(
                x, y, f"{rank:g}", ha="center", va="center", fontsize=7,
                color="white" if rank < 2.5 else "black",
            )  # fmt: skip
        ax.set_xticks(range(len(ROLES)), ROLES, rotation=35, ha="right")
        ax.set_yticks(range(len(places)), places)
        ax.grid(False)

    caption = (
        "Median rank over instances or seeds (1 is best, darker is better); as published: best "
        "evaluated point, on tasks the best of the five with the smallest noisy values."
    )
    return Panel(title, caption, 5.2, draw)


def _medians(rows: Sequence[Row]) -> Table:
    """Median cost on the tasks beside the published medians."""
    columns = (
        Column("task"),
        Column("method"),
        Column("published", meaning="best of the re-simulated points, 50 seeds"),
        *(Column(f"{side}, {metric}") for side in SIDES for metric in METRICS),
    )
    body = []
    for task in dict.fromkeys(task_of(row) for row in of(rows, suite="task")):
        here = [row for row in of(rows, suite="task") if task_of(row) == task]
        for role in ROLES:
            medians = [
                float(10 ** median_log10(of(here, method=SIDES[side][role]), metric))
                for side in SIDES
                for metric in METRICS
            ]
            body.append((task, role, TASK_MEDIANS.get(task, {}).get(role), *medians))
    notes = (
        "Median cost over seeds. Published and best-evaluated: the best of the points of the "
        "smallest noisy values (five here), simulated again off budget, which no method could "
        "have picked; recommended: at the point returned.",
    )
    return Table("Median cost on the external tasks", columns, tuple(body), notes)


ARTIFACT = Artifact(
    "task-ranks",
    "Ranks by task",
    "Figure 3",
    "RB-PEM ranks first on most high-misranking problems and behind CMA-ES on tasks with little "
    "misranking.",
    grids,
    make,
)
