"""Which method is best on the external tasks?"""

from __future__ import annotations

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.study import Scope, Study, labelled, versus
from noisewise_bench.problems import suite
from noisewise_bench.tables import Table
from noisewise_bench.task import Row

METHODS = (
    "auto",
    "sep-cma-es",
    "cma-es",
    "rb-pem",
    "probe-switch",
    "resample(k=5,covariance='diagonal')",
    "peer/pycma-sep",
    "peer/cmaes-lra",
)


def grids(scope: Scope) -> list[Grid]:
    problems = suite("tasks", instances=scope.instances)
    small = [p for p in problems if "mlp" not in p]  # d = 265 takes a study of its own
    return [Grid.of(small, METHODS, ["own"], scope.seeds)]


def tables(rows: list[Row]) -> list[Table]:
    return [versus(labelled(rows), "auto", "recommended", "auto on the tasks, each at its budget")]


STUDY = Study(
    "tasks",
    "auto on the external tasks",
    Scope(tuple(range(1, 21)), (1,), (1,)),
    grids,
    tables,
)
