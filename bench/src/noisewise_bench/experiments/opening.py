"""Few parameters, many evaluations: what is the model worth that opens such runs of `auto`?"""

from __future__ import annotations

import dataclasses
from typing import Final

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.study import Scope, Study, labelled, versus
from noisewise_bench.problems import suite
from noisewise_bench.tables import Table
from noisewise_bench.task import Row

#: The strategy from the start, our CMA-ES and pycma's.
OTHERS: Final = ("auto(model=False)", "cma-es", "peer/pycma")
LANDSCAPES: Final = ("sphere", "ellipsoid", "rosenbrock", "rastrigin", "steps")
NOISES: Final = (("gaussian", 0.02), ("gaussian", 0.2), ("t3", 0.2), ("relative", 1.0))
EACH: Final = 200


def grids(scope: Scope) -> list[Grid]:
    small = [
        f"small/{landscape}/i{i}/d{d}/{law}/{level!r}"
        for d in scope.dimensions
        for landscape in LANDSCAPES
        for law, level in NOISES
        for i in scope.instances
    ]
    names = [*suite("bbob-noisy", scope.dimensions, scope.instances), *small]
    return [Grid.of(names, ["auto", *OTHERS], [f"{EACH}d"], scope.seeds)]


def tables(rows: list[Row]) -> list[Table]:
    coco = labelled([row for row in rows if row.suite == "bbob-noisy"])
    small = [_by_noise(row) for row in rows if row.suite == "small"]
    groups = {"COCO's noisy functions": coco, "small problems, by noise": small}
    return [
        versus(these, "auto", "recommended", f"auto on {name}, {EACH} evaluations per parameter")
        for name, these in groups.items()
    ]


def _by_noise(row: Row) -> Row:
    law, level = row.problem.split("/")[4:6]
    return dataclasses.replace(row, suite=f"{law} {level}")


STUDY = Study(
    "opening",
    "auto with few parameters and many evaluations",
    Scope((1, 2, 3), (2, 3, 5), (1,)),
    grids,
    tables,
)
