"""Is each of our baselines at least as good as the peer's implementation of the same name?"""

from __future__ import annotations

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.study import Scope, Study, labelled, versus
from noisewise_bench.problems import suite
from noisewise_bench.tables import Table
from noisewise_bench.task import Row

#: Ours -> the peer of the same name.
PAIRS = {
    "cma-es(profile='active')": "peer/pycma",
    "sep-cma-es": "peer/pycma-sep",
    "cma-es": "peer/cmaes",
    "uh-cma-es": "peer/pycma-uh",
    "lra-cma-es": "peer/cmaes-lra",
}


def grids(scope: Scope) -> list[Grid]:
    problems = suite("bbob-noisy", scope.dimensions, scope.instances)
    methods = [*PAIRS, *PAIRS.values()]
    return [Grid.of(problems, methods, ["200d"], scope.seeds)]


def tables(rows: list[Row]) -> list[Table]:
    found = []
    for ours, theirs in PAIRS.items():
        pair = [row for row in labelled(rows) if row.method in (ours, theirs)]
        found.append(versus(pair, ours, "recommended", f"{ours} against {theirs}, B = 200d"))
    return found


STUDY = Study(
    "baselines",
    "Our baselines against the peers of the same name",
    Scope(tuple(range(1, 6)), (10, 40), (1,)),
    grids,
    tables,
)
