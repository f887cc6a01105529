"""What each part of `auto` is worth."""

from __future__ import annotations

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.study import Scope, Study, labelled, versus
from noisewise_bench.problems import suite
from noisewise_bench.tables import Table
from noisewise_bench.task import Row

VARIANTS = (
    "auto",
    "auto(scores=0.0)",
    "auto(centred=False)",
    "auto(grow=False)",
    "auto(covariance='diagonal')",
)


def grids(scope: Scope) -> list[Grid]:
    problems = suite("bbob-noisy", scope.dimensions, scope.instances)
    problems += suite("late-noise", scope.dimensions, scope.instances[:1])
    return [Grid.of(problems, VARIANTS, ["200d"], scope.seeds)]


def tables(rows: list[Row]) -> list[Table]:
    title = "auto against itself without a part, B = 200d"
    return [versus(labelled(rows), "auto", "recommended", title)]


STUDY = Study(
    "ablation",
    "What each part of auto is worth",
    Scope((1, 2), (10, 40), (1,)),
    grids,
    tables,
)
