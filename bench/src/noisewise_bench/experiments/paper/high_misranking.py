"""Median regret per function on the high-misranking 15."""

from __future__ import annotations

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Scale
from noisewise_bench.experiments.paper._duel import duel, duel_table, median_log10, of
from noisewise_bench.experiments.paper._methods import (
    AS_RUN,
    CMA,
    EXACT,
    ONE_ENGINE,
    RB,
    RB_SAFE,
    RIDGE,
    SIDES,
    SWITCH,
    SWITCH_SAFE,
    UH,
    named,
)
from noisewise_bench.experiments.paper._published import HIGH_MEDIANS, RB_OVER_CMA
from noisewise_bench.problems import suite
from noisewise_bench.sheets import MEANING, function_of
from noisewise_bench.tables import Column, Table, fixed
from noisewise_bench.task import Row

ROLES = (CMA, UH, RB, RB_SAFE, RIDGE, SWITCH, SWITCH_SAFE, EXACT)
BUDGET = "100d"


def grids(scale: Scale) -> list[Grid]:
    d = scale.pick(quick=10, full=40)
    few = scale.pick(quick=("f110", "f117", "f125"), full=("f",))

    found = suite("bbob-noisy-high", (d,), scale.instances())
    problems = [p for p in found if any(f in p for f in few)]
    return [Grid.of(problems, named(side, *ROLES), [BUDGET], [1]) for side in SIDES]


def make(rows: list[Row], scale: Scale) -> Output:
    metrics = ("best-evaluated", "recommended")
    medians = [_medians(rows, side, metric) for side in SIDES for metric in metrics]
    entries = [
        (
            (side, role),
            duel(rows, SIDES[side][role], SIDES[side][CMA], metric),
            RB_OVER_CMA if (side, role, metric) == ("as run", RB, "best-evaluated") else None,
        )
        for side in SIDES
        for role in ROLES
        if role != CMA and role in SIDES[side]
        for metric in metrics
    ]
    # How much of the published gain is left against a better baseline?
    entries += [
        (("as run against one engine", role), duel(rows, AS_RUN[role], ONE_ENGINE[CMA], m), None)
        for role in (CMA, RB, RB_SAFE, SWITCH, SWITCH_SAFE)
        for m in metrics
    ]
    title = f"Against CMA-ES over the 15 functions together, B = {BUDGET}"
    notes = (
        "In the lines as run against one engine, the methods as run meet separable CMA-ES of this "
        "library; in all others, CMA-ES of their own kind.",
    )
    return Output([*medians, duel_table(title, ("kind", "method"), entries, notes)])


def _medians(rows: list[Row], side: str, metric: str) -> Table:
    """Medians over instances, one line per function, the published ones beside them."""
    roles = [role for role in ROLES if role in SIDES[side]]
    published = side == "as run" and metric == "best-evaluated"
    rows = of(rows, method=named(side, *roles))
    functions = sorted({function_of(row.problem) for row in rows})
    columns, body = [Column("function")], []
    for role in roles:
        columns += [Column(role, fixed)] + ([Column("published", fixed)] if published else [])
    for function in functions:
        here = [row for row in rows if function_of(row.problem) == function]
        cells: list[object] = [function]
        for role in roles:
            cells.append(median_log10(of(here, method=SIDES[side][role]), metric))
            if published:
                cells.append(HIGH_MEDIANS[int(function[1:])].get(role, float("nan")))
        body.append(tuple(cells))
    notes = (f"{metric}: {MEANING[metric]}.",)
    title = f"Median log10 {metric} regret, {side}, B = {BUDGET}"
    return Table(title, tuple(columns), tuple(body), notes)


ARTIFACT = Artifact(
    "high-misranking",
    "Median regret on each of the 15 high-misranking functions",
    "Appendix F11, table of complete results",
    "RB-PEM and probe-and-switch have the lowest median on most of the 15 functions and beat "
    "UH-CMA-ES on all of them.",
    grids,
    make,
)
