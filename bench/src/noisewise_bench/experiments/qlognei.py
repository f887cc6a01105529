"""Does a Gaussian process that integrates over the noise do better on the paper's tasks?

qLogNEI of BoTorch, in an environment of its own, on the tasks whose budgets it can handle: the time
of an iteration grows with the cube of the evaluations, so the 800 of LQR are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._duel import duel, percent
from noisewise_bench.experiments.study import Scope, Study
from noisewise_bench.tables import Column, Table, decades
from noisewise_bench.task import Row

MODEL: Final = "peer/botorch"
RIVALS: Final = ("sep-cma-es", "rb-pem", "probe-switch", "gp", "auto")
#: Budget -> tasks; the paper's Table 1 had the smaller budget on the first two.
TASKS: Final = {
    "50": ("hpo-breast-cancer", "hpo-digits"),
    "own": ("hpo-breast-cancer", "hpo-digits", "cartpole-ht", "cartpole", "pendulum"),
}


def grids(scope: Scope) -> list[Grid]:
    return [
        Grid.of(
            [f"task/{task}/s{s}" for s in scope.instances for task in tasks],
            (MODEL, *RIVALS),
            [budget],
            scope.seeds,
        )
        for budget, tasks in TASKS.items()
    ]


def tables(rows: list[Row]) -> list[Table]:
    return [_table(rows)]


def _table(rows: Sequence[Row]) -> Table:
    columns = (
        Column("task"),
        Column("d"),
        Column("B"),
        Column("against"),
        Column("pairs"),
        Column("win rate", percent, "of qLogNEI, ties count half"),
        Column("low", percent, "95 %, Wilson's"),
        Column("high", percent),
        Column("mean diff", decades, "mean difference of log10 cost; negative: qLogNEI is better"),
        Column("from", decades, "95 %, runs resampled"),
        Column("to", decades),
    )
    body = []
    for budget, tasks in TASKS.items():
        for task in tasks:
            here = [r for r in rows if r.budget == budget and f"/{task}/" in r.problem]
            for rival in RIVALS:
                found = duel(here, MODEL, rival, "recommended")
                if found.n:
                    share, gap = found.rate_interval, (found.mean, found.low, found.high)
                    where = (task, here[0].dimension, here[0].evaluations, rival)
                    body.append((*where, found.n, found.rate, *share, *gap))
    note = "Metric: recommended, the mean cost over simulations of the point returned."
    return Table(
        "qLogNEI against evolution strategies and our models", columns, tuple(body), (note,)
    )


STUDY = Study(
    "qlognei",
    "qLogNEI on the paper's external tasks",
    Scope(tuple(range(1, 11)), (5,), (1,)),
    grids,
    tables,
)
