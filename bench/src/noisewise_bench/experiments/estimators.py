"""Do expected weights beat hard ranks, and how good are the estimators of them?"""

from __future__ import annotations

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.study import Scope, Study, against
from noisewise_bench.problems import suite
from noisewise_bench.tables import Table
from noisewise_bench.task import Row

HARD = "sep-cma-es"
METHODS = (
    HARD,
    "pem",
    "rb-pem(centre='observed')",
    "rb-pem(centre='observed',scale='linear')",
    "rb-pem(centre='ridge')",
    "rb-pem(centre='archive')",
    "rb-pem(expected=False)",
    "rb-pem-printed",
    "rb-pem-published",
    "sep-cma-es(profile='uniform')",
)


def grids(scope: Scope) -> list[Grid]:
    problems = suite("bbob-noisy-high", scope.dimensions, scope.instances)
    return [Grid.of(problems, METHODS, ["100d"], scope.seeds)]


def tables(rows: list[Row]) -> list[Table]:
    return [
        against(rows, HARD, metric, f"Against hard ranks, B = 100d, {metric}")
        for metric in ("recommended", "best-evaluated")
    ]


STUDY = Study(
    "estimators",
    "Expected weights and their estimators against hard ranks, on one engine",
    Scope(tuple(range(1, 6)), (40,), (1, 2)),
    grids,
    tables,
)
