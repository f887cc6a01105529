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


#: Half a minute a run above d = 20: one instance has to do there.
SLOW = "peer/cmaes-lra"


def grids(scope: Scope) -> list[Grid]:
    found = []
    for d in scope.dimensions:
        problems = suite("bbob-noisy", (d,), scope.instances)
        few = problems if d <= 20 else suite("bbob-noisy", (d,), scope.instances[:1])
        methods = [m for m in [*PAIRS, *PAIRS.values()] if m != SLOW]
        found.append(Grid.of(problems, methods, ["200d"], scope.seeds))
        found.append(Grid.of(few, [SLOW], ["200d"], scope.seeds))
    return found


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
